import { Effect } from "effect"
import type { StoredEvent } from "../../storage/Change.ts"
import type { FeedQuery } from "../../storage/Page.ts"
import { expectRefusal, expectSame, expectTrue } from "./expect.ts"
import * as Sample from "./samples.ts"
import { type Case, rule, type StorageService } from "./storageRule.ts"

const numbers = (events: ReadonlyArray<StoredEvent>) => events.map(({ number }) => number)

const writers = 8
const changesEach = 25
const total = writers * changesEach * 2

/** Commits changes with two events each. The IDs of a change's events begin with the same name. */
const write = Effect.fnUntraced(function* (storage: StorageService, writer: number) {
  for (let round = 0; round < changesEach; round++) {
    const name = `evt_${writer}_${round}`
    const events = ["a", "b"].map((part) => ({ id: `${name}_${part}`, occurred_at: round, about: [], body: name }))
    yield* storage.commit(Sample.change({ events }))
    yield* Effect.yieldNow
  }
})

/** Reads the feed from its beginning, as a caller would, until it has seen all events. */
const follow = Effect.fnUntraced(function* (storage: StorageService, limit: number) {
  const seenEvents: Array<StoredEvent> = []
  for (let round = 0; seenEvents.length < total; round++) {
    expectTrue("a reader that follows the feed sees all of it", round < 100_000)
    const { events } = yield* storage.feed(Sample.feedOf({ after: seenEvents.at(-1)?.number ?? 0, limit }))
    seenEvents.push(...events)
    yield* Effect.yieldNow
  }
  return seenEvents
})

