import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { CarrierAdapter, CarrierOffer, CoveredSubject } from "../../src/quoting/Carrier.ts"
import type { Line } from "../../src/quoting/Line.ts"
import { type Character, declined, offer, offers, prompt, type Told } from "./carriers.ts"
import { feed, pass, read, start, story, work } from "./support.ts"

const live = { environment: "live" } as const
const carriers = (...told: ReadonlyArray<Told>) => ({ carriers: told.map(({ adapter }) => adapter) })

const outcomes = (id: string) =>
  Effect.map(read(id, live), ({ quote_request }) =>
    quote_request.carriers.map((result) => [result.carrier.id, result.outcome, result.reason].join(" ").trim())
  )

/** A carrier whose adapter does what its type forbids. */
const rogue = (id: string, ask: () => unknown, character: Character = {}): Told => {
  const told = prompt(id, offers(), character)
  // What a JavaScript program can hand over, and the compiler would not let pass.
  const adapter: CarrierAdapter = Object.assign({}, told.adapter, { ask })
  return { ...told, adapter }
}

const garbage: ReadonlyArray<readonly [string, unknown]> = [
  ["nothing", undefined],
  ["null", null],
  ["a text", "offers"],
  ["an empty object", {}],
  ["an unknown kind", { kind: "maybe" }],
  ["offers that are no list", { kind: "offers", offers: "many" }],
  ["an offer that is null", { kind: "offers", offers: [null] }],
  ["an offer with half its fields", { kind: "offers", offers: [{ offer_ref: "1", premium: { amount_minor: 1 } }] }],
  ["a premium that is a text", { kind: "offers", offers: [{ ...offer(), premium: { amount_minor: "1", currency: "USD" } }] }],
  ["an expiry that is a Date", { kind: "offers", offers: [{ ...offer(), expires_at: new Date(0) }] }],
  ["a decline without a reason", { kind: "declined" }],
  ["a decline for a reason of its own", { kind: "declined", reason: "full moon" }],
  ["pending without a reference", { kind: "pending", poll_after_ms: 2_000 }],
  ["pending with a wait that is no number", { kind: "pending", ref: "r", poll_after_ms: Number.NaN }],
  ["questions that are none", { kind: "question", questions: [{}] }],
  ["unavailable for no reason", { kind: "unavailable" }],
  ["unavailable, to be asked again at no time", { kind: "unavailable", reason: "timeout", retry_after_ms: Number.NaN }]
]

describe("an adapter that breaks its contract", () => {
  for (const [what, reply] of garbage) {
    const broken = rogue("broken", () => Effect.succeed(reply))
    const well = prompt("well")
    story(
      `answers ${what}: that is an unreadable answer of this carrier alone`,
      Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        assert.deepStrictEqual(yield* outcomes(id), ["broken no_answer unreadable_answer", "well quoted"])
        assert.strictEqual((yield* read(id, live)).quote_request.status, "completed")
      }),
      carriers(broken, well)
    )
  }

  const wrecks: ReadonlyArray<readonly [string, () => unknown]> = [
    ["throws before it starts", () => { throw new Error("no") }],
    ["dies", () => Effect.die("no")],
    ["fails", () => Effect.fail("no")],
    ["interrupts itself", () => Effect.interrupt],
    ["rejects a promise", () => Effect.promise(() => Promise.reject(new Error("no")))]
  ]
  for (const [what, ask] of wrecks) {
    const broken = rogue("broken", ask, { idempotent: false })
    const well = prompt("well")
    story(
      `${what}: that is an error of this carrier alone`,
      Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        assert.deepStrictEqual(yield* outcomes(id), ["broken no_answer carrier_error", "well quoted"])
      }),
      carriers(broken, well)
    )
  }

  {
    let asks = 0
    const broken = rogue(
      "broken",
      () => {
        asks++
        throw new Error("no")
      },
      { max_concurrent: 1, idempotent: false }
    )
    story(
      "a broken ask gives its place back to the next one",
      Effect.gen(function* () {
        yield* work
        for (let i = 0; i < 5; i++) {
          yield* start({}, live)
          yield* pass(10)
        }
        assert.strictEqual(asks, 5)
      }),
      carriers(broken)
    )
  }
})

