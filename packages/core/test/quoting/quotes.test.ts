import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber } from "effect"
import { Seal, withSealing } from "../../src/access/sealing/Seal.ts"
import type { CarrierRefresh } from "../../src/carriers/Carrier.ts"
import { kinds } from "../../src/kinds.ts"
import { lineNames, type StandardLineName } from "../../src/lines/standard.ts"
import * as Quote from "../../src/quoting/Quote.ts"
import { Quotes } from "../../src/quoting/Quotes.ts"
import { Storage } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import { ApplicationId, QuoteId, QuoteRequestId } from "../../src/wire/Ids.ts"
import { lineNamed } from "../lines/applications.ts"
import {
  advance,
  beginning,
  feed,
  forceExpiry,
  getQuote,
  live,
  pass,
  type ReadQuote,
  read,
  refusal,
  reset,
  runDue,
  start,
  testInWorld,
  work
} from "../support/world.ts"
import { type Character, carriers, offer, offers, prompt } from "./carriers.ts"

/** A request of the sandbox whose carriers have answered, and its first quote. */
const quoted = Effect.fnUntraced(function* (changes: Parameters<typeof start>[0] = {}) {
  const { id } = yield* start(changes)
  yield* advance(60)
  const { quotes } = yield* read(id)
  const [first] = quotes
  if (first === undefined) return assert.fail("no quote")
  return { id, quotes, first }
})

const stored = (id: string) =>
  Effect.gen(function* () {
    const { organization } = yield* World
    const storage = withSealing(yield* Storage, yield* Seal, kinds)
    const record = yield* storage.get({ workspace_id: organization.workspaces.sandbox, kind: "quote", id })
    return record._tag === "None" ? assert.fail("no record") : record.value.body
  })