/** Cases for the order of the feed. */
export const feed: ReadonlyArray<Case> = [
  rule(
    "numbers events from 1 in the order of their commits, and returns them as written",
    Effect.fnUntraced(function* (storage) {
      const [first, second, third] = [Sample.event(3), Sample.event(1), Sample.event(2, 1_800_000_000_123)]
      yield* storage.commit(Sample.change({ events: [first, second] }))
      yield* storage.commit(Sample.change({ events: [third] }))
      expectSame("the feed", yield* storage.feed(Sample.feedOf()), {
        events: [
          { ...first, number: 1 },
          { ...second, number: 2 },
          { ...third, number: 3 }
        ],
        reached: 3,
        erased_through: 0
      })
    })
  ),
  rule(
    "starts a feed page after a given event number, and ends the page at the limit",
    Effect.fnUntraced(function* (storage) {
      const read = (after: number, limit: number) =>
        Effect.map(storage.feed(Sample.feedOf({ after, limit })), ({ events }) => numbers(events))
      for (const place of Sample.range(1, 4)) {
        yield* storage.commit(
          Sample.change({ events: Sample.range(1, 150).map((nth) => Sample.event(place * 1_000 + nth)) })
        )
      }
      expectSame("from the beginning", yield* read(0, 2), [1, 2])
      expectSame("in the middle", yield* read(254, 5), Sample.range(255, 259))
      expectSame("near the end", yield* read(598, 5), [599, 600])
      expectSame("at the end", yield* read(600, 5), [])
      expectSame("after the end", yield* read(700, 5), [])
    })
  ),
  rule(
    "gives every workspace its own feed",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ events: [Sample.event(1), Sample.event(2)] }))
      yield* storage.commit(Sample.change({ workspace_id: Sample.elsewhere, events: [Sample.event(3)] }))
      const there = yield* storage.feed(Sample.feedOf({ workspace_id: Sample.elsewhere }))
      expectSame("elsewhere", there.events, [{ ...Sample.event(3), number: 1 }])
      const nowhere = yield* storage.feed(Sample.feedOf({ workspace_id: Sample.workspace(3) }))
      expectSame("nowhere", nowhere, { events: [], reached: 0, erased_through: 0 })
    })
  ),
  rule(
    "finds events by either of their two subjects, and reports how far the search went",
    Effect.fnUntraced(function* (storage) {
      const read = (parts: Partial<FeedQuery>) =>
        Effect.map(storage.feed(Sample.feedOf(parts)), ({ events, reached }) => [reached, ...numbers(events)])
      const abouts = [["q", "r"], ["r"], ["s"], ["q", "r"], [], ["p", "r"], ["r", "s"], ["s"]]
      yield* storage.commit(
        Sample.change({ events: abouts.map((ids, index) => Sample.event(index + 1, 1_000 + index, ids)) })
      )
      yield* storage.commit(
        Sample.change({ workspace_id: Sample.elsewhere, events: [Sample.event(1, 1_000, ["q", "t"])] })
      )
      expectSame("one subject, in the first position", yield* read({ about: ["q"] }), [8, 1, 4])
      expectSame("one subject, in either position", yield* read({ about: ["r"] }), [8, 1, 2, 4, 6, 7])
      expectSame("two subjects", yield* read({ about: ["q", "r"] }), [8, 1, 4])
      expectSame("two subjects in the other order", yield* read({ about: ["s", "r"] }), [8, 7])
      expectSame("two subjects that no event has together", yield* read({ about: ["q", "s"] }), [8])
      expectSame("no subject filter", yield* read({ about: [] }), [8, ...Sample.range(1, 8)])
      expectSame("a subject that only another workspace has", yield* read({ about: ["t"] }), [8])
      expectSame("a full page", yield* read({ about: ["r"], limit: 2 }), [2, 1, 2])
      expectSame("the next page", yield* read({ about: ["r"], limit: 2, after: 2 }), [6, 4, 6])
      expectSame("the last page", yield* read({ about: ["r"], limit: 2, after: 6 }), [8, 7])
      expectSame("after the end", yield* read({ about: ["r"], after: 9 }), [9])
      expectSame("how far a search with limit 0 reaches", yield* read({ about: ["r"], limit: 0 }), [8])
      expectSame("how far a page with limit 0 reaches", yield* read({ limit: 0 }), [8])
      const page = yield* storage.feed(Sample.feedOf({ about: ["p"] }))
      expectSame("the event as written", page.events, [{ ...Sample.event(6, 1_005, ["p", "r"]), number: 6 }])
    })
  ),
  rule(
    "forgets the subjects of erased events",
    Effect.fnUntraced(function* (storage) {
      const read = Effect.map(storage.feed(Sample.feedOf({ about: ["r"] })), ({ events, reached, erased_through }) => ({
        found: numbers(events),
        reached,
        erased_through
      }))
      const add = (place: number) => storage.commit(Sample.change({ events: [Sample.event(place, place, ["q", "r"])] }))
      for (const place of [1, 2, 3]) yield* add(place)
      yield* storage.erase({ what: "events", workspace_id: Sample.home, occurred_before: 3, limit: 9 })
      expectSame("after some events were erased", yield* read, { found: [3], reached: 3, erased_through: 2 })
      yield* storage.erase({ what: "workspace", workspace_id: Sample.home })
      expectSame("after all events were erased", yield* read, { found: [], reached: 3, erased_through: 3 })
      yield* add(4)
      expectSame("after a later event", yield* read, { found: [4], reached: 4, erased_through: 3 })
    })
  ),
  rule(
    "leaves no gap in the event numbers after a refused change",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ events: [Sample.event(1)] }))
      const conflict = Sample.change({ writes: [Sample.request(1, { version: 2 })], events: [Sample.event(2)] })
      yield* expectRefusal(storage.commit(conflict), "VersionConflict")
      yield* storage.commit(Sample.change({ events: [Sample.event(3)] }))
      const { events } = yield* storage.feed(Sample.feedOf())
      expectSame(
        "the feed",
        events.map(({ number, id }) => [number, id]),
        [
          [1, Sample.event(1).id],
          [2, Sample.event(3).id]
        ]
      )
    })
  ),
  rule(
    "never lets a reader skip an event that is committed later, even with many concurrent writers",
    Effect.fnUntraced(function* (storage) {
      const readers = Effect.forEach([1, 3, 100], (limit) => follow(storage, limit), { concurrency: "unbounded" })
      const writeAll = Effect.forEach(Sample.range(1, writers), (writer) => write(storage, writer), {
        concurrency: "unbounded",
        discard: true
      })
      const [feeds] = yield* Effect.all([readers, writeAll], { concurrency: "unbounded" })
      for (const seenEvents of feeds) {
        expectSame("the numbers", numbers(seenEvents), Sample.range(1, total))
        expectSame("the feed", seenEvents, feeds[0])
        expectTrue(
          "a change's events are adjacent and in order",
          seenEvents.every(({ id, body }, place) => id.endsWith("b") || seenEvents[place + 1]?.body === body)
        )
      }
    })
  )
]
