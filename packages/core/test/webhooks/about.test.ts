import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import { choosable } from "../../src/events/Event.ts"
import { Retention } from "../../src/runner/Retention.ts"
import { World } from "../../src/testing/World.ts"
import type { ApiError } from "../../src/wire/ApiError.ts"
import { requests } from "../calls/support.ts"
import {
  advance,
  beginning,
  cancel,
  events,
  feed,
  getQuote,
  live,
  pass,
  pathsOf,
  read,
  refusal,
  reset,
  start,
  stranger,
  testInWorld,
  world
} from "../support/world.ts"
import { create, deliveries, endpoints, replayEvents, sendTest, testWebhooks } from "./support.ts"

const everyEvent = { event_types: choosable }
const second = 1_000

interface Page {
  readonly next_cursor: string | null
}

/** The items of a list, read to its end. The feed ends with an empty page, other lists without a cursor. */
const allOf = Effect.fnUntraced(function* <P extends Page, A, E, R>(
  read: (input: object) => Effect.Effect<P, E, R>,
  itemsOf: (page: P) => ReadonlyArray<A>,
  filters: object,
  limit: number
) {
  const all: Array<A> = []
  let cursor: string | null = null
  do {
    const page: P = yield* read({ ...filters, limit, ...(cursor !== null && { cursor }) })
    const items = itemsOf(page)
    assert.isAtMost(items.length, limit)
    all.push(...items)
    cursor = "events" in page && items.length === 0 ? null : page.next_cursor
  } while (cursor !== null)
  return all
})

const feedOf = (filters: object = {}, limit = 100) => allOf(events, (page) => page.events, filters, limit)
const logOf = (filters: object = {}, limit = 100) => allOf(requests, (page) => page.requests, filters, limit)
const deliveriesOf = (id: string, filters: object = {}, limit = 100) =>
  allOf(
    (input) => deliveries(id, input),
    (page) => page.deliveries,
    filters,
    limit
  )

/** A request with quotes: its id and its quotes' ids. */
const quoted = Effect.gen(function* () {
  const { id } = yield* start()
  yield* advance(600)
  const { quotes } = yield* read(id)
  const [quote] = quotes
  return quote === undefined ? assert.fail("no quote") : { id, quote: quote.id, quotes: quotes.map((one) => one.id) }
})