describe("a quote", () => {
  testInWorld(
    "appears in the feed before the request version that lists it",
    Effect.gen(function* () {
      yield* work
      yield* start({}, live)
      yield* pass(10)
      assert.deepStrictEqual(
        (yield* feed(live)).map(({ type }) => type),
        ["quote_request.queued", "quote_request.updated", "quote.created", "quote.created", "quote_request.completed"]
      )
    }),
    carriers(prompt("prompt", offers(offer(), offer({ offer_ref: "offer-2" }))))
  )

  for (const line of lineNames) {
    testInWorld(
      `is returned as expired from its expiry time, even before storage is updated (${line})`,
      Effect.gen(function* () {
        const { first } = yield* quoted({ line, scenario: "quote_expires_soon" })
        const leftMs = Date.parse(first.availability.expires_at ?? "") - Date.parse("2026-11-20T12:01:00.000Z")
        yield* pass(leftMs - 1)
        assert.deepStrictEqual(yield* getQuote(first.id), first)
        yield* pass(1)
        // The job has not run, so storage still holds version 1.
        assert.deepStrictEqual(JSON.parse(yield* stored(first.id)), first)
        const computed = yield* getQuote(first.id)
        assert.deepStrictEqual(
          [computed.version, computed.status, computed.status_details.reason],
          [2, "inactive", "expired"]
        )
        assert.deepStrictEqual(yield* getQuote(first.id, 2), computed)
        assert.deepStrictEqual((yield* read(computed.quote_request_id)).quotes[0], computed)
        assert.isFalse((yield* feed()).some(({ type }) => type === "quote.expired"))
        yield* runDue
        assert.strictEqual(yield* stored(first.id), JSON.stringify(computed))
        assert.deepStrictEqual(yield* getQuote(first.id), computed)
        const expired = (yield* feed()).filter(({ type }) => type === "quote.expired")
        assert.lengthOf(expired, line === "pet" ? 0 : 1)
        if (line !== "pet") assert.strictEqual(expired[0]?.occurred_at, first.availability.expires_at)
      })
    )
  }

  testInWorld(
    "keeps every version unchanged, forever",
    Effect.gen(function* () {
      const { first, id } = yield* quoted({ line: "personal_auto", scenario: "price_update" })
      yield* advance(600)
      const second = yield* getQuote(first.id)
      yield* forceExpiry()
      const third = yield* getQuote(first.id)
      yield* advance(86_400 * 300)
      assert.deepStrictEqual(yield* getQuote(first.id, 1), first)
      assert.deepStrictEqual(yield* getQuote(first.id, 2), second)
      assert.deepStrictEqual(yield* getQuote(first.id, 3), third)
      assert.deepStrictEqual(yield* getQuote(first.id), third)
      assert.deepStrictEqual(
        [first, second, third].map(({ status, status_details, version }) => [version, status, status_details.reason]),
        [
          [1, "active", "offered"],
          [2, "active", "price_updated"],
          [3, "inactive", "expired"]
        ]
      )
      assert.strictEqual((yield* refusal(getQuote(first.id, 4)))._tag, "not_found")
      assert.strictEqual((yield* read(id)).quote_request.version, 7)
    })
  )

  for (const version of [0, -1, 1.5]) {
    testInWorld(
      `rejects version ${version} as invalid input rather than with not_found`,
      Effect.gen(function* () {
        const { first } = yield* quoted()
        const error = yield* refusal(getQuote(first.id, version))
        assert.deepStrictEqual([error._tag, error.field_errors?.[0]?.path], ["invalid_input", "version"])
      })
    )
  }

  testInWorld(
    "has version 2 with a 4.5% higher premium after a price update at 600 seconds",
    Effect.gen(function* () {
      const { first } = yield* quoted({ line: "personal_auto", scenario: "price_update" })
      yield* advance(539)
      assert.deepStrictEqual(yield* getQuote(first.id), first)
      yield* advance(1)
      const second = yield* getQuote(first.id)
      const before = first.price.premium?.amount_minor ?? 0
      assert.strictEqual(second.price.premium?.amount_minor, Math.floor((before * 10_450 + 5_000) / 10_000))
      assert.strictEqual(second.evidence.source_time, "2026-11-20T12:10:00.000Z")
      for (const action of second.next_actions) assert.strictEqual(action.quote_version, "2")
      const newest = (yield* feed()).at(-1)
      assert.deepStrictEqual(
        [newest?.type, newest?.resource],
        ["quote.updated", { type: "quote", id: first.id, version: 2 }]
      )
    })
  )

  testInWorld(
    "is inactive after its carrier has withdrawn it, with assistance as its only action",
    Effect.gen(function* () {
      const { first } = yield* quoted({ line: "renters", scenario: "quote_withdrawn" })
      yield* advance(540)
      const second = yield* getQuote(first.id)
      assert.deepStrictEqual(
        [second.version, second.status, second.status_details.reason],
        [2, "inactive", "withdrawn_by_carrier"]
      )
      assert.deepStrictEqual(second.price, first.price)
      assert.deepStrictEqual(second.next_actions, [
        { type: "request_assistance", quote_id: first.id, quote_version: "2" }
      ])
      assert.strictEqual((yield* feed()).at(-1)?.type, "quote.updated")
      yield* advance(86_400 * 40)
      assert.strictEqual((yield* getQuote(first.id)).version, 2)
    })
  )
})

const go = (token: string) => Effect.flatMap(Quotes, (quotes) => quotes.go(token))
const tokenOf = (quote: ReadQuote): string => {
  const action = quote.next_actions.find(({ type }) => type === "continue_on_carrier_site")
  return String(action?.redirect_path).replace("/go/", "")
}
const seen = Effect.fnUntraced(function* (token: string) {
  const there = yield* go(token)
  return there._tag === "page" ? `${there.status} ${there.title}` : there.url
})

const unknown = "404 Unknown link"

