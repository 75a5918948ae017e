import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { KeylessWorkspace } from "../../src/access/Access.ts"
import * as operations from "../../src/operations.ts"
import { priceTierPaths } from "../../src/quoting/Application.ts"
import { lines } from "../../src/quoting/Line.ts"
import { type CallOptions, World } from "../../src/testing/World.ts"
import { prompt } from "./carriers.ts"
import { advance, events, feed, list, pass, pathsOf, read, refusal, runDue, select, smallest, start, startOf, story } from "./support.ts"

const uuid = "0b6d7f6e-3c1f-4f0e-9a53-0a8f0f6f2a11"

/** Lets callers without a key in, in the world's sandbox. */
const keyless = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.flatMap(World, ({ organization }) =>
    Effect.provideService(body, KeylessWorkspace, {
      organization_id: organization.id,
      workspace_id: organization.workspaces.sandbox,
      environment: "sandbox"
    })
  )

const noKey: CallOptions = { key: null }

/** What a caller without a key sends. */
const agreed = (changes: object = {}) => {
  const { consent_receipt_id: _, ...rest } = startOf({ request_key: uuid })
  return { ...rest, quote_disclosure_version: "2026-09-26", quote_disclosure_accepted: true, ...changes }
}

const startAs = (input: unknown, options?: CallOptions) =>
  Effect.flatMap(World, ({ call }) => call(operations.startQuoteRequest, input, options))

describe("a request_key", () => {
  story(
    "gives the same request for the same input, as it is now",
    Effect.gen(function* () {
      const input = startOf({ line: "personal_auto" })
      const first = yield* startAs(input)
      assert.deepStrictEqual(yield* startAs(input), first)
      yield* advance(60)
      const reordered = Object.fromEntries(Object.entries(input).toReversed())
      const now = yield* startAs(reordered)
      assert.deepStrictEqual(now, (yield* read(first.id)).quote_request)
      assert.strictEqual(now.status, "completed")
      assert.lengthOf((yield* list()).quote_requests, 1)
    })
  )

  story(
    "makes one request of fifty starts at once",
    Effect.gen(function* () {
      const input = startOf()
      const all = yield* Effect.forEach(Array.from({ length: 50 }), () => startAs(input), { concurrency: "unbounded" })
      assert.lengthOf(new Set(all.map(({ id }) => id)), 1)
      assert.lengthOf(yield* feed(), 1)
      yield* advance(60)
      assert.lengthOf((yield* list()).quote_requests, 1)
    })
  )

  story(
    "takes no other input, not even in one field",
    Effect.gen(function* () {
      const input = startOf({ line: "pet" })
      yield* startAs(input)
      const others = [
        { ...input, consent_receipt_id: "receipt-0002" },
        { ...input, scenario: "quotes_ready" },
        { ...input, line: "renters", application: smallest.renters },
        { ...input, application: { ...smallest.pet, residence: { state: "TX", zip: "78702" } } }
      ]
      for (const other of others) {
        const error = yield* refusal(startAs(other))
        assert.deepStrictEqual([error._tag, error.retry_action], ["conflict", "use_new_request_key"])
      }
      assert.lengthOf(yield* feed(), 1)
    })
  )

  story(
    "belongs to the workspace for server keys, and to the key alone for platform and widget keys",
    Effect.gen(function* () {
      const input = startOf()
      const started = new Set<string>()
      for (const as of ["server", "platform", "widget"] as const) {
        started.add((yield* startAs(input, { as })).id)
      }
      started.add((yield* startAs(input, { environment: "live" })).id)
      assert.lengthOf(started, 4)
      assert.strictEqual((yield* startAs(input, { as: "platform" })).id, [...started][1])
    })
  )

  for (const [what, request_key] of [
    ["empty", ""],
    ["201 characters long", "k".repeat(201)],
    ["with a blank", "a b"],
    ["with a letter beyond ASCII", "schlüssel"]
  ]) {
    story(
      `is refused when it is ${what}`,
      Effect.gen(function* () {
        assert.deepStrictEqual(pathsOf(yield* refusal(start({ request_key }))), ["request_key"])
      })
    )
  }

  story(
    "may be 200 visible characters long",
    Effect.gen(function* () {
      const { id } = yield* start({ request_key: "~".repeat(200) })
      assert.match(id, /^qreq_/)
    })
  )
})

interface Consent {
  readonly says: string
  readonly send: object
  readonly paths: ReadonlyArray<string>
  readonly line?: "personal_auto"
}

