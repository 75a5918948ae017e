import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Retention } from "../../src/runner/Retention.ts"
import { World } from "../../src/testing/World.ts"
import {
  advance,
  events,
  feed,
  list,
  pass,
  pathsOf,
  read,
  refusal,
  reset,
  start,
  testInWorld
} from "../support/world.ts"

const day = 86_400

/** Every page of a list, in pages of the given size. */
const pages = Effect.fnUntraced(function* (filters: object, limit: number) {
  const ids: Array<string> = []
  let cursor: string | null = null
  do {
    const page: Effect.Success<ReturnType<typeof list>> = yield* list({
      ...filters,
      limit,
      ...(cursor !== null && { cursor })
    })
    assert.isAtMost(page.quote_requests.length, limit)
    ids.push(...page.quote_requests.map(({ id }) => id))
    cursor = page.next_cursor
  } while (cursor !== null)
  return ids
})

/** Changes each character of a text in turn. */
const alterations = (text: string): ReadonlyArray<string> =>
  Array.from(text, (character, i) => text.slice(0, i) + (character === "Q" ? "R" : "Q") + text.slice(i + 1))

describe("the list of quote requests", () => {
  testInWorld(
    "is sorted newest first, with ten requests per page by default",
    Effect.gen(function* () {
      const started: Array<string> = []
      for (let i = 0; i < 25; i++) started.unshift((yield* start()).id)
      const first = yield* list()
      assert.lengthOf(first.quote_requests, 10)
      for (const limit of [1, 7, 10, 25, 100]) assert.deepStrictEqual(yield* pages({}, limit), started)
      assert.isNull((yield* list({ limit: 25 })).next_cursor)
      assert.isNull((yield* list({ status: "failed" })).next_cursor)
    })
  )

  testInWorld(
    "continues at the cursor even if new requests have arrived",
    Effect.gen(function* () {
      const older = [yield* start(), yield* start(), yield* start()].map(({ id }) => id).toReversed()
      const { next_cursor, quote_requests } = yield* list({ limit: 1 })
      assert.strictEqual(quote_requests[0]?.id, older[0])
      yield* start()
      const rest = yield* list({ limit: 10, cursor: next_cursor })
      assert.deepStrictEqual(
        rest.quote_requests.map(({ id }) => id),
        older.slice(1)
      )
    })
  )

  testInWorld(
    "can be filtered by status, line and time, separately and together",
    Effect.gen(function* () {
      const pet = yield* start({ line: "pet", scenario: "zero_quotes" })
      yield* advance(3_600)
      const car = yield* start({ line: "personal_auto", scenario: "all_carriers_silent" })
      yield* advance(3_600)
      const queued = yield* start({ line: "pet", scenario: "waits_in_queue" })
      const asks = yield* start({ line: "renters", scenario: "action_required" })
      yield* advance(100)
      const found = (filters: object) => pages(filters, 1)
      assert.deepStrictEqual(yield* found({ status: "completed" }), [pet.id])
      assert.deepStrictEqual(yield* found({ status: "failed" }), [car.id])
      assert.deepStrictEqual(yield* found({ status: "in_progress" }), [queued.id])
      assert.deepStrictEqual(yield* found({ status: "action_required" }), [asks.id])
      assert.deepStrictEqual(yield* found({ line: "pet" }), [queued.id, pet.id])
      assert.deepStrictEqual(yield* found({ line: "pet", status: "completed" }), [pet.id])
      assert.deepStrictEqual(yield* found({ created_after: car.created_at }), [asks.id, queued.id, car.id])
      assert.deepStrictEqual(yield* found({ created_before: car.created_at }), [pet.id])
      assert.deepStrictEqual(
        yield* found({ created_after: car.created_at, created_before: "2026-11-20T09:00:00-05:00" }),
        [car.id]
      )
      const ended = (yield* read(car.id)).quote_request.updated_at
      assert.deepStrictEqual(yield* found({ updated_since: ended }), [asks.id, queued.id, car.id])
      assert.deepStrictEqual(yield* found({ line: "renters", status: "failed" }), [])
    })
  )

  for (const wrong of [
    "2026-11-20",
    "2026-11-20T12:00:00",
    "yesterday",
    "2026-13-20T12:00:00Z",
    "2026-11-20 12:00:00Z"
  ]) {
    testInWorld(
      `rejects a time that is not RFC 3339 with an offset: ${wrong}`,
      Effect.gen(function* () {
        const error = yield* refusal(list({ created_after: wrong, updated_since: wrong }))
        assert.sameMembers([...pathsOf(error)], ["created_after", "updated_since"])
      })
    )
  }

  testInWorld(
    "rejects a limit outside 1 to 100, an unknown status and an unknown line",
    Effect.gen(function* () {
      for (const limit of [0, 101, 1.5]) assert.deepStrictEqual(pathsOf(yield* refusal(list({ limit }))), ["limit"])
      const error = yield* refusal(list({ status: "queued", line: "boat" }))
      assert.sameMembers([...pathsOf(error)], ["status", "line"])
      const allowed = error.field_errors?.find(({ path }) => path === "status")?.allowed_values
      assert.deepStrictEqual(allowed, ["in_progress", "action_required", "completed", "failed"])
    })
  )

  testInWorld(
    "rejects a cursor that is altered, from another list, or used with other filters",
    Effect.gen(function* () {
      yield* start()
      yield* start()
      const cursor = (yield* list({ limit: 1, line: "renters" })).next_cursor ?? assert.fail("no cursor")
      const ours = { limit: 1, line: "renters", cursor }
      assert.lengthOf((yield* list(ours)).quote_requests, 1)
      assert.lengthOf((yield* list({ ...ours, limit: 50 })).quote_requests, 1)
      const others = [
        { limit: 1, cursor },
        { ...ours, line: "pet" },
        { ...ours, status: "completed" },
        { ...ours, cursor: (yield* events()).next_cursor },
        { ...ours, cursor: "" },
        { ...ours, cursor: `${cursor}.` },
        { ...ours, cursor: cursor.slice(0, -1) }
      ]
      for (const other of others) assert.strictEqual((yield* refusal(list(other)))._tag, "invalid_cursor")
      for (const altered of alterations(cursor)) {
        assert.strictEqual((yield* refusal(list({ ...ours, cursor: altered })))._tag, "invalid_cursor", altered)
      }
      assert.strictEqual((yield* refusal(events({ cursor })))._tag, "invalid_cursor")
    })
  )
})