describe("a quote's link to its carrier", () => {
  testInWorld(
    "opens a sandbox page while the quote is active, and explains the expiry afterwards",
    Effect.gen(function* () {
      const { first } = yield* quoted({ line: "personal_auto", scenario: "quote_expires_soon" })
      const token = tokenOf(first)
      assert.strictEqual(yield* seen(token), "200 This is a sandbox quote")
      yield* pass(120_000)
      assert.strictEqual(yield* seen(token), "410 This quote has expired")
      yield* reset()
      assert.strictEqual(yield* seen(token), unknown)
    })
  )

  testInWorld(
    "says that a withdrawn quote is no longer available",
    Effect.gen(function* () {
      const { first } = yield* quoted({ scenario: "quote_withdrawn" })
      yield* advance(600)
      assert.deepStrictEqual(yield* seen(tokenOf(first)), "410 This quote is no longer available")
    })
  )

  testInWorld(
    "is not found if any of its characters is altered",
    Effect.gen(function* () {
      const { first } = yield* quoted()
      const token = tokenOf(first)
      assert.match(token, /^[0-9A-Za-z_-]+$/)
      for (let i = 0; i < token.length; i++) {
        const altered = token.slice(0, i) + (token.charAt(i) === "a" ? "b" : "a") + token.slice(i + 1)
        assert.strictEqual(yield* seen(altered), unknown, `altered at ${i}`)
      }
      for (const none of ["", "a", token.slice(1), token.slice(0, -1), `${token}a`, first.id]) {
        assert.strictEqual(yield* seen(none), unknown, none)
      }
    })
  )

  testInWorld("is not created before the host knows its own address", () => {
    const address = Deferred.makeUnsafe<string>()
    return {
      public_url: Deferred.await(address),
      body: Effect.gen(function* () {
        const { id } = yield* start()
        const moving = yield* Effect.forkChild(advance(60))
        yield* pass(0)
        assert.deepStrictEqual((yield* read(id)).quotes, [])
        yield* Deferred.succeed(address, "https://quotes.example.com")
        yield* Fiber.join(moving)
        const { quotes } = yield* read(id)
        assert.isNotEmpty(quotes)
        for (const quote of quotes) {
          assert.include(JSON.stringify(quote), `"https://quotes.example.com/go/${tokenOf(quote)}"`)
        }
      })
    }
  })

  testInWorld("redirects to the carrier in live, and contains no facts", () => {
    const handoff_url = "https://carrier.example/offers/1?token=x"
    const scripted = prompt("prompt", offers(offer({ handoff_url }), offer({ offer_ref: "offer-2" })))
    return {
      ...carriers(scripted),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        const [first, second] = (yield* read(id, live)).quotes
        assert.isDefined(first)
        if (first === undefined) return
        assert.notInclude(JSON.stringify(first), "carrier.example")
        assert.deepStrictEqual(yield* go(tokenOf(first)), { _tag: "redirect", url: handoff_url })
        const action = first.next_actions[0]
        assert.deepStrictEqual(action, {
          type: "continue_on_carrier_site",
          quote_id: first.id,
          quote_version: "1",
          redirect_path: `/go/${tokenOf(first)}`,
          url: `http://127.0.0.1:8787/go/${tokenOf(first)}`,
          open: "new_tab"
        })
        assert.deepStrictEqual(
          second?.next_actions.map(({ type }) => type),
          ["request_assistance"]
        )
      })
    }
  })
})

const refreshing = (found: (nth: number) => CarrierRefresh | Effect.Effect<never>, character: Character = {}) => {
  const looks: Array<string> = []
  const times: Array<number> = []
  const scripted = prompt("looks", offers(offer({ refresh_after_ms: 120_000 })), {
    ...character,
    rest: {
      refresh: (_, offerRef) =>
        Effect.flatMap(Clock.currentTimeMillis, (at) => {
          looks.push(offerRef)
          times.push((at - beginning) / 1_000)
          const next = found(looks.length)
          return "kind" in next ? Effect.succeed(next) : next
        })
    }
  })
  return { ...scripted, looks, times }
}