const consents: ReadonlyArray<Consent> = [
  { says: "a receipt is required", send: { consent_receipt_id: undefined }, paths: ["consent_receipt_id"] },
  { says: "a receipt has at least 8 characters", send: { consent_receipt_id: "receipt" }, paths: ["consent_receipt_id"] },
  { says: "a receipt has at most 128", send: { consent_receipt_id: "r".repeat(129) }, paths: ["consent_receipt_id"] },
  { says: "a receipt starts with a letter or digit", send: { consent_receipt_id: "-receipt1" }, paths: ["consent_receipt_id"] },
  {
    says: "one receipt is never sent in two fields, and both are named",
    line: "personal_auto",
    send: { credit_disclosure_receipt_id: "receipt-0001" },
    paths: ["consent_receipt_id", "credit_disclosure_receipt_id"]
  },
  {
    says: "all three are named where all are the same",
    line: "personal_auto",
    send: {
      credit_disclosure_receipt_id: "receipt-0001",
      contact_consent: { receipt_id: "receipt-0001", channels: ["email"] }
    },
    paths: ["consent_receipt_id", "credit_disclosure_receipt_id", "contact_consent.receipt_id"]
  },
  {
    says: "the credit receipt is for cars only",
    send: { credit_disclosure_receipt_id: "receipt-0002" },
    paths: ["credit_disclosure_receipt_id"]
  },
  {
    says: "a channel needs its consent, and is named",
    send: {
      contact_consent: { receipt_id: "receipt-0003", channels: ["email"] },
      contact_channels: { email: true, sms: true, phone: false }
    },
    paths: ["contact_channels.sms"]
  },
  { says: "channels need a consent", send: { contact_channels: { email: false } }, paths: ["contact_channels"] },
  {
    says: "a channel is one of three, and none twice",
    send: { contact_consent: { receipt_id: "receipt-0003", channels: ["fax"] } },
    paths: ["contact_consent.channels.0"]
  },
  {
    says: "a caller with a key sends no quote disclosure",
    send: { quote_disclosure_version: "2026-09-26", quote_disclosure_accepted: true },
    paths: ["quote_disclosure_version", "quote_disclosure_accepted"]
  }
]

describe("the consents of a start", () => {
  for (const { line, paths, says, send } of consents) {
    story(
      says,
      Effect.gen(function* () {
        const input = JSON.parse(JSON.stringify({ ...startOf(line === undefined ? {} : { line }), ...send }))
        const error = yield* refusal(startAs(input))
        assert.strictEqual(error._tag, "invalid_input")
        assert.deepStrictEqual(pathsOf(error), paths)
        assert.lengthOf(yield* feed(), 0)
      })
    )
  }

  story(
    "are all accepted where each has its own receipt, and a receipt may be used again",
    Effect.gen(function* () {
      const all = {
        line: "personal_auto",
        credit_disclosure_receipt_id: "receipt-0002",
        contact_consent: { receipt_id: "receipt-0003", channels: ["email", "sms"] },
        contact_channels: { email: true, phone: false }
      } as const
      yield* start(all)
      yield* start(all)
      assert.lengthOf((yield* list()).quote_requests, 2)
    })
  )

  story(
    "without a key: the person's agreement instead of receipts, and the service's own receipt comes back",
    keyless(
      Effect.gen(function* () {
        const input = agreed()
        const started = yield* startAs(input, noKey)
        const { text_sha256, ...consent } = started.quote_consent ?? assert.fail("no consent")
        assert.match(consent.receipt_id, /^crc_/)
        assert.match(text_sha256, /^[0-9a-f]{64}$/)
        assert.deepInclude(consent, {
          kind: "quote_disclosure",
          recorded_by: "service",
          line: "renters",
          disclosure_version: "2026-09-26",
          accepted_at: "2026-11-20T12:00:00.000Z"
        })
        assert.deepStrictEqual(yield* startAs(input, noKey), started)
        const { call } = yield* World
        const shown = yield* call(operations.getCapabilities, { line: "renters" }, noKey)
        assert.nestedInclude(shown, {
          "quote_disclosure.text_sha256": text_sha256,
          "quote_disclosure.version": consent.disclosure_version
        })
        assert.notProperty(yield* call(operations.getCapabilities, { line: "renters" }), "quote_disclosure")
        assert.isUndefined((yield* start()).quote_consent)
      })
    )
  )

  const withoutKey: ReadonlyArray<readonly [string, object, ReadonlyArray<string>]> = [
    ["the person must agree", { quote_disclosure_accepted: false }, ["quote_disclosure_accepted"]],
    ["silence is no agreement", { quote_disclosure_accepted: undefined }, ["quote_disclosure_accepted"]],
    ["the version is the served one", { quote_disclosure_version: "2020-01-01" }, ["quote_disclosure_version"]],
    ["the version is required", { quote_disclosure_version: undefined }, ["quote_disclosure_version"]],
    ["a UUID is the request_key", { request_key: "key-1" }, ["request_key"]],
    [
      "receipts are for callers with a key",
      { consent_receipt_id: "receipt-0001", contact_consent: { receipt_id: "receipt-0002", channels: [] } },
      ["consent_receipt_id", "contact_consent"]
    ]
  ]
  for (const [says, changes, paths] of withoutKey) {
    story(
      `without a key: ${says}`,
      keyless(
        Effect.gen(function* () {
          const error = yield* refusal(startAs(JSON.parse(JSON.stringify(agreed(changes))), noKey))
          assert.strictEqual(error._tag, "invalid_input")
          assert.sameMembers([...pathsOf(error)], [...paths])
          if (says === "the person must agree") {
            assert.strictEqual(error.field_errors?.[0]?.message, "The person has not agreed.")
          }
          if (says.startsWith("the version is")) {
            assert.deepStrictEqual(error.field_errors?.[0]?.allowed_values, ["2026-09-26"])
          }
        })
      )
    )
  }
})

