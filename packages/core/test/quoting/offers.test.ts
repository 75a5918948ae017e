import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { CarrierOffer, CoveredSubject } from "../../src/carriers/Carrier.ts"
import { feed, live, outcomes, pass, read, start, testInWorld, work } from "../support/world.ts"
import { carriers, declined, offer, offers, prompt } from "./carriers.ts"

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

const action = (members: ReadonlyArray<readonly [string, string | number]>) => ({
  type: "call_agent",
  ...Object.fromEntries(members)
})

const bad: ReadonlyArray<readonly [string, Partial<CarrierOffer>]> = [
  ["a zero premium", { premium: money(0) }],
  ["a negative premium", { premium: money(-1) }],
  ["a premium in fractions of a cent", { premium: money(12_000.5) }],
  ["an absurdly high premium", { premium: money(100_000_000) }],
  ["a term of seven months", { term_months: 7 }],
  ["a negative fee", { fees: [{ code: "policy_fee", amount: money(-1) }] }],
  ["an expiry in the past", { expires_at: "2026-11-20T11:59:59.000Z" }],
  ["an expiry at the current time", { expires_at: "2026-11-20T12:00:00.000Z" }],
  ["an invalid expiry", { expires_at: "tomorrow" }],
  ["a subject that is not in the application", { subjects: [vehicle({ subject_id: "vehicle-2" })] }],
  ["liability below the state's minimum", { subjects: [cover("bodily_injury_per_person", 2_999_999)] }],
  ["a negative limit", { subjects: [cover("collision", -1)] }],
  ["a deductible in fractions of a cent", { subjects: [cover("collision", null, 0.5)] }],
  ["a hand-off to another host", { handoff_url: "https://evil.example/carrier.example" }],
  ["a hand-off without TLS", { handoff_url: "http://carrier.example/" }],
  ["a hand-off with credentials", { handoff_url: "https://carrier.example@evil.example/" }],
  ["a hand-off that is not a URL", { handoff_url: "carrier.example" }],
  ["a hand-off with a line break", { handoff_url: "https://carrier.example/\r\nset-cookie: a" }],
  ["a hand-off with a quote", { handoff_url: 'https://carrier.example/"><script>' }],
  ["an endless hand-off URL", { handoff_url: `https://carrier.example/${"a".repeat(8_000)}` }],
  ["an endless reference", { offer_ref: "a".repeat(2_001) }],
  ["a hand-off to a script", { handoff_url: "javascript:alert(1)" }],
  [
    "a link to the service itself",
    { extra_actions: [{ type: "continue_on_carrier_site", url: "https://a.example/" }] }
  ],
  ...["prepare_purchase", "open_hosted_checkout", "continue_on_carrier_site", "request_assistance", "read_status"].map(
    (type) => [`the service's own action ${type}`, { extra_actions: [{ type }] }] as const
  ),
  ["an action whose type is markup", { extra_actions: [{ type: "<b>call</b>" }] }],
  ["more actions than are shown", { extra_actions: Array.from({ length: 11 }, () => ({ type: "call_agent" })) }],
  ["an action with an absurd number", { extra_actions: [{ type: "call_agent", count: 1e308 }] }],
  ["an action with many members", { extra_actions: [action(Array.from({ length: 21 }, (_, i) => [`m${i}`, i]))] }],
  ["an action with an invalid member name", { extra_actions: [action([["\u001b[31m", 1]])] }],
  ...[
    "https://evil.example/phish",
    "http://carrier.example/",
    " HTTPS:\\\\evil.example",
    "java\nscript:alert(1)",
    "\u200bjavascript: alert(1)",
    "data:text/html,<script>",
    "//evil.example",
    "\\\\evil.example",
    "/go/other",
    "Open https://evil.example now",
    "https://carrier.example/\u202egnp.exe",
    "java<b>script:alert(1)",
    "h<b>ttps:<i>//evil.example/phish",
    "<>/go/other",
    "java<b\u200b>\u200bscript:alert(1)",
    "[Call](javascript:alert(1))",
    "Go on (//evil.example)",
    "Pay at www.evil.example"
  ].map(
    (url) => [`an action that leads to ${JSON.stringify(url)}`, { extra_actions: [{ type: "open", url }] }] as const
  )
]

