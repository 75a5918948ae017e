import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Workspaces } from "../../src/access/Workspaces.ts"
import type { Storage } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import {
  advance,
  anotherHost,
  beginning,
  forceExpiry,
  live,
  pass,
  pathsOf,
  read,
  refusal,
  reset,
  runDue,
  select,
  smallest,
  start,
  testInWorld
} from "../support/world.ts"

const day = 86_400

const dayAfter = (days: number): string => new Date(beginning + days * day * 1_000).toISOString().slice(0, 10)

/** A start call for a policy that begins this many days after the test. */
const startingIn = (days: number, changes: object = {}) =>
  start({ ...changes, application: { ...smallest.renters, effective_date: dayAfter(days) } })

const makeReads = () => {
  /** How often a workspace was read. */
  const reads = { count: 0 }
  const counting = (storage: Storage["Service"]): Storage["Service"] => ({
    ...storage,
    get: (key) => {
      if (key.kind === "workspace") reads.count++
      return storage.get(key)
    }
  })
  return { reads, counting }
}

describe("a start call", () => {
  testInWorld(
    "happens at the time to which another host has moved the clock",
    Effect.gen(function* () {
      const elsewhere = yield* anotherHost()
      yield* start()
      for (const days of [1, 2, 3]) {
        yield* elsewhere(advance(day))
        const { created_at } = yield* start()
        assert.strictEqual(created_at, new Date(beginning + days * day * 1_000).toISOString())
      }
    })
  )

  testInWorld(
    "is checked against the time to which another host has moved the clock",
    Effect.gen(function* () {
      const elsewhere = yield* anotherHost()
      yield* startingIn(0)
      const { field_errors } = yield* refusal(startingIn(400))
      const most = Number(field_errors?.[0]?.message.match(/(\d+) days/)?.[1])
      yield* elsewhere(advance(day))
      yield* startingIn(most + 1)
      yield* elsewhere(advance(day))
      assert.deepStrictEqual(pathsOf(yield* refusal(startingIn(0))), ["application.effective_date"])
      yield* elsewhere(advance(day))
      // Even if another field is malformed.
      const both = yield* refusal(startingIn(2, { request_key: 7 }))
      assert.deepStrictEqual(pathsOf(both), ["request_key", "application.effective_date"])
    })
  )

  testInWorld(
    "plays the scenario that another host has selected, and no scenario after a reset",
    Effect.gen(function* () {
      const elsewhere = yield* anotherHost()
      yield* start()
      yield* elsewhere(select("zero_quotes"))
      const { id } = yield* start()
      yield* advance(60)
      assert.deepStrictEqual((yield* read(id)).quotes, [])
      yield* elsewhere(reset())
      const { id: other } = yield* start()
      yield* advance(60)
      assert.isNotEmpty((yield* read(other)).quotes)
    })
  )

  testInWorld("reads its workspace from storage only if another host has changed the workspace", () => {
    const { reads, counting } = makeReads()
    return {
      around: counting,
      body: Effect.gen(function* () {
        const elsewhere = yield* anotherHost()
        yield* start()
        reads.count = 0
        for (let i = 0; i < 3; i++) yield* start()
        assert.strictEqual(reads.count, 0)
        // This host knows its own changes.
        yield* forceExpiry()
        reads.count = 0
        yield* start()
        assert.strictEqual(reads.count, 0)
        yield* elsewhere(advance(1))
        reads.count = 0
        yield* start()
        assert.isAbove(reads.count, 0)
      })
    }
  })
})

describe("a start call with repeated conflicts", () => {
  testInWorld("uses the workspace's final state, not an intermediate state", () => {
    /** What happens right before each of the next commits of a start call. */
    const races: Array<Effect.Effect<unknown, unknown>> = []
    const racing = (storage: Storage["Service"]): Storage["Service"] => ({
      ...storage,
      commit: (change) =>
        Effect.suspend(() => {
          const before = change.writes.some(({ kind }) => kind === "application") ? races.shift() : undefined
          return before === undefined
            ? storage.commit(change)
            : Effect.andThen(Effect.orDie(before), storage.commit(change))
        })
    })
    return {
      around: racing,
      body: Effect.gen(function* () {
        const elsewhere = yield* anotherHost()
        yield* start()
        yield* advance(30 * day)
        races.push(elsewhere(advance(1)), elsewhere(select("zero_quotes")), elsewhere(reset()))
        const { id, created_at } = yield* start()
        assert.deepStrictEqual(races, [])
        assert.strictEqual(created_at, new Date(beginning).toISOString())
        yield* advance(60)
        const { quote_request, quotes } = yield* read(id)
        assert.strictEqual(quote_request.status, "completed")
        assert.isNotEmpty(quotes)
      })
    }
  })
})

describe("a live workspace", () => {
  testInWorld(
    "uses the current time",
    Effect.gen(function* () {
      const { organization } = yield* World
      const workspaces = yield* Workspaces
      yield* workspaces.moment(organization.workspaces.live)
      const moment = workspaces.moment(organization.workspaces.live)
      yield* pass(60_000)
      assert.strictEqual((yield* moment).now, beginning + 60_000)
    })
  )

  testInWorld("is read from storage only once", () => {
    const { reads, counting } = makeReads()
    return {
      around: counting,
      body: Effect.gen(function* () {
        const { id } = yield* start({}, live)
        reads.count = 0
        yield* read(id, live)
        yield* start({}, live)
        yield* runDue
        yield* read(id, live)
        assert.strictEqual(reads.count, 0)
      })
    }
  })
})