describe("the feed", () => {
  testInWorld(
    "returns every event once and in order, whatever the page size",
    Effect.gen(function* () {
      const empty = yield* events()
      assert.deepStrictEqual(empty.events, [])
      yield* start({ line: "personal_auto" })
      yield* start({ line: "pet" })
      yield* advance(60)
      const all = (yield* feed()).map(({ id }) => id)
      for (const limit of [1, 3, 100]) {
        const seen: Array<string> = []
        let cursor = empty.next_cursor
        while (true) {
          const page = yield* events({ limit, cursor })
          seen.push(...page.events.map(({ id }) => id))
          cursor = page.next_cursor
          if (page.events.length === 0) break
        }
        assert.deepStrictEqual(seen, all)
        // Caught up: later events come after this cursor.
        const { id } = yield* start()
        const next = yield* events({ cursor })
        assert.deepStrictEqual(
          next.events.map(({ resource }) => resource.id),
          [id]
        )
        all.push(...next.events.map((event) => event.id))
      }
      assert.lengthOf(new Set(all), all.length)
    })
  )

  testInWorld(
    "can start at the latest events, and misses no later event",
    Effect.gen(function* () {
      const nothing = yield* events({ from: "newest" })
      assert.deepStrictEqual(nothing.events, [])
      const first = yield* start({ line: "personal_auto" })
      yield* advance(60)
      const all = (yield* feed()).map(({ id }) => id)
      for (const limit of [1, 3, 100]) {
        const newest = yield* events({ from: "newest", limit })
        assert.deepStrictEqual(
          newest.events.map(({ id }) => id),
          all.slice(-limit)
        )
        const { id } = yield* start()
        for (const from of ["oldest", "newest"] as const) {
          const { events: later } = yield* events({ from, limit, cursor: newest.next_cursor })
          assert.deepStrictEqual(
            later.map(({ resource }) => resource.id),
            [id],
            "a cursor overrules it"
          )
        }
        all.push(...(yield* feed()).map((event) => event.id).slice(-1))
      }
      assert.strictEqual((yield* events({ cursor: nothing.next_cursor, limit: 100 })).events[0]?.id, all[0])
      const ofFirst = yield* events({ from: "newest", quote_request_id: first.id, limit: 3 })
      assert.deepStrictEqual(ofFirst.events, [], "the newest three are about others")
    })
  )

  testInWorld(
    "refers to each resource by type, id and version, without facts or prices",
    Effect.gen(function* () {
      const { id } = yield* start()
      const [event] = yield* feed()
      assert.deepStrictEqual(event, {
        id: event?.id ?? "",
        type: "quote_request.queued",
        occurred_at: "2026-11-20T12:00:00.000Z",
        environment: "sandbox",
        line: "renters",
        resource: { type: "quote_request", id, version: 1 }
      })
      assert.match(event?.id ?? "", /^evt_[0-9a-z]{26}$/)
    })
  )

  testInWorld(
    "rejects a cursor if any of its characters was altered",
    Effect.gen(function* () {
      yield* start()
      const { next_cursor } = yield* events()
      for (const altered of [...alterations(next_cursor), "", "MCAw", next_cursor.slice(1), `${next_cursor}x`]) {
        assert.strictEqual((yield* refusal(events({ cursor: altered })))._tag, "invalid_cursor", altered)
      }
    })
  )

  testInWorld(
    "rejects a cursor from before a reset, even if nothing has happened since",
    Effect.gen(function* () {
      const startOfAll = (yield* events()).next_cursor
      yield* start()
      const later = (yield* events()).next_cursor
      yield* reset()
      for (const cursor of [startOfAll, later]) {
        const error = yield* refusal(events({ cursor }))
        assert.deepStrictEqual(
          [error._tag, error.status, error.retry_action],
          ["event_cursor_expired", 410, "read_status"]
        )
      }
      const anew = yield* events()
      assert.deepStrictEqual(anew.events, [])
      yield* start()
      assert.lengthOf((yield* events({ cursor: anew.next_cursor })).events, 1)
    })
  )

  testInWorld(
    "keeps events for 30 days, and rejects only cursors that precede an erased event",
    Effect.gen(function* () {
      const beforeAll = (yield* events()).next_cursor
      yield* start()
      yield* advance(60)
      const first = yield* events({ limit: 1 })
      const old = yield* events({ limit: 100 })
      const beforeLast = yield* events({ limit: old.events.length - 1 })
      yield* advance(10 * day)
      const { id } = yield* start({ scenario: "waits_in_queue" })
      yield* advance(20 * day - 60)
      assert.deepStrictEqual((yield* feed())[0]?.id, old.events[0]?.id)
      yield* advance(61)
      const left = yield* feed()
      assert.deepStrictEqual(left[0]?.resource, { type: "quote_request", id, version: 1 })
      for (const cursor of [beforeAll, first.next_cursor, beforeLast.next_cursor]) {
        assert.strictEqual((yield* refusal(events({ cursor })))._tag, "event_cursor_expired")
      }
      const resumed = yield* events({ cursor: old.next_cursor, limit: 100 })
      assert.deepStrictEqual(resumed.events, left)
      // When all events are erased, the newest cursor is still valid, and a new reader catches up immediately.
      yield* advance(40 * day)
      assert.deepStrictEqual((yield* events({ cursor: (yield* events()).next_cursor })).events, [])
    })
  )

  testInWorld(
    "erases expired events in a live workspace",
    Effect.gen(function* () {
      const live = { environment: "live" } as const
      yield* start({}, live)
      const { next_cursor } = yield* events({}, live)
      const retention = yield* Retention
      const { organization } = yield* World
      yield* pass(30 * day * 1_000)
      yield* retention.sweep(organization.workspaces.live)
      assert.lengthOf(yield* feed(live), 1)
      yield* pass(1)
      yield* retention.sweep(organization.workspaces.live)
      assert.lengthOf(yield* feed(live), 0)
      assert.deepStrictEqual((yield* events({ cursor: next_cursor }, live)).events, [])
    })
  )
})