describe("every wrong field is named at once", () => {
  const wrong = { ...smallest.personal_auto, garaging_address: { state: "TX", zip: "10001" } }

  story(
    "consents, scenario and facts together",
    Effect.gen(function* () {
      const error = yield* refusal(
        start({
          line: "personal_auto",
          credit_disclosure_receipt_id: "receipt-0001",
          scenario: "no_such",
          application: wrong
        })
      )
      assert.sameMembers([...pathsOf(error)], [
        "consent_receipt_id",
        "credit_disclosure_receipt_id",
        "scenario",
        "application.garaging_address.zip"
      ])
    })
  )

  story(
    "also where some are wrong in form and others in meaning",
    Effect.gen(function* () {
      const error = yield* refusal(
        startAs({
          line: "personal_auto",
          consent_receipt_id: "short",
          contact_consent: { receipt_id: 7, channels: ["email"] },
          contact_channels: { sms: true },
          quote_disclosure_accepted: true,
          application: wrong,
          surprise: 1
        })
      )
      assert.sameMembers([...pathsOf(error)], [
        "consent_receipt_id",
        "contact_consent.receipt_id",
        "request_key",
        "surprise",
        "quote_disclosure_accepted",
        "application.garaging_address.zip"
      ])
      assert.strictEqual(error.message, "6 fields are not valid.")
    })
  )

  story(
    "and no message repeats a value that was refused",
    Effect.gen(function* () {
      const error = yield* refusal(
        startAs({ ...startOf(), line: "SECRET", consent_receipt_id: "SECRET!", scenario: 5, application: "SECRET" })
      )
      assert.notInclude(JSON.stringify([error.message, error.field_errors]), "SECRET")
      assert.isAbove(error.field_errors?.length ?? 0, 2)
    })
  )

  {
    const told = prompt("told")
    story(
      "missing facts are asked for only where nothing is wrong, and before any carrier is asked",
      Effect.gen(function* () {
        const none = { line: "personal_auto", application: {} } as const
        const missing = yield* refusal(start(none))
        assert.deepStrictEqual([missing._tag, missing.retry_action], ["needs_information", "supply_facts"])
        assert.deepStrictEqual(
          pathsOf(missing),
          [
            "garaging_address.state",
            "garaging_address.zip",
            "drivers.0.relationship",
            "drivers.0.date_of_birth",
            "drivers.0.license_status",
            "vehicles.0.vin",
            "vehicles.0.model_year",
            "vehicles.0.make",
            "vehicles.0.model"
          ].map((path) => `application.${path}`)
        )
        const both = yield* refusal(start({ line: "personal_auto", application: { garaging_address: wrong.garaging_address } }))
        assert.deepStrictEqual([both._tag, pathsOf(both)], ["invalid_input", ["application.garaging_address.zip"]])
        const consent = yield* refusal(start({ ...none, credit_disclosure_receipt_id: "receipt-0001" }))
        assert.strictEqual(consent._tag, "invalid_input")
        yield* runDue
        yield* pass(10)
        assert.lengthOf(told.asks, 0)
        assert.lengthOf(yield* feed(), 0)
        assert.lengthOf((yield* list()).quote_requests, 0)
      }),
      { carriers: [told.adapter] }
    )
  }
})

