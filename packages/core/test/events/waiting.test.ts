import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { Hint } from "../../src/storage/Change.ts"
import { LongPolls, pollMs } from "../../src/storage/Hints.ts"
import type { Storage } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import { cancel, live, pass, pathsOf, read, refusal, reset, start, testInWorld, work } from "../support/world.ts"

const waiting = Effect.flatMap(LongPolls, (longPolls) => longPolls.count)

/** Begins a read, and runs it until it waits. */
const reading = Effect.fnUntraced(function* (id: string, input: object = {}, options = {}) {
  const fiber = yield* Effect.forkChild(read(id, options, input))
  yield* TestClock.adjust(0)
  return fiber
})

const versionOf = (fiber: Effect.Success<ReturnType<typeof reading>>) =>
  Effect.map(Fiber.join(fiber), ({ quote_request }) => quote_request.version)

const isDone = (fiber: Fiber.Fiber<unknown, unknown>) => fiber.pollUnsafe() !== undefined

describe("a read of a request in progress", () => {
  testInWorld("checks the request when hints may have been lost, but not when another workspace is reset", () => {
    /** How often a request was read, and a way to send hints to listeners. */
    const seen: { reads: number; tell: (hint: Hint) => void } = { reads: 0, tell: () => {} }
    const watched = {
      around: (storage: Storage["Service"]): Storage["Service"] => ({
        ...storage,
        get: (key) => {
          if (key.kind === "quote_request") seen.reads++
          return storage.get(key)
        },
        watch: (listener) => {
          const before = seen.tell
          seen.tell = (hint) => {
            before(hint)
            listener(hint)
          }
          return storage.watch(listener)
        }
      })
    }
    return {
      ...watched,
      body: Effect.gen(function* () {
        const { id } = yield* start({}, live)
        const reader = yield* reading(id, {}, live)
        seen.reads = 0
        yield* reset()
        yield* pass(10)
        assert.strictEqual(seen.reads, 0)
        seen.tell({ about: "everything" })
        yield* pass(10)
        assert.strictEqual(seen.reads, 1)
        seen.tell({ about: "workspace", workspace_id: (yield* World).organization.workspaces.live })
        yield* pass(10)
        assert.strictEqual(seen.reads, 2)
        yield* Fiber.interrupt(reader)
        assert.strictEqual(yield* waiting, 0)
      })
    }
  })

  testInWorld(
    "returns as soon as the request changes",
    Effect.gen(function* () {
      yield* work
      const { id } = yield* start()
      const reader = yield* reading(id)
      assert.strictEqual(yield* waiting, 1)
      yield* pass(999)
      assert.isFalse(isDone(reader))
      yield* pass(1)
      assert.isTrue(isDone(reader))
      assert.strictEqual(yield* versionOf(reader), 2)
      assert.strictEqual(yield* waiting, 0)
    })
  )

  testInWorld(
    "returns after 20 seconds, or after wait_seconds, with the current state",
    Effect.gen(function* () {
      const { id } = yield* start()
      const usual = yield* reading(id)
      const shorter = yield* reading(id, { wait_seconds: 3 })
      yield* pass(2_999)
      assert.isFalse(isDone(shorter))
      yield* pass(1)
      assert.strictEqual(yield* versionOf(shorter), 1)
      yield* pass(16_999)
      assert.isFalse(isDone(usual))
      yield* pass(1)
      assert.strictEqual(yield* versionOf(usual), 1)
      assert.strictEqual(yield* waiting, 0)
    })
  )

  testInWorld(
    "does not wait if wait_seconds is 0",
    Effect.gen(function* () {
      const { id } = yield* start()
      const reader = yield* reading(id, { wait_seconds: 0, since_version: 5 })
      assert.isTrue(isDone(reader))
    })
  )

  testInWorld(
    "returns as soon as the request's version is greater than since_version",
    Effect.gen(function* () {
      yield* work
      const { id } = yield* start({ line: "personal_auto" })
      yield* pass(3_000)
      const older = yield* reading(id, { since_version: 2 })
      assert.strictEqual(yield* versionOf(older), 3)
      const same = yield* reading(id, { since_version: 3 })
      const newer = yield* reading(id, { since_version: 4 })
      const nothing = yield* reading(id, { since_version: 0 })
      assert.strictEqual(yield* versionOf(nothing), 3)
      assert.strictEqual(yield* waiting, 2)
      yield* pass(2_000)
      assert.strictEqual(yield* versionOf(same), 4)
      assert.isFalse(isDone(newer))
      yield* pass(3_000)
      assert.strictEqual(yield* versionOf(newer), 5)
    })
  )

  testInWorld(
    "returns when the request is cancelled",
    Effect.gen(function* () {
      const { id } = yield* start({ scenario: "waits_in_queue" })
      const reader = yield* reading(id)
      yield* cancel(id)
      const { quote_request } = yield* Fiber.join(reader)
      assert.strictEqual(quote_request.status_details.reason, "cancelled_by_caller")
    })
  )

  testInWorld(
    "returns immediately for a request that has ended or needs an action",
    Effect.gen(function* () {
      yield* work
      const ended = yield* start({ scenario: "zero_quotes" })
      const asks = yield* start({ scenario: "action_required" })
      yield* pass(60_000)
      assert.isTrue(isDone(yield* reading(ended.id, { since_version: 99 })))
      assert.isTrue(isDone(yield* reading(asks.id, { since_version: 99 })))
    })
  )

  testInWorld(
    "returns together with a thousand other reads after one change",
    Effect.gen(function* () {
      yield* work
      const { id } = yield* start()
      const readers = yield* Effect.forEach(Array.from({ length: 1_000 }), () => Effect.forkChild(read(id, {}, {})))
      yield* TestClock.adjust(0)
      assert.strictEqual(yield* waiting, 1_000)
      yield* pass(1_000)
      for (const reader of readers) assert.strictEqual(yield* versionOf(reader), 2)
      assert.strictEqual(yield* waiting, 0)
    })
  )

  testInWorld(
    "does not return when a different request changes",
    Effect.gen(function* () {
      const { id } = yield* start()
      const other = yield* start({ scenario: "waits_in_queue" })
      const reader = yield* reading(id)
      yield* cancel(other.id)
      yield* TestClock.adjust(0)
      assert.isFalse(isDone(reader))
      yield* Fiber.interrupt(reader)
    })
  )

  testInWorld(
    "stops waiting when its caller disconnects",
    Effect.gen(function* () {
      const { id } = yield* start()
      const readers = yield* Effect.forEach(Array.from({ length: 10 }), () => reading(id))
      assert.strictEqual(yield* waiting, 10)
      yield* Effect.forEach(readers, Fiber.interrupt)
      assert.strictEqual(yield* waiting, 0)
    })
  )

  testInWorld(
    "polls storage periodically in case hints are lost",
    Effect.gen(function* () {
      const { id } = yield* start()
      const reader = yield* reading(id)
      yield* cancel(id)
      yield* pass(pollMs - 1)
      assert.isFalse(isDone(reader))
      yield* pass(1)
      assert.strictEqual(yield* versionOf(reader), 2)
    }),
    { around: (storage) => ({ ...storage, watch: () => Effect.void }) }
  )

  testInWorld(
    "returns when the host is about to stop",
    Effect.gen(function* () {
      const { id } = yield* start()
      const reader = yield* reading(id)
      const longPolls = yield* LongPolls
      yield* longPolls.stop
      yield* TestClock.adjust(0)
      assert.strictEqual(yield* versionOf(reader), 1)
      assert.isTrue(isDone(yield* reading(id)))
      assert.strictEqual(yield* waiting, 0)
    })
  )

  testInWorld(
    "does not wait for a request that does not exist or is hidden from the caller",
    Effect.gen(function* () {
      const { id, read_handle } = yield* start({}, { as: "platform" })
      assert.strictEqual((yield* refusal(read("qreq_x", {}, {})))._tag, "not_found")
      assert.strictEqual((yield* refusal(read(id, { as: "platform" }, {})))._tag, "not_found")
      const reader = yield* reading(id, {}, { as: "platform", read_handle })
      assert.strictEqual(yield* waiting, 1)
      yield* pass(20_000)
      assert.strictEqual(yield* versionOf(reader), 1)
    })
  )

  for (const input of [{ wait_seconds: 21 }, { wait_seconds: -1 }, { wait_seconds: 1.5 }, { since_version: -1 }]) {
    testInWorld(
      `rejects ${JSON.stringify(input)}`,
      Effect.gen(function* () {
        const { id } = yield* start()
        assert.deepStrictEqual(pathsOf(yield* refusal(read(id, {}, input))), Object.keys(input))
      })
    )
  }
})
