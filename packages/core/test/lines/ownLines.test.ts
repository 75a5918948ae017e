import { assert, describe, it } from "@effect/vitest"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer, Result, Schema } from "effect"
import { bicycle, config, plan, rating } from "../../../../examples/line.ts"
import { CarrierAdapters } from "../../src/carriers/Carrier.ts"
import { readConfig } from "../../src/config/ConfigRules.ts"
import { embed } from "../../src/embedding/embed.ts"
import { defineLine } from "../../src/lines/defineLine.ts"
import * as Fact from "../../src/lines/Fact.ts"
import { Lines, standard } from "../../src/lines/Lines.ts"
import { address, completePolicy, policyFacts } from "../../src/lines/SharedFacts.ts"
import { standardLines } from "../../src/lines/standard.ts"
import * as operations from "../../src/operations.ts"
import { lines } from "../../src/Quotewire.ts"
import * as RatePlan from "../../src/rating/RatePlan.ts"
import { World } from "../../src/testing/World.ts"
import { prompt } from "../quoting/carriers.ts"
import { eraseRequest } from "../quoting/erasing.ts"
import { logOf, single } from "../quoting/log.ts"
import {
  advance,
  anotherHost,
  feed,
  forceExpiry,
  getQuote,
  list,
  live,
  outcomes,
  pathsOf,
  read,
  refusal,
  runDue,
  startOf,
  startWith,
  testInWorld
} from "../support/world.ts"

const offered = [...standardLines, bicycle]

/** The message about an unusable configuration, one fault on each line. */
const faultsOf = (given: unknown): ReadonlyArray<string> =>
  Result.match(readConfig(given), {
    onSuccess: () => [],
    onFailure: ({ message }) => message.replace("The configuration is not valid:", "").trim().split(/\n\s*/)
  })

const home = address({ state: "State of the boat", zip: "ZIP code of the boat" })

const Boat = Schema.Struct({ home, length_ft: Fact.wholeNumber(1, 100, { label: "Length" }), ...policyFacts })

/** The definition of a line without faults. */
const boat = {
  name: "boat",
  insures: "boats",
  facts_version: "2026-11-20",
  facts: Boat,
  example: { home: { state: "TX", zip: "75201" }, length_ft: 20 } as const,
  assume: (facts: typeof Boat.Type) => facts,
  stateOf: () => "TX" as const,
  subjectsOf: () => [{ subject_id: "boat-1", kind: "boat", label: null }],
  codes: { coverage_codes: ["hull"], subject_kinds: ["boat"], billing_cycles: ["annual"], fee_codes: [] }
}

