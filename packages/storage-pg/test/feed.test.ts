import { assert, describe, it } from "@effect/vitest"
import { Change } from "@quotewire/core"
import { Effect, Result } from "effect"
import { scopedDatabase } from "../../../test/support/TestDatabase.ts"
import { open, type Port, workspace } from "./support/hosts.ts"

// For a longer run, set the number: QUOTEWIRE_TEST_EVENTS=100000.
const wanted = Number(process.env.QUOTEWIRE_TEST_EVENTS ?? 5_120)
const writers = 32
const changesEach = Math.ceil(wanted / writers / 2)
const total = writers * changesEach * 2

/** Writes changes of two events each, of which a third is refused at first. */
const write = Effect.fnUntraced(function* (storage: Port, writer: number) {
  for (let round = 0; round < changesEach; round++) {
    const name = `${writer}-${round}`
    const events = ["a", "b"].map((part) => ({ id: `evt_${name}${part}`, occurred_at: round, about: [], body: name }))
    const record = (version: number) =>
      Change.record({ kind: "idempotency_record", id: `${writer}`, version, body: "{}", created_at: 0, updated_at: 0 })
    const change = (version: number) => Change.make(workspace(1), { writes: [record(version)], events })
    if (round % 3 === 0) {
      const refused = yield* Effect.flip(storage.commit(change(round + 2)))
      assert.strictEqual(refused._tag, "VersionConflict")
    }
    yield* storage.commit(change(round + 1))
  }
})

/** Follows the feed to its end, as a caller that stores the number of the last event does. */
const follow = Effect.fnUntraced(function* (storage: Port, limit: number) {
  const seen: Array<string> = []
  let after = 0
  while (after < total) {
    const { events } = yield* storage.feed({ workspace_id: workspace(1), after, limit })
    for (const { number, id } of events) {
      if (number !== after + 1) throw new Error(`event ${number} comes after ${after}`)
      after = number
      seen.push(id)
    }
    yield* Effect.yieldNow
  }
  return seen
})

describe("a feed with many writers on two hosts", () => {
  it.effect(
    "shows every reader each event once, in the same order",
    () =>
      Effect.gen(function* () {
        const { options } = yield* scopedDatabase
        const hosts = [yield* open(options), yield* open(options)]
        const host = (place: number): Port => hosts[place % 2] ?? assert.fail("two hosts")
        const all = Effect.forEach(Array.from({ length: writers }), (_, writer) => write(host(writer), writer), {
          concurrency: "unbounded",
          discard: true
        })
        const readers = Effect.forEach([3, 100, 1_000], (limit, place) => follow(host(place), limit), {
          concurrency: "unbounded"
        })
        const [feeds] = yield* Effect.all([readers, all], { concurrency: "unbounded" })
        for (const feed of feeds) {
          assert.lengthOf(feed, total)
          assert.strictEqual(new Set(feed).size, total)
          assert.deepStrictEqual(feed, feeds[0])
        }
        for (const [place, id] of (feeds[0] ?? []).entries()) {
          if (place % 2 === 1) assert.strictEqual(id, feeds[0]?.[place - 1]?.replace(/a$/, "b"))
        }
      }),
    600_000
  )
})

describe("changes that are sent together", () => {
  it.effect("number each workspace's events and jobs without gaps, even if some changes are refused", () =>
    Effect.gen(function* () {
      const { options } = yield* scopedDatabase
      const storage = yield* open({ ...options, writers: 1 })
      const change = (n: number) => {
        const id = String(n).padStart(2, "0")
        // No first version exists for the second version to follow.
        const version = n % 3 === 0 ? 2 : 1
        return Change.make(workspace(1 + (n % 4)), {
          writes: [
            Change.record({ kind: "idempotency_record", id, version, body: "{}", created_at: 0, updated_at: 0 })
          ],
          events: ["a", "b"].map((part) => ({ id: `evt_${id}${part}`, occurred_at: n, about: [], body: "{}" })),
          jobs: [{ kind: "collect", due_at: n, ordered: false, payload: id }]
        })
      }
      const all = Array.from({ length: 40 }, (_, n) => change(n))
      const outcomes = yield* Effect.forEach(all, (one) => Effect.result(storage.commit(one)), {
        concurrency: "unbounded"
      })
      const refused = outcomes.flatMap((outcome, n) => (Result.isFailure(outcome) ? [n] : []))
      assert.deepStrictEqual(
        refused,
        all.flatMap((_, n) => (n % 3 === 0 ? [n] : []))
      )
      const { jobs } = yield* storage.claim({ now: 100, lease_ms: 1_000, limit: 100 })
      for (const nth of [1, 2, 3, 4]) {
        const workspace_id = workspace(nth)
        const stored = all.filter((one, n) => one.workspace_id === workspace_id && n % 3 !== 0)
        const { events } = yield* storage.feed({ workspace_id, after: 0, limit: 100 })
        assert.deepStrictEqual(
          events,
          stored.flatMap((one) => one.events).map((event, place) => ({ ...event, number: place + 1 }))
        )
        assert.deepStrictEqual(
          jobs.filter((job) => job.workspace_id === workspace_id).map(({ number, payload }) => [number, payload]),
          stored.flatMap((one) => one.jobs).map(({ payload }, place) => [place + 1, payload])
        )
      }
    })
  )
})
