import { assert, describe } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { config } from "../../../../examples/line.ts"
import { lines } from "../../src/Quotewire.ts"
import { declined, offers, polled, prompt } from "../quoting/carriers.ts"
import { feed, read, refusal, start, startOf, startWith, testInWorld, work } from "../support/world.ts"
import { advanceInRealTime } from "./realTime.ts"

/* A host's custom carriers play the scenarios. The slower carriers answer later, so the order of the three is fixed. */

const three = () =>
  ["first", "second", "third"].map((id, index) => prompt(id, offers(), { typical_ms: 1_000 * (index + 1) }))

/** The outcome of each carrier of a request. */
const outcomesOf = (id: string) =>
  Effect.map(read(id), ({ quote_request }) =>
    quote_request.carriers.map(({ carrier, outcome }) => `${carrier.id} ${outcome}`)
  )

/** Plays a scenario with three carriers for some seconds. */
const played = Effect.fnUntraced(function* (scenario: string, seconds: number) {
  const { id } = yield* start({ scenario })
  yield* advanceInRealTime(seconds)
  return { ...(yield* read(id)), outcomes: yield* outcomesOf(id) }
})

const minute = 60

describe("your own carriers in a sandbox", () => {
  const every = { quoted: ["first quoted", "second quoted", "third quoted"] }
  for (const { scenario, expects, asked, status = "completed", seconds = 2 * minute } of [
    { scenario: "quotes_ready", expects: every.quoted, asked: 3 },
    { scenario: "single_quote", expects: ["first quoted", "second declined", "third declined"], asked: 1 },
    { scenario: "zero_quotes", expects: ["first declined", "second declined", "third declined"], asked: 0 },
    { scenario: "some_carriers_silent", expects: ["first quoted", "second quoted", "third no_answer"], asked: 2 },
    {
      scenario: "incomplete_no_quotes",
      expects: ["first declined", "second no_answer", "third no_answer"],
      asked: 0
    },
    {
      scenario: "all_carriers_silent",
      expects: ["first no_answer", "second no_answer", "third no_answer"],
      asked: 0,
      status: "failed"
    },
    {
      scenario: "all_carriers_error",
      expects: ["first no_answer", "second no_answer", "third no_answer"],
      asked: 0,
      status: "failed",
      seconds: 40
    },
    {
      scenario: "action_required",
      expects: ["first quoted", "second needs_information", "third quoted"],
      asked: 2,
      status: "action_required"
    },
    { scenario: "late_answer", expects: ["first quoted", "second quoted", "third no_answer"], asked: 2 }
  ]) {
    const all = three()
    testInWorld(
      `play ${scenario}`,
      Effect.gen(function* () {
        yield* work
        const { outcomes: found, quote_request } = yield* played(scenario, seconds)
        assert.deepStrictEqual(found, expects)
        assert.strictEqual(quote_request.status, status)
        assert.strictEqual(all.flatMap(({ asks }) => asks).length, asked)
      }),
      { carriers: all.map(({ adapter }) => adapter) }
    )
  }

  testInWorld(
    "answer slowly in slow_quotes, on the sandbox's clock",
    Effect.gen(function* () {
      yield* work
      const { quotes } = yield* played("slow_quotes", 2 * minute)
      const times = quotes.map(({ evidence }) => Date.parse(evidence.source_time ?? "")).toSorted((a, b) => a - b)
      const [from = 0, , until = 0] = times.map((time) => (time - Date.parse("2026-11-20T12:00:00.000Z")) / 1_000)
      assert.isAtLeast(from, 20)
      assert.isAtLeast(until, 50)
      assert.isBelow(until, 60)
    }),
    { carriers: three().map(({ adapter }) => adapter) }
  )

  const raising = three()
  testInWorld(
    "raise the first offer's price in price_update without being asked again",
    Effect.gen(function* () {
      yield* work
      const { quotes } = yield* played("price_update", 15 * minute)
      assert.sameDeepMembers(
        quotes.map(({ price, source, status_details, version }) => [
          source.carrier.id,
          version,
          price.premium?.amount_minor,
          status_details.reason
        ]),
        [
          ["first", 2, 12_540, "price_updated"],
          ["second", 1, 12_000, "offered"],
          ["third", 1, 12_000, "offered"]
        ]
      )
      const updates = (yield* feed()).filter(({ type }) => type === "quote.updated")
      assert.lengthOf(updates, 1)
      assert.lengthOf(
        raising.flatMap(({ asks }) => asks),
        3
      )
    }),
    { carriers: raising.map(({ adapter }) => adapter) }
  )

  testInWorld(
    "withdraw the first offer in quote_withdrawn",
    Effect.gen(function* () {
      yield* work
      const { quotes } = yield* played("quote_withdrawn", 15 * minute)
      const withdrawn = quotes.filter(({ status }) => status === "inactive")
      assert.deepStrictEqual(
        withdrawn.map(({ source, status_details }) => [source.carrier.id, status_details.reason]),
        [["first", "withdrawn_by_carrier"]]
      )
    }),
    { carriers: three().map(({ adapter }) => adapter) }
  )

  testInWorld(
    "make offers with the scenario's expiry times, prices and unknown values",
    Effect.gen(function* () {
      yield* work
      const soon = yield* played("quote_expires_soon", 30)
      for (const { availability, evidence } of soon.quotes) {
        const seconds = (Date.parse(availability.expires_at ?? "") - Date.parse(evidence.source_time ?? "")) / 1_000
        assert.strictEqual(seconds, 120)
      }
      const unknown = yield* played("expiry_unknown", 30)
      assert.deepStrictEqual(
        unknown.quotes.map(({ availability }) => availability.expires_at),
        [null, null, null]
      )
      const priceless = (yield* played("price_unknown", 30)).quotes.filter(({ price }) => price.premium === null)
      assert.deepStrictEqual(
        priceless.map(({ next_actions, source }) => [source.carrier.id, next_actions.map(({ type }) => type)]),
        [["first", ["request_assistance"]]]
      )
      const odd = yield* played("unknown_values", 30)
      assert.isTrue(odd.quotes.every(({ status_details }) => status_details.reason === "sandbox_unlisted_reason"))
    }),
    { carriers: three().map(({ adapter }) => adapter) }
  )

  testInWorld(
    "play scenarios even if they are polled",
    Effect.gen(function* () {
      yield* work
      const { quotes } = yield* played("quote_expires_soon", 30)
      assert.lengthOf(quotes, 1)
      assert.isNotNull(quotes[0]?.availability.expires_at)
      assert.notStrictEqual(quotes[0]?.availability.expires_at, "2027-01-01T00:00:00.000Z")
    }),
    { carriers: [polled("polled", 2).adapter] }
  )

  testInWorld(
    "decline even in quotes_ready if they decline the application",
    Effect.gen(function* () {
      yield* work
      assert.deepStrictEqual((yield* played("quotes_ready", 30)).outcomes, ["declines declined"])
    }),
    { carriers: [prompt("declines", declined).adapter] }
  )

  testInWorld(
    "answer as usual if no scenario is played",
    Effect.gen(function* () {
      yield* work
      const { id } = yield* start()
      yield* advanceInRealTime(30)
      assert.deepStrictEqual(yield* outcomesOf(id), ["usual quoted"])
      const refused = yield* refusal(start({ scenario: "zero_quotes" }, { environment: "live" }))
      assert.deepStrictEqual(
        refused.field_errors?.map(({ path }) => path),
        ["scenario"]
      )
    }),
    { carriers: [prompt("usual").adapter] }
  )

  testInWorld(
    "play scenarios for a host's custom line",
    Effect.gen(function* () {
      yield* work
      const { id } = yield* startWith({
        ...startOf(),
        line: "bicycle",
        scenario: "price_update",
        application: { home: { state: "NY", zip: "10001" }, bicycle: { value_usd: 1_200 } }
      })
      yield* advanceInRealTime(15 * minute)
      const { quotes } = yield* read(id)
      assert.deepStrictEqual(
        quotes.map(({ source, version }) => [source.carrier.id, version]),
        [["mga:spoke", 2]]
      )
    }),
    { carriers: config.carriers ?? [], surroundings: Layer.orDie(lines(config)) }
  )
})