describe("a configuration's lines", () => {
  it("are accepted if they are valid", () => {
    assert.deepStrictEqual(faultsOf({ lines: [...offered, defineLine(boat)] }), [])
    assert.deepStrictEqual(faultsOf(config), [])
  })

  it.each([
    { what: "a value that is not a list", given: bicycle, says: ["lines: Must be a list of lines."] },
    { what: "an empty list", given: [], says: ["lines: Must have at least one line."] },
    {
      what: "an item that is not a line",
      given: [bicycle, { name: "boat" }],
      says: ["lines.1: Must be a line that defineLine returned."]
    },
    {
      what: "two lines with one name",
      given: [bicycle, ...standardLines, bicycle],
      says: ["lines.4.name: Must differ from lines.0.name."]
    },
    {
      what: "text that cannot be served",
      given: [
        defineLine({
          ...boat,
          name: "Boats!",
          insures: " ",
          facts_version: "today",
          disclosures: ["boat_not_racing", ""],
          codes: { ...boat.codes, coverage_codes: [], fee_codes: ["fee", "fee"] }
        })
      ],
      says: [
        "lines.0.name: Must begin with a lower-case letter and have at most 60 characters: lower-case letters, digits and underscores.",
        'lines.0.insures: Must say what the line insures, such as "rented homes".',
        "lines.0.facts_version: Must be a date in the form YYYY-MM-DD.",
        "lines.0.disclosures.1: Must begin with a lower-case letter and have at most 60 characters: lower-case letters, digits and underscores.",
        "lines.0.codes.coverage_codes: Must not be empty.",
        "lines.0.codes.fee_codes.1: Must appear in the list only once."
      ]
    },
    {
      what: "facts that JSON Schema cannot serve",
      given: [
        defineLine({
          ...boat,
          facts: Schema.Struct({
            ...boat.facts.fields,
            built: Schema.optionalKey(Schema.NumberFromString),
            registered: Schema.optional(Schema.String),
            owner: Schema.optionalKey(Schema.Struct({ born: Schema.BigInt, name: Schema.Unknown })),
            motors: Schema.optionalKey(
              Schema.Array(Schema.Struct({ kw: Schema.Finite }).annotate({ identifier: "Motor" }))
            )
          })
        })
      ],
      says: [
        "lines.0.facts.built: Must not transform the sent value: validate the value here, and convert it in `assume`.",
        "lines.0.facts.registered: Must be text, a number, true or false, null, a choice, a list or a struct. For a fact that may be absent, use Schema.optionalKey.",
        "lines.0.facts.owner.born: Must be text, a number, true or false, null, a choice, a list or a struct. For a fact that may be absent, use Schema.optionalKey.",
        "lines.0.facts.owner.name: Must be text, a number, true or false, null, a choice, a list or a struct. For a fact that may be absent, use Schema.optionalKey.",
        "lines.0.facts.motors.*: Must have no identifier, because the served JSON Schema contains no references."
      ]
    },
    {
      what: "facts whose names are invalid in a path",
      given: [
        defineLine({
          ...boat,
          facts: Schema.Struct({
            ...boat.facts.fields,
            "owner.name": Schema.optionalKey(Schema.String),
            ["__proto__"]: Schema.optionalKey(Schema.String)
          })
        })
      ],
      says: ["owner.name", "__proto__"].map(
        (name) =>
          `lines.0.facts.${name}: Must have a name that begins with a letter and has at most 60 characters: letters, digits and underscores.`
      )
    },
    {
      what: "an invalid example",
      given: [
        defineLine({
          ...boat,
          rules: (draft, _, problems) => {
            if (draft.length_ft === 20) problems.refuse("application.length_ft", "Must not be 20.")
          }
        })
      ],
      says: ["lines.0.example.length_ft: Must not be 20."]
    },
    {
      what: "functions that do not match the facts",
      given: [
        defineLine({
          ...boat,
          assume: (facts, _, assumptions) => {
            assumptions.record("motors.0.kw", 10, "A small motor")
            return facts
          },
          subjectsOf: () => [{ subject_id: "ship-1", kind: "ship", label: null }]
        })
      ],
      says: [
        "lines.0.assume.motors.*.kw: Must be the path of a fact, because `assume` sets a value for it.",
        "lines.0.subjectsOf.0.kind: Must be one of boat."
      ]
    },
    {
      what: "assumptions that contradict x-assume",
      given: [
        defineLine({
          ...boat,
          facts: Schema.Struct({
            ...boat.facts.fields,
            moored: Schema.optionalKey(Fact.yesNo({ "x-assume": { value: true } })),
            deductible_usd: Schema.optionalKey(Fact.choice([100, 500], { "x-assume": { value: 500 } }))
          }),
          assume: (facts, today, assumptions) => {
            const deductible_usd = assumptions.fill(facts.deductible_usd, "deductible_usd", 500, "$500 deductible")
            const moored = assumptions.fill(facts.moored, "moored", false, "On land")
            return { ...facts, ...completePolicy(facts, today, assumptions), deductible_usd, moored }
          }
        })
      ],
      says: ["lines.0.assume.moored: Must be the value in this fact's x-assume."]
    },
    {
      what: "functions that throw",
      given: [
        defineLine({
          ...boat,
          stateOf: () => {
            throw new TypeError("no state")
          },
          subjectsOf: () => []
        })
      ],
      says: [
        "lines.0.stateOf: Throws an error for the example: TypeError: no state",
        "lines.0.subjectsOf: Must return at least one subject."
      ]
    }
  ])("are rejected in one message: $what", ({ given, says }) => {
    assert.deepStrictEqual(faultsOf({ lines: given }), says)
  })

  it("determine which lines and facts the configuration's carriers may declare", () => {
    const acme = prompt("naic:12345").adapter
    const [terms] = Object.values(acme.lines)
    if (terms === undefined) return assert.fail("has no line")
    const wrong = { ...acme, lines: { bicycle: { ...terms, needs: ["bicycle.brand"] }, boat: terms } }
    assert.deepStrictEqual(faultsOf({ lines: offered, carriers: [wrong] }), [
      "carriers.0.lines.bicycle.needs.0: Must be the path of one of this line's facts, such as applicant.email. In a list's path, * stands for every item.",
      "carriers.0.lines.boat: Must be one of personal_auto, renters, pet, bicycle. If the line is your own, list it in the `lines` option."
    ])
    assert.deepStrictEqual(faultsOf({ carriers: [{ ...acme, lines: { bicycle: terms } }] }), [
      "carriers.0.lines.bicycle: Must be one of personal_auto, renters, pet. If the line is your own, list it in the `lines` option."
    ])
  })
})