describe("the scenario of a start", () => {
  story(
    "must be one of its line, and those are named",
    Effect.gen(function* () {
      const error = yield* refusal(start({ scenario: "credit_disclosure" }))
      assert.deepStrictEqual(pathsOf(error), ["scenario"])
      const allowed = error.field_errors?.[0]?.allowed_values ?? []
      assert.include(allowed, "quotes_ready")
      assert.notInclude(allowed, "credit_disclosure")
      yield* start({ line: "personal_auto", scenario: "credit_disclosure" })
    })
  )

  story(
    "is for the sandbox only",
    Effect.gen(function* () {
      const error = yield* refusal(start({ scenario: "quotes_ready" }, { environment: "live" }))
      assert.deepStrictEqual([error._tag, pathsOf(error)], ["invalid_input", ["scenario"]])
    })
  )

  story(
    "goes before the active one, the active one before the carriers' own rules, and a line that cannot play it passes it over",
    Effect.gen(function* () {
      assert.isNull((yield* start()).scenario)
      yield* select("zero_quotes")
      assert.strictEqual((yield* start()).scenario, "zero_quotes")
      assert.strictEqual((yield* start({ scenario: "quotes_ready" })).scenario, "quotes_ready")
      yield* select("credit_disclosure")
      assert.isNull((yield* start()).scenario)
      assert.strictEqual((yield* start({ line: "personal_auto" })).scenario, "credit_disclosure")
      assert.isNull((yield* start({}, { environment: "live" })).scenario)
    })
  )

  for (const line of lines) {
    story(
      `needs_information, ${line}: names every fact that a price needs, and starts nothing`,
      Effect.gen(function* () {
        const error = yield* refusal(start({ line, scenario: "needs_information" }))
        assert.strictEqual(error._tag, "needs_information")
        assert.deepStrictEqual(pathsOf(error), priceTierPaths(line))
        assert.isNotEmpty(pathsOf(error))
        assert.lengthOf(yield* feed(), 0)
      })
    )
  }

  story(
    "consent_refused: the consent is not valid, whatever was sent",
    Effect.gen(function* () {
      const error = yield* refusal(start({ scenario: "consent_refused" }))
      assert.deepStrictEqual([error._tag, pathsOf(error)], ["invalid_input", ["consent_receipt_id"]])
    })
  )

  for (const code of ["rate_limited", "service_unavailable"] as const) {
    story(
      `${code}: the first attempt of a request_key is refused, and one five seconds later passes`,
      Effect.gen(function* () {
        const input = startOf({ scenario: code })
        const first = yield* refusal(startAs(input))
        assert.deepStrictEqual([first._tag, first.retry_after_seconds], [code, 5])
        yield* advance(3)
        assert.strictEqual((yield* refusal(startAs(input))).retry_after_seconds, 2)
        assert.lengthOf(yield* feed(), 0)
        yield* pass(1_999)
        assert.strictEqual((yield* refusal(startAs(input))).retry_after_seconds, 1)
        yield* pass(1)
        const { id } = yield* startAs(input)
        assert.strictEqual((yield* startAs(input)).id, id)
        assert.strictEqual((yield* refusal(startAs({ ...input, request_key: "another" })))._tag, code)
        yield* advance(60)
        assert.strictEqual((yield* read(id)).quote_request.status_details.reason, "quotes_ready")
      })
    )
  }

  story(
    "internal_error: fails every time, and nothing is made",
    Effect.gen(function* () {
      const input = startOf({ scenario: "internal_error" })
      for (let i = 0; i < 3; i++) {
        const error = yield* refusal(startAs(input))
        assert.deepStrictEqual([error._tag, error.retry_action], ["internal_error", "contact_support"])
        yield* advance(10)
      }
      assert.lengthOf((yield* events()).events, 0)
    })
  )
})

describe("the pet line", () => {
  story(
    "sends events of quote requests only, however many quotes there are",
    Effect.gen(function* () {
      const { id } = yield* start({ line: "pet", scenario: "price_update" })
      yield* advance(86_400 * 20)
      assert.lengthOf((yield* read(id)).quotes, 3)
      const types = (yield* feed()).map(({ resource }) => resource.type)
      assert.deepStrictEqual([...new Set(types)], ["quote_request"])
      assert.isTrue((yield* read(id)).quotes.every(({ status }) => status === "inactive"))
    })
  )
})