const money = (amount_minor: number) => ({ amount_minor, currency: "USD" }) as const
const vehicle = (changes: Partial<CoveredSubject> = {}): CoveredSubject => ({
  subject_id: "vehicle-1",
  kind: "vehicle",
  label: "2019 Honda Civic",
  coverages: [],
  ...changes
})
const cover = (code: string, limit: number | null, deductible: number | null = null) =>
  vehicle({
    coverages: [
      {
        code,
        limit: limit === null ? null : money(limit),
        deductible: deductible === null ? null : money(deductible),
        included: true
      }
    ]
  })

const bad: ReadonlyArray<readonly [string, Partial<CarrierOffer>]> = [
  ["a premium of nothing", { premium: money(0) }],
  ["a premium below nothing", { premium: money(-1) }],
  ["a premium in fractions of a cent", { premium: money(12_000.5) }],
  ["a premium beyond reason", { premium: money(100_000_000) }],
  ["a term of seven months", { term_months: 7 }],
  ["a fee below nothing", { fees: [{ code: "policy_fee", amount: money(-1) }] }],
  ["an expiry in the past", { expires_at: "2026-11-20T11:59:59.000Z" }],
  ["an expiry now", { expires_at: "2026-11-20T12:00:00.000Z" }],
  ["an expiry that is no time", { expires_at: "tomorrow" }],
  ["a subject that is not in the application", { subjects: [vehicle({ subject_id: "vehicle-2" })] }],
  ["liability below the state's minimum", { subjects: [cover("bodily_injury_per_person", 2_999_999)] }],
  ["a limit below nothing", { subjects: [cover("collision", -1)] }],
  ["a deductible in fractions of a cent", { subjects: [cover("collision", null, 0.5)] }],
  ["a hand-off to another host", { handoff_url: "https://evil.example/carrier.example" }],
  ["a hand-off without TLS", { handoff_url: "http://carrier.example/" }],
  ["a hand-off with credentials", { handoff_url: "https://carrier.example@evil.example/" }],
  ["a hand-off that is no address", { handoff_url: "carrier.example" }],
  ["a hand-off to a script", { handoff_url: "javascript:alert(1)" }]
]

describe("an offer is checked before it is saved", () => {
  for (const [what, changes] of bad) {
    const broken = prompt("broken", offers(offer(), offer({ offer_ref: "offer-2", ...changes })))
    story(
      `${what}: no offer of this answer is shown, and the carrier gave no answer`,
      Effect.gen(function* () {
        yield* work
        const { id } = yield* start({ line: "personal_auto" }, live)
        yield* pass(10)
        assert.deepStrictEqual(yield* outcomes(id), ["broken no_answer unreadable_answer"])
        assert.deepStrictEqual((yield* read(id, live)).quotes, [])
        assert.isFalse((yield* feed(live)).some(({ type }) => type === "quote.created"))
      }),
      carriers(broken)
    )
  }

  const fine: ReadonlyArray<Partial<CarrierOffer>> = [
    { premium: null, term_months: null, billing_cycle: null, product: null, expires_at: null },
    { premium: money(99_999_999), term_months: 1 },
    { subjects: [cover("bodily_injury_per_person", 3_000_000), cover("a_code_of_tomorrow", 1)] },
    { handoff_url: "https://carrier.example/offers/1?token=x" }
  ]
  {
    const well = fine.map((changes, i) => prompt(`well-${i}`, offers(offer(changes))))
    story(
      "what is unknown, unusual or at the very edge passes",
      Effect.gen(function* () {
        yield* work
        const { id } = yield* start({ line: "personal_auto" }, live)
        yield* pass(10)
        assert.deepStrictEqual(
          yield* outcomes(id),
          fine.map((_, i) => `well-${i} quoted`)
        )
      }),
      carriers(...well)
    )
  }

  {
    const none = prompt("none", { kind: "offers", offers: [] })
    story(
      "an answer of offers without one is unreadable",
      Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        assert.deepStrictEqual(yield* outcomes(id), ["none no_answer unreadable_answer"])
      }),
      carriers(none)
    )
  }

  {
    const dirty = "<b>Best</b>\u0000 price\u001b[31m<script>x"
    const long = `${"a".repeat(499)}\u{1F600}`
    const texts = prompt(
      "texts",
      offers(
        offer({
          product: dirty,
          conditions: [dirty, long],
          billing_cycle: dirty,
          evidence_label: dirty,
          fees: [{ code: dirty, amount: money(1) }],
          subjects: [vehicle({ kind: dirty, label: dirty, coverages: [{ code: dirty, limit: null, deductible: null, included: null }] })],
          assumptions: [{ path: dirty, value: dirty, source: dirty, label: dirty }],
          expires_at: "2026-12-01T01:00:00+01:00"
        })
      )
    )
    story(
      "texts are cut to length and freed of markup and control characters, and times are in UTC",
      Effect.gen(function* () {
        yield* work
        const { id } = yield* start({ line: "personal_auto" }, live)
        yield* pass(10)
        const [quote] = (yield* read(id, live)).quotes
        const text = JSON.stringify(quote)
        assert.notMatch(text, /<b>|<script>|\\u00/)
        assert.isTrue(text.isWellFormed())
        assert.strictEqual(quote?.source.product, "Best  price [31mx")
        assert.isAtMost(quote?.coverage.conditions[1]?.length ?? 0, 500)
        assert.isTrue(quote?.coverage.conditions[1]?.isWellFormed())
        assert.strictEqual(quote?.availability.expires_at, "2026-12-01T00:00:00.000Z")
      }),
      carriers(texts)
    )
  }
})