describe("rate plans for a custom line", () => {
  it("are checked against the line's rating and codes", () => {
    assert.deepStrictEqual(RatePlan.check(plan, { ratings: [rating] }), [])
    const line = { ...bicycle, codes: { ...bicycle.codes, coverage_codes: ["deductible"] } }
    const faults = RatePlan.check(
      { ...plan, fees: [{ code: "rental_fee", cents: 100 }] },
      { ratings: [{ ...rating, line }] }
    )
    assert.deepStrictEqual(faults, [{ path: "fees.0.code", message: "Must be one of policy_fee." }])
    assert.deepStrictEqual(RatePlan.check(plan, { ratings: [{ ...rating, line }] }), [
      { path: "examples.0", message: "The rating lists the coverage theft, but bicycle has no such coverage code." }
    ])
  })

  it("are rejected if no rating for the line is given", () => {
    assert.deepStrictEqual(RatePlan.check(plan), [
      { path: "line", message: "Must be one of personal_auto, renters, pet." }
    ])
  })
})

describe("an embedded service", () => {
  const storage = MemoryStorage.layer

  it.live("offers the program's own lines, even if carriers are passed as a layer", () =>
    Effect.promise(async () => {
      const carriers = Layer.succeed(CarrierAdapters, config.carriers ?? [])
      const quotewire = embed({ storage, carriers, lines: [bicycle] })
      const { id: organization_id } = await quotewire.createOrganization("Acme")
      const { key } = await quotewire.createKey({ organization_id, environment: "live", kind: "server" })
      const { capabilities } = await quotewire.client(key).get_capabilities({ line: "bicycle" })
      assert.deepInclude(capabilities.states, { code: "NY", available: true, carriers: 1 })
      await quotewire.close()
    })
  )

  it.live("does not start if a custom line is invalid", () =>
    Effect.promise(async () => {
      const quotewire = embed({ storage, lines: [defineLine({ ...boat, insures: "" })] })
      const reason = await quotewire.ready.catch(String)
      assert.include(String(reason), "The configuration is not valid: lines.0.insures: Must say what the line insures")
      await quotewire.close()
    })
  )
})

const own = { carriers: config.carriers ?? [], surroundings: Layer.orDie(lines(config)) }

/** A start call for a bicycle, with a new request_key each time. */
const startOfBicycle = (changes: object = {}) => ({
  ...startOf(),
  line: "bicycle",
  application: { home: { state: "NY", zip: "10001" }, bicycle: { value_usd: 1_200 } },
  ...changes
})

const startBicycle = (changes: object = {}, options?: Parameters<typeof startWith>[1]) =>
  startWith(startOfBicycle(changes), options)