describe("the offer check", () => {
  for (const [what, changes] of bad) {
    const broken = prompt("broken", offers(offer(), offer({ offer_ref: "offer-2", ...changes })))
    testInWorld(
      `rejects ${what}, and drops the whole answer`,
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

  // In quadratic time, this would take many seconds.
  testInWorld("truncates text of a hundred thousand opening brackets like any other text", () => {
    const opening = prompt("opening", offers(offer({ product: `<b>Best</b> ${"<".repeat(100_000)}` })))
    return {
      ...carriers(opening),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({ line: "personal_auto" }, live)
        yield* pass(10)
        const [quote] = (yield* read(id, live)).quotes
        assert.strictEqual(quote?.source.product, `Best ${"<".repeat(495)}`)
      })
    }
  })

  const fine: ReadonlyArray<Partial<CarrierOffer>> = [
    { premium: null, term_months: null, billing_cycle: null, product: null, expires_at: null },
    { premium: money(99_999_999), term_months: 1 },
    { subjects: [cover("bodily_injury_per_person", 3_000_000), cover("a_code_of_tomorrow", 1)] },
    { handoff_url: "https://carrier.example/offers/1?token=x" }
  ]
  testInWorld("accepts unknown, unusual or extreme values", () => {
    const well = fine.map((changes, i) => prompt(`well-${i}`, offers(offer(changes))))
    return {
      ...carriers(...well),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({ line: "personal_auto" }, live)
        yield* pass(10)
        assert.deepStrictEqual(
          yield* outcomes(id),
          fine.map((_, i) => `well-${i} quoted`)
        )
      })
    }
  })

  testInWorld("rejects an answer without offers as unreadable", () => {
    const none = prompt("none", { kind: "offers", offers: [] })
    return {
      ...carriers(none),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        assert.deepStrictEqual(yield* outcomes(id), ["none no_answer unreadable_answer"])
      })
    }
  })

  testInWorld("truncates text, removes markup and control characters, and converts times to UTC", () => {
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
          subjects: [
            vehicle({
              kind: dirty,
              label: dirty,
              coverages: [{ code: dirty, limit: null, deductible: null, included: null }]
            })
          ],
          assumptions: [{ path: dirty, value: dirty, source: dirty, label: dirty }],
          expires_at: "2026-12-01T01:00:00+01:00"
        })
      )
    )
    return {
      ...carriers(texts),
      body: Effect.gen(function* () {
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
      })
    }
  })
})

describe("a carrier's action", () => {
  const acting = prompt(
    "acting",
    offers(
      offer({
        extra_actions: [
          {
            type: "call_agent",
            text: "<b>Call</b>\u202e us: 9:00 to 5:00\u001b[2J",
            phone: "+1 555 0100",
            days: 5,
            free: true
          },
          { type: "read_terms", url: "https://carrier.example/terms?a=1&b=%202" }
        ]
      })
    )
  )
  testInWorld(
    "is shown with cleaned text and unchanged links",
    Effect.gen(function* () {
      yield* work
      const { id } = yield* start({}, live)
      yield* pass(10)
      const [quote] = (yield* read(id, live)).quotes
      assert.deepStrictEqual(quote?.next_actions.slice(1), [
        { type: "call_agent", text: "Call us: 9:00 to 5:00 [2J", phone: "+1 555 0100", days: 5, free: true },
        { type: "read_terms", url: "https://carrier.example/terms?a=1&b=%202" }
      ])
    }),
    carriers(acting)
  )
})

describe("a carrier's questions", () => {
  const questions = Array.from({ length: 2_000 }, (_, i) => ({ path: `application.f${i}`, label: "?".repeat(2_000) }))
  const asking = prompt("asking", { kind: "question", questions })
  testInWorld(
    "are limited to 20, and their text is truncated",
    Effect.gen(function* () {
      yield* work
      const { id } = yield* start({}, live)
      yield* pass(10)
      const [carrier] = (yield* read(id, live)).quote_request.carriers
      assert.lengthOf(carrier?.missing_facts ?? [], 20)
      assert.isAtMost(JSON.stringify(carrier).length, 16_000)
    }),
    carriers(asking)
  )
})

describe("several offers", () => {
  testInWorld("become quotes in one request version if one carrier makes the offers", () => {
    const three = prompt(
      "three",
      offers(...[3, 1, 2].map((n) => offer({ offer_ref: `offer-${n}`, product: `Tier ${n}` })))
    )
    const says = prompt("says", declined)
    return {
      ...carriers(three, says),
      body: Effect.gen(function* () {
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
        assert.lengthOf(
          (yield* feed(live)).filter(({ type }) => type === "quote.created"),
          3
        )
      })
    }
  })

  testInWorld("each create a new request version if carriers answer concurrently", () => {
    const many = Array.from({ length: 40 }, (_, i) => prompt(`carrier-${i}`))
    return {
      ...carriers(...many),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        const { quote_request, quotes } = yield* read(id, live)
        assert.lengthOf(quotes, 40)
        assert.strictEqual(quote_request.version, 42)
        assert.strictEqual(quote_request.status_details.reason, "quotes_ready")
        for (const { asks } of many) assert.lengthOf(asks, 1)
      })
    }
  })
})