describe("several offers of one carrier", () => {
  {
    const three = prompt(
      "three",
      offers(...[3, 1, 2].map((n) => offer({ offer_ref: `offer-${n}`, product: `Tier ${n}` })))
    )
    const says = prompt("says", declined)
    story(
      "each becomes a quote of its own, in one step of the request",
      Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        const { quote_request, quotes } = yield* read(id, live)
        assert.deepStrictEqual(
          quotes.map(({ source }) => source.product),
          ["Tier 3", "Tier 1", "Tier 2"]
        )
        assert.deepStrictEqual(
          quotes.map((quote) => quote.id),
          quote_request.quote_ids
        )
        assert.deepStrictEqual(quote_request.carriers[0]?.quote_ids, quote_request.quote_ids)
        assert.strictEqual(quote_request.version, 4)
        assert.lengthOf((yield* feed(live)).filter(({ type }) => type === "quote.created"), 3)
      }),
      carriers(three, says)
    )
  }

  {
    const many = Array.from({ length: 40 }, (_, i) => prompt(`carrier-${i}`))
    story(
      "forty carriers that answer at the same moment are all heard, one version after the other",
      Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        const { quote_request, quotes } = yield* read(id, live)
        assert.lengthOf(quotes, 40)
        assert.strictEqual(quote_request.version, 42)
        assert.strictEqual(quote_request.status_details.reason, "quotes_ready")
        for (const { asks } of many) assert.lengthOf(asks, 1)
      }),
      carriers(...many)
    )
  }
})

describe("a carrier's question", () => {
  {
    const asks = prompt("asks", {
      kind: "question",
      questions: [{ path: "application.vehicles.0.vin", label: "What is the <i>VIN</i>?", allowed_values: [] }]
    })
    const well = prompt("well", offers(), { typical_ms: 2_000 })
    story(
      "waits a day for an answer, and the request ends when none has come",
      Effect.gen(function* () {
        yield* work
        const { id } = yield* start({ line: "personal_auto" }, live)
        yield* pass(10)
        const { quote_request } = yield* read(id, live)
        assert.deepStrictEqual(
          [quote_request.status, quote_request.status_details.reason],
          ["action_required", "carrier_question"]
        )
        const result = quote_request.carriers.find(({ carrier }) => carrier.id === "asks")
        assert.deepInclude(result, {
          outcome: "needs_information",
          message: "What is the VIN?",
          missing_facts: ["application.vehicles.0.vin"]
        })
        yield* pass(86_400_000 - 20)
        assert.strictEqual((yield* read(id, live)).quote_request.status, "action_required")
        yield* pass(20)
        const ended = (yield* read(id, live)).quote_request
        assert.strictEqual(ended.status_details.reason, "quotes_ready_action_not_taken")
        assert.strictEqual(ended.version, quote_request.version + 1)
      }),
      carriers(asks, well)
    )
  }
})