describe("a host's custom line", () => {
  testInWorld(
    "is quoted by a carrier that declares the line",
    Effect.gen(function* () {
      const { id } = yield* startBicycle({}, live)
      yield* runDue
      yield* runDue
      assert.deepStrictEqual(yield* outcomes(id), ["mga:wheelhouse quoted"])
      const { quotes } = yield* read(id, live)
      assert.deepStrictEqual(
        quotes.map(({ price }) => price.premium),
        [{ amount_minor: 12_000, currency: "USD" }]
      )
    }),
    own
  )

  testInWorld(
    "rejects a wrong fact, and a scenario that needs more carriers",
    Effect.gen(function* () {
      const wrong = yield* refusal(
        startBicycle({ scenario: "some_carriers_silent", application: { bicycle: { value_usd: 1 } } })
      )
      assert.deepStrictEqual(pathsOf(wrong), ["scenario", "application.bicycle.value_usd"])
      const { id } = yield* startBicycle({ scenario: "cannot_start" })
      yield* advance(10)
      assert.strictEqual((yield* read(id)).quote_request.status_details.reason, "could_not_start")
    }),
    own
  )

  testInWorld(
    "is listed under the scenarios that its carriers can play",
    Effect.gen(function* () {
      const { call } = yield* World
      const { scenarios } = yield* call(operations.listSandboxScenarios, {})
      const playing = scenarios.filter(({ lines }) => lines.includes("bicycle")).map(({ name }) => name)
      const { capabilities } = yield* call(operations.getCapabilities, { line: "bicycle" })
      assert.sameMembers(playing, [...(capabilities.scenarios ?? [])])
    }),
    own
  )

  testInWorld(
    "does not prevent reads and erasures of its requests when the host no longer offers the line",
    Effect.gen(function* () {
      const { id } = yield* startBicycle()
      yield* advance(1)
      yield* runDue
      const { quotes } = yield* read(id)
      const quoteId = quotes[0]?.id ?? assert.fail("has no quote")
      const there = yield* Effect.provideService(anotherHost({ carriers: [] }), Lines, standard)
      assert.strictEqual((yield* there(read(id))).quote_request.line, "bicycle")
      assert.strictEqual((yield* there(getQuote(quoteId))).id, quoteId)
      assert.lengthOf((yield* there(list())).quote_requests, 1)
      const allowed_values = ["personal_auto", "renters", "pet"]
      const refusals = [yield* refusal(there(list({ line: "bicycle" }))), yield* refusal(there(startBicycle()))]
      for (const { field_errors } of refusals) {
        const message = "Must be one of the allowed values."
        assert.deepStrictEqual(field_errors, [{ path: "line", message, allowed_values }])
      }
      yield* there(forceExpiry())
      assert.strictEqual((yield* there(getQuote(quoteId))).status, "inactive")
      assert.include(
        (yield* there(feed())).map(({ type, line }) => `${line} ${type}`),
        "bicycle quote.expired"
      )
      assert.strictEqual((yield* there(eraseRequest(id))).erased, 1)
    }),
    own
  )

  testInWorld(
    "makes a queued request fail if the host no longer offers the line",
    Effect.gen(function* () {
      const { id } = yield* startBicycle({}, live)
      const there = yield* Effect.provideService(anotherHost({ carriers: [] }), Lines, standard)
      const { annotations } = single(
        yield* logOf(there(runDue)),
        "A quote request is for a line that this host does not offer"
      )
      assert.deepInclude(annotations, { quote_request_id: id, line: "bicycle" })
      const { status, status_details } = (yield* read(id, live)).quote_request
      assert.deepStrictEqual([status, status_details.reason], ["failed", "could_not_start"])
    }),
    own
  )

  testInWorld(
    "causes a log entry if a carrier has terms for the line but the host does not offer the line",
    Effect.gen(function* () {
      const log = yield* logOf(Effect.provideService(anotherHost({ carriers: own.carriers }), Lines, standard))
      const told = log.filter(({ text }) => text === "A carrier has lines that this host does not offer")
      assert.deepStrictEqual(
        told.map(({ annotations }) => annotations),
        ["mga:spoke", "mga:wheelhouse"].map((carrier_id) => ({ carrier_id, lines: "bicycle" }))
      )
    })
  )
})

describe("a line named like an Object.prototype member", () => {
  const line = defineLine({ ...boat, name: "constructor" })
  testInWorld(
    "is never offered to a carrier that does not declare the line",
    Effect.gen(function* () {
      const { id } = yield* startWith({ ...startOf(), line: line.name, application: boat.example }, live)
      yield* runDue
      assert.deepStrictEqual((yield* read(id, live)).quote_request.carriers, [])
    }),
    { carriers: [prompt("renters_only").adapter], surroundings: Layer.orDie(lines({ lines: [line] })) }
  )
})