describe("a filter by quote request or quote", () => {
  testInWorld(
    "finds all events of a request and its quotes, or only a quote's events",
    Effect.gen(function* () {
      const { id, quote, quotes } = yield* quoted
      yield* quoted
      const all = yield* feed()
      const found = yield* feedOf({ quote_request_id: id }, 3)
      assert.deepStrictEqual(
        found,
        all.filter(({ resource }) => resource.id === id || quotes.includes(resource.id))
      )
      assert.sameMembers([...new Set(found.map(({ resource }) => resource.type))], ["quote_request", "quote"])
      assert.deepStrictEqual(
        yield* feedOf({ quote_id: quote }, 1),
        all.filter(({ resource }) => resource.id === quote)
      )
      assert.deepStrictEqual(
        yield* feedOf({ quote_id: quote, quote_request_id: id }),
        yield* feedOf({ quote_id: quote })
      )
    })
  )

  testInWorld(
    "finds logged calls that name the request, and the call that created the request",
    Effect.gen(function* () {
      const { id, quote } = yield* quoted
      yield* getQuote(quote)
      yield* cancel(id)
      yield* quoted
      yield* refusal(read("qreq_none"))
      yield* pass(second)
      const called = (filters: object, limit = 10) =>
        Effect.map(logOf(filters, limit), (entries) => entries.map(({ operation }) => operation))
      assert.deepStrictEqual(yield* called({ quote_request_id: id }, 1), [
        "cancel_quote_request",
        "get_quote",
        "get_quote_request",
        "start_quote_request"
      ])
      assert.deepStrictEqual(yield* called({ quote_id: quote }), ["get_quote"])
      assert.deepStrictEqual(yield* called({ quote_request_id: id, operation: "get_quote", status: 200 }), [
        "get_quote"
      ])
      assert.deepStrictEqual(yield* called({ quote_request_id: id, status: 404 }), [])
    })
  )

  testWebhooks("finds a subscription's deliveries, including replayed deliveries", () =>
    Effect.gen(function* () {
      const before = yield* quoted
      const one = yield* create(everyEvent)
      const other = yield* create(everyEvent)
      yield* sendTest(one.id)
      const { id, quote } = yield* quoted
      yield* pass(second)
      const idsOf = (items: ReadonlyArray<{ readonly event_id: string }>) => items.map(({ event_id }) => event_id)
      for (const subscription of [one, other]) {
        for (const filters of [{ quote_request_id: id }, { quote_id: quote }]) {
          const found = yield* deliveriesOf(subscription.id, filters, 2)
          const expected = (yield* feedOf(filters)).map((event) => event.id).toReversed()
          assert.isAbove(expected.length, 0)
          assert.deepStrictEqual(idsOf(found), expected)
        }
      }
      const old = { quote_request_id: before.id }
      assert.deepStrictEqual(yield* deliveriesOf(one.id, old), [])
      yield* replayEvents()
      yield* pass(second)
      assert.sameMembers(
        idsOf(yield* deliveriesOf(one.id, old)),
        (yield* feedOf(old)).map((event) => event.id)
      )
    })
  )

  testWebhooks("returns an empty page for an unknown id or another workspace's id", () =>
    Effect.gen(function* () {
      const { id, quote } = yield* quoted
      const { id: subscription } = yield* create(everyEvent)
      const foreign = { key: (yield* stranger).sandbox }
      yield* pass(second)
      for (const filters of [{ quote_request_id: id }, { quote_id: quote }]) {
        for (const options of [foreign, live]) {
          assert.deepStrictEqual((yield* events(filters, options)).events, [])
          assert.deepStrictEqual((yield* requests(filters, options)).requests, [])
        }
      }
      const unknown = [{ quote_request_id: `qreq_${"0".repeat(26)}` }, { quote_id: `qt_${"0".repeat(26)}` }]
      for (const filters of [...unknown, { quote_id: quote, ...unknown[0] }]) {
        assert.deepStrictEqual((yield* events(filters)).events, [])
        assert.deepStrictEqual(yield* requests(filters), { requests: [], next_cursor: null })
        assert.deepStrictEqual(yield* deliveries(subscription, filters), { deliveries: [], next_cursor: null })
      }
    })
  )

  testWebhooks("rejects a malformed id at its field", () =>
    Effect.gen(function* () {
      const { id, quote } = yield* quoted
      const { id: subscription } = yield* create(everyEvent)
      for (const filters of [
        { quote_request_id: quote, quote_id: id },
        { quote_request_id: "", quote_id: "x y" }
      ]) {
        for (const refused of [
          yield* refusal(events(filters)),
          yield* refusal(requests(filters)),
          yield* refusal(deliveries(subscription, filters))
        ]) {
          assert.strictEqual(refused.code, "invalid_input")
          assert.sameMembers([...pathsOf(refused)], ["quote_request_id", "quote_id"])
        }
      }
    })
  )

  testWebhooks("rejects a cursor that was issued for a different filter", () =>
    Effect.gen(function* () {
      const { id: subscription } = yield* create(everyEvent)
      const { id, quote } = yield* quoted
      const another = yield* quoted
      yield* pass(second)
      const filters = [{}, { quote_request_id: id }, { quote_request_id: another.id }, { quote_id: quote }]
      const check = Effect.fnUntraced(function* <P extends Page, R>(
        list: (input: object) => Effect.Effect<P, ApiError, R>
      ) {
        for (const one of filters.slice(0, 3)) {
          const { next_cursor: cursor } = yield* list({ ...one, limit: 1 })
          assert.isString(cursor)
          yield* list({ ...one, limit: 2, cursor })
          for (const other of filters.filter((different) => different !== one)) {
            assert.strictEqual((yield* refusal(list({ ...other, cursor }))).code, "invalid_cursor")
          }
        }
      })
      yield* check(events)
      yield* check(requests)
      yield* check((input) => deliveries(subscription, input))
    })
  )

  testInWorld(
    "advances the cursor even if the page is empty",
    Effect.gen(function* () {
      const { id } = yield* start({}, live)
      const { organization } = yield* World
      const retention = yield* Retention
      const filters = { quote_request_id: id }
      const first = yield* events(filters, live)
      assert.lengthOf(first.events, 1)
      const day = 86_400 * second
      let { next_cursor: cursor } = first
      // Nothing happens to the request while others come and go. The reader polls every twenty days.
      for (let round = 0; round < 3; round++) {
        yield* start({}, live)
        yield* pass(20 * day)
        yield* retention.sweep(organization.workspaces.live)
        const page = yield* events({ ...filters, cursor }, live)
        assert.deepStrictEqual(page.events, [])
        cursor = page.next_cursor
      }
      assert.strictEqual(
        (yield* refusal(events({ ...filters, cursor: first.next_cursor }, live))).code,
        "event_cursor_expired"
      )
    })
  )

  testInWorld(
    "finds no events after a reset, and rejects earlier cursors",
    Effect.gen(function* () {
      const { id } = yield* quoted
      const { next_cursor: cursor } = yield* events({ quote_request_id: id })
      yield* reset()
      assert.strictEqual((yield* refusal(events({ quote_request_id: id, cursor }))).code, "event_cursor_expired")
      assert.deepStrictEqual((yield* events({ quote_request_id: id })).events, [])
      yield* pass(second)
      assert.isAbove((yield* logOf({ quote_request_id: id })).length, 0)
    })
  )
})

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ starts: fc.constantFrom("renters", "personal_auto", "pet") }) },
  { weight: 3, arbitrary: fc.record({ advances: fc.constantFrom(1, 60, 600, 90_000) }) },
  fc.record({ cancels: fc.nat(5) }),
  { weight: 2, arbitrary: fc.record({ reads: fc.nat(5) }) },
  { weight: 3, arbitrary: fc.record({ reads_quote: fc.nat(20) }) },
  fc.record({ misses: fc.constantFrom("qreq_none", `qreq_${"0".repeat(26)}`) })
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** Plays random calls. Returns the quote ids of each request, by request id. */
const play = Effect.fnUntraced(function* (steps: ReadonlyArray<Step>) {
  const quotes = new Map<string, ReadonlyArray<string>>()
  const nth = (ids: ReadonlyArray<string>, place: number) => ids.slice(place % Math.max(1, ids.length)).slice(0, 1)
  const look = (id: string) =>
    Effect.map(read(id), (found) =>
      quotes.set(
        id,
        found.quotes.map((quote) => quote.id)
      )
    )
  for (const step of steps) {
    if ("starts" in step) quotes.set((yield* start({ line: step.starts })).id, [])
    else if ("advances" in step) yield* advance(step.advances)
    else if ("misses" in step) yield* refusal(read(step.misses))
    else if ("reads" in step) yield* Effect.forEach(nth([...quotes.keys()], step.reads), look)
    else if ("cancels" in step) yield* Effect.forEach(nth([...quotes.keys()], step.cancels), (id) => cancel(id))
    else yield* Effect.forEach(nth([...quotes.values()].flat(), step.reads_quote), (id) => getQuote(id))
  }
  yield* advance(1)
  yield* Effect.forEach(quotes.keys(), look)
  yield* pass(second)
  return quotes
})