describe("a carrier that refreshes its offer", () => {
  testInWorld("creates a new version of the same quote, at most once a minute", () => {
    const scripted = refreshing((nth) => ({
      kind: "offer",
      reason: "rechecked",
      offer: offer({ offer_ref: `look-${nth}`, ...(nth < 3 && { refresh_after_ms: 0 }) })
    }))
    return {
      ...carriers(scripted),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(119_000)
        assert.deepStrictEqual(scripted.looks, [])
        yield* pass(600_000)
        assert.deepStrictEqual(scripted.looks, ["offer-1", "look-1", "look-2"])
        assert.deepStrictEqual(scripted.times, [120, 180, 240])
        const { quotes } = yield* read(id, live)
        assert.deepStrictEqual(
          quotes.map(({ status_details, version }) => [version, status_details.reason]),
          [[4, "rechecked"]]
        )
      })
    }
  })

  for (const [what, found, tries] of [
    ["is in maintenance every time", { kind: "unavailable", reason: "maintenance" }, 3],
    ["never answers", Effect.never, 3],
    ["makes an invalid offer", { kind: "offer", reason: "price_updated", offer: offer({ term_months: 5 }) }, 1],
    ["fails permanently", { kind: "unavailable", reason: "carrier_error", final: true }, 1],
    ["ends with a defect", Effect.die("no"), 1]
  ] as const) {
    const scripted = refreshing(() => found)
    testInWorld(
      `leaves the quote unchanged if it ${what}`,
      Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        for (let minutes = 0; minutes < 10; minutes++) yield* pass(60_000)
        assert.lengthOf(scripted.looks, tries)
        assert.strictEqual((yield* read(id, live)).quotes[0]?.version, 1)
        const storage = yield* Storage
        const later = 1e15
        const { jobs } = yield* storage.claim({ now: later, lease_ms: 1, limit: 10 })
        assert.deepStrictEqual(
          jobs.map(({ kind }) => kind),
          ["expire_quote"]
        )
      }),
      carriers(scripted)
    )
  }
})

const origin: Quote.Origin = {
  id: QuoteId.make(`qt_${"0".repeat(26)}`),
  environment: "live",
  line: lineNamed("personal_auto"),
  quote_request_id: QuoteRequestId.make(`qreq_${"0".repeat(26)}`),
  application_id: ApplicationId.make(`app_${"0".repeat(26)}`),
  carrier: { id: "c", name: "C", registry_ids: [] },
  answered_at: 0,
  redirect_path: null,
  base_url: ""
}
const comparison = (amount_minor: number, term_months: number) =>
  Quote.fromOffer(offer({ premium: { amount_minor, currency: "USD" }, term_months }), origin).price.comparison?.amount
    .amount_minor

describe("a quote from an offer", () => {
  it("has the premium for one month of coverage as its comparison, rounded half up", () => {
    assert.strictEqual(comparison(245_414, 12), 20_451)
    assert.strictEqual(comparison(109_644, 6), 18_274)
    assert.strictEqual(comparison(17_928, 12), 1_494)
    assert.strictEqual(comparison(6, 12), 1)
    assert.strictEqual(comparison(5, 12), 0)
    assert.strictEqual(comparison(99_999_999, 1), 99_999_999)
  })

  it("has no comparison if the premium or the term is unknown", () => {
    assert.isNull(Quote.fromOffer(offer({ premium: null }), origin).price.comparison)
    assert.isNull(Quote.fromOffer(offer({ term_months: null }), origin).price.comparison)
  })

  it("says that fees may be extra, except for renters", () => {
    const labelOf = (line: StandardLineName) =>
      Quote.fromOffer(offer(), { ...origin, line: lineNamed(line) }).price.comparison?.label
    assert.strictEqual(labelOf("renters"), "Per month of cover, for comparing offers; not an instalment amount.")
    for (const line of ["personal_auto", "pet"] as const) {
      assert.match(labelOf(line) ?? "", /\. Fees, if any, may be extra\.$/)
    }
  })

  it("lists assumptions sorted by path", () => {
    const assumptions = ["b", "a", "c"].map((path) => ({ path, value: 1, source: "service_default" }))
    const quote = Quote.fromOffer(offer({ assumptions }), origin)
    assert.deepStrictEqual(
      quote.evidence.assumptions.map(({ path }) => path),
      ["a", "b", "c"]
    )
  })
})