const facts = {
  first_name: "Ada",
  last_name: "Lovelace",
  date_of_birth: "1985-12-10",
  email: "ada@lovelace.example",
  phone: "+12125550147"
}
const identified: { readonly [L in Line]: object } = {
  personal_auto: {
    applicant: facts,
    garaging_address: { line1: "12 Analytical Way", line2: "Apt 7", city: "Dallas", state: "TX", zip: "75201" },
    drivers: [
      { relationship: "self", first_name: "Ada", last_name: "Lovelace", date_of_birth: "1985-12-10", license_status: "valid" }
    ],
    vehicles: [{ vin: "1HGCM82633A004352" }]
  },
  renters: {
    applicant: facts,
    dwelling: {
      address: { line1: "12 Analytical Way", line2: "Apt 7", city: "New York", state: "NY", zip: "10001" },
      type: "apartment"
    }
  },
  pet: {
    applicant: facts,
    residence: { line1: "12 Analytical Way", city: "Austin", state: "TX", zip: "78701" },
    pets: [{ species: "dog", breed: "mixed", size: "medium", age_years: 3 }]
  }
}

const identity = /Ada|Lovelace|lovelace\.example|5550147|Analytical|Apt 7/

describe("what a carrier is told", () => {
  for (const line of ["personal_auto", "renters", "pet"] as const) {
    const knows = prompt("knows", offers(), { needs: ["applicant.email"] })
    const general = prompt("general")
    story(
      `${line}: neither name, e-mail, phone nor street, unless its adapter has declared that it needs them`,
      Effect.gen(function* () {
        yield* work
        yield* start({ line, application: identified[line] }, live)
        yield* pass(10)
        assert.notMatch(JSON.stringify(general.asks), identity)
        assert.match(JSON.stringify(knows.asks), /ada@lovelace\.example/)
        assert.notMatch(JSON.stringify(knows.asks).replaceAll("ada@lovelace.example", ""), identity)
        assert.match(JSON.stringify(general.asks), /"state":"(TX|NY)"/)
      }),
      carriers(knows, general)
    )
  }

  {
    const wants = prompt("wants", offers(), { needs: ["vehicles.*.vin", "applicant.email"] })
    const general = prompt("general", offers())
    story(
      "a carrier whose facts are missing is not asked, and the paths are named",
      Effect.gen(function* () {
        yield* work
        const { id } = yield* start({ line: "personal_auto" }, live)
        yield* pass(10)
        assert.lengthOf(wants.asks, 0)
        assert.deepInclude((yield* read(id, live)).quote_request.carriers[0], {
          outcome: "not_asked",
          reason: "facts_missing",
          missing_facts: ["application.vehicles.0.vin", "application.applicant.email"],
          asked_at: null
        })
      }),
      carriers(wants, general)
    )
  }

  {
    const uses = prompt("uses", offers(), { uses_credit: true, states: ["TX", "CA"] })
    const distant = prompt("distant", offers(), { states: ["AK"] })
    const near = prompt("near", offers(), { states: ["TX", "CA"] })
    story(
      "a carrier that uses credit is not asked without the disclosure, and one that does not serve the state never",
      Effect.gen(function* () {
        yield* work
        const without = yield* start({ line: "personal_auto" }, live)
        const disclosed = yield* start({ line: "personal_auto", credit_disclosure_receipt_id: "receipt-0002" }, live)
        const prohibited = yield* start(
          {
            line: "personal_auto",
            application: { ...identified.personal_auto, garaging_address: { state: "CA", zip: "94110" } }
          },
          live
        )
        yield* pass(10)
        const rest = ["distant not_asked state_not_served", "near quoted"]
        assert.deepStrictEqual(yield* outcomes(without.id), ["uses not_asked credit_disclosure_missing", ...rest])
        assert.deepStrictEqual(yield* outcomes(disclosed.id), ["uses quoted", ...rest])
        assert.deepStrictEqual(yield* outcomes(prohibited.id), ["uses quoted", ...rest])
        assert.deepStrictEqual(
          uses.asks.map(({ ask }) => ask.credit_disclosed),
          [true, false]
        )
      }),
      carriers(uses, distant, near)
    )
  }

  {
    const distant = prompt("distant", offers(), { states: ["AK"] })
    story(
      "where no carrier can be asked the request fails at once, and says which were not and why",
      Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        const { quote_request } = yield* read(id, live)
        assert.deepStrictEqual(
          [quote_request.status, quote_request.status_details.reason, quote_request.version],
          ["failed", "no_carrier_available", 2]
        )
        assert.deepStrictEqual(yield* outcomes(id), ["distant not_asked state_not_served"])
        assert.deepStrictEqual(
          (yield* feed(live)).map(({ type }) => type),
          ["quote_request.queued", "quote_request.failed"]
        )
      }),
      carriers(distant)
    )
  }
})