/** Plays random calls in a separate world, and compares every filtered list with the complete one. */
const compareAll = (steps: ReadonlyArray<Step>, limit: number) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(beginning)
    const { id: subscription } = yield* create(everyEvent)
    const quotes = yield* play(steps)
    const whole = {
      feed: yield* feedOf(),
      log: yield* logOf(),
      deliveries: yield* deliveriesOf(subscription)
    }
    const compare = Effect.fnUntraced(function* (
      filters: { readonly quote_request_id?: string; readonly quote_id?: string },
      ids: ReadonlyArray<string>
    ) {
      const expected = whole.feed.filter(({ resource }) => ids.includes(resource.id))
      const events = new Set(expected.map((event) => event.id))
      assert.deepStrictEqual(yield* feedOf(filters, limit), expected)
      assert.deepStrictEqual(
        yield* deliveriesOf(subscription, filters, limit),
        whole.deliveries.filter(({ event_id }) => events.has(event_id))
      )
      const logged = whole.log.filter(
        ({ quote_id, quote_request_id }) =>
          (filters.quote_id ?? quote_id) === quote_id &&
          (filters.quote_request_id ?? quote_request_id) === quote_request_id
      )
      // The log keeps growing: it also has the calls of this comparison.
      const found = yield* logOf(filters, limit)
      assert.deepStrictEqual(found.slice(found.length - logged.length), logged)
    })
    for (const [quote_request_id, quoteIds] of quotes) {
      yield* compare({ quote_request_id }, [quote_request_id, ...quoteIds])
      for (const quote_id of quoteIds) {
        yield* compare({ quote_id }, [quote_id])
        yield* compare({ quote_id, quote_request_id }, [quote_id])
      }
    }
  }).pipe(Effect.scoped, Effect.provide(world({ webhooks: endpoints().layer })))

describe("filtered pages", () => {
  it.effect("contain exactly the matching items of the complete lists", () =>
    Effect.forEach(
      fc.sample(fc.tuple(fc.array(step, { minLength: 3, maxLength: 25 }), fc.constantFrom(1, 3, 100)), {
        numRuns: 25,
        seed: 7
      }),
      ([steps, limit]) => compareAll(steps, limit)
    )
  )
})
