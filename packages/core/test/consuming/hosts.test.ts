import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Logger, References } from "effect"
import * as Workspaces from "../../src/access/Workspaces.ts"
import type { ExpiredEvents } from "../../src/consuming/ConsumeOptions.ts"
import { commit, Storage } from "../../src/storage/Storage.ts"
import { pass } from "../support/world.ts"
import { emit, type Handled, host, organization, organizationId, places, range, test, workspaceId } from "./support.ts"

describe("two processes that consume under one name", () => {
  test(
    "handle each event once and in order, one event per workspace at a time",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      yield* organization(1)
      yield* organization(2)
      let running = 0
      for (const name of ["one", "other"]) {
        const one = yield* host(name, handled)
        const { ready } = yield* one.consume("billing", () =>
          Effect.acquireUseRelease(
            Effect.sync(() => assert.isAtMost(++running, 2)),
            () => Effect.sleep(100),
            () => Effect.sync(() => void running--)
          )
        )
        yield* ready
      }
      for (const place of range(1, 20)) {
        yield* emit(2, [place])
        yield* emit(4, [100 + place])
        yield* pass(50)
      }
      yield* pass(5_000)
      for (const from of [1, 101]) {
        const own = places(handled).filter((place) => place >= from && place < from + 20)
        assert.deepStrictEqual(own, range(from, from + 19))
      }
    })
  )

  test(
    "handle events of different workspaces concurrently",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      yield* organization(1)
      for (const name of ["one", "other"]) {
        const { consume } = yield* host(name, handled)
        const { ready } = yield* consume("billing", () => Effect.sleep(10_000), { concurrency: 1 })
        yield* ready
      }
      yield* emit(2, [1])
      yield* emit(3, [2], { environment: "live" })
      yield* pass(0)
      assert.deepStrictEqual(new Set(handled.map(({ host }) => host)), new Set(["one", "other"]))
      assert.sameMembers(places(handled), [1, 2])
    })
  )

  test(
    "let the living process retry a dead process's event once the lease expires",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      yield* organization(1)
      const one = yield* host("one", handled)
      const first = yield* one.consume("billing", () => Effect.never, { timeout_ms: 600_000 })
      yield* first.ready
      yield* emit(2, [1, 2])
      yield* pass(0)
      const other = yield* host("other", handled)
      yield* other.consume()
      yield* pass(70_000)
      one.kill()
      yield* pass(10_000)
      assert.lengthOf(handled, 1)
      yield* pass(20_000)
      assert.deepStrictEqual(handled.slice(1), [
        { host: "other", place: 1, attempt: 2 },
        { host: "other", place: 2, attempt: 1 }
      ])
    })
  )

  test(
    "continue in one process immediately after the other process stops",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      yield* organization(1)
      const one = yield* host("one", handled)
      const first = yield* one.consume()
      yield* first.ready
      yield* emit(2, [1])
      yield* pass(0)
      yield* first.stop
      const other = yield* host("other", handled)
      yield* other.consume()
      yield* emit(2, [2])
      yield* pass(0)
      assert.deepStrictEqual(handled, [
        { host: "one", place: 1, attempt: 1 },
        { host: "other", place: 2, attempt: 1 }
      ])
    })
  )
})

describe("a process that cannot reach storage for longer than its lease", () => {
  test(
    "aborts its handler, and another process takes over",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      let interrupted = 0
      yield* organization(1)
      const one = yield* host("one", handled)
      const hangs = Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted++))
      const { ready } = yield* one.consume("billing", () => hangs, { timeout_ms: 600_000 })
      yield* ready
      yield* emit(2, [1])
      yield* pass(0)
      const other = yield* host("other", handled)
      yield* other.consume()
      one.strike("away")
      yield* pass(31_000)
      assert.strictEqual(interrupted, 1)
      one.strike(null)
      yield* pass(60_000)
      assert.deepStrictEqual(
        handled.map(({ host }) => host),
        ["one", "other"]
      )
    })
  )
})

describe("a process whose clock is far behind", () => {
  test(
    "stops when another process has taken over, and does not undo that process's progress",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      yield* organization(1)
      yield* pass(100_000)
      const one = yield* host("one", handled, { behind_ms: 60_000 })
      const { ready } = yield* one.consume("billing", () => Effect.sleep(5_000))
      yield* ready
      yield* emit(2, range(1, 20))
      yield* pass(0)
      const other = yield* host("other", handled)
      const second = yield* other.consume()
      yield* pass(5_000)
      yield* second.stop
      yield* pass(600_000)
      const of = (name: string) => places(handled.filter(({ host }) => host === name))
      assert.deepStrictEqual(of("one"), [1, 2])
      assert.deepStrictEqual(of("other"), range(1, 20))
    })
  )
})

/** Erases the events of the workspace at place 2, up to now. */
const erase = Effect.gen(function* () {
  const storage = yield* Storage
  const occurred_before = (yield* Clock.currentTimeMillis) + 1
  yield* storage.erase({ what: "events", workspace_id: workspaceId(2), occurred_before, limit: 1_000 })
})

/** Resets the workspace at place 2. */
const reset = Effect.gen(function* () {
  const storage = yield* Storage
  const store = (change: Partial<Workspaces.Workspace>) =>
    Effect.gen(function* () {
      const found = yield* storage.get({ workspace_id: workspaceId(2), kind: "workspace", id: workspaceId(2) })
      if (found._tag === "None") return assert.fail("no workspace")
      const workspace = Workspaces.kind.value(found.value)
      yield* commit(storage, Workspaces.changeOf({ ...workspace, ...change, version: workspace.version + 1 }))
    })
  yield* store({ reset_count: 1 })
  yield* storage.erase({ what: "workspace", workspace_id: workspaceId(2) })
  yield* store({ erased_count: 1 })
})

describe("a consumer whose events were erased", () => {
  const consuming = Effect.fnUntraced(function* (handled: Array<Handled>, expired: Array<ExpiredEvents>) {
    const one = yield* host("one", handled)
    return yield* one.consume("billing", undefined, { on_expired: (events) => void expired.push(events) })
  })

  for (const [how, erases, isTold] of [
    ["is notified after a retention erasure, and continues at the oldest event", erase, true],
    ["continues with the new feed after a reset, and is not notified", reset, false]
  ] as const) {
    test(
      how,
      Effect.gen(function* () {
        const handled: Array<Handled> = []
        const expired: Array<ExpiredEvents> = []
        yield* organization(1)
        const first = yield* consuming(handled, expired)
        yield* first.ready
        yield* emit(2, range(1, 3))
        yield* pass(0)
        yield* first.stop
        yield* emit(2, range(4, 10))
        yield* pass(1_000)
        yield* erases
        yield* emit(2, [11])
        yield* consuming(handled, expired)
        yield* pass(0)
        assert.deepStrictEqual(places(handled), [1, 2, 3, 11])
        const told = { consumer: "billing", organization_id: organizationId(1), environment: "sandbox", events: 7 }
        assert.deepStrictEqual(expired, isTold ? [told] : [])
      })
    )
  }

  test(
    "continues with new events after a reset, even while the consumer runs",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      const expired: Array<ExpiredEvents> = []
      yield* organization(1)
      const { ready } = yield* consuming(handled, expired)
      yield* ready
      yield* emit(2, range(1, 3))
      yield* pass(0)
      yield* reset
      yield* emit(2, [4])
      yield* pass(10_000)
      yield* emit(2, [5])
      yield* pass(0)
      assert.deepStrictEqual(places(handled), range(1, 5))
      assert.deepStrictEqual(expired, [])
    })
  )

  test(
    "continues if the on_expired promise rejects, and logs the rejection",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      const lines: Array<string> = []
      const logger = Logger.make(({ message }) => lines.push(String(message)))
      yield* organization(1)
      const one = yield* host("one", handled)
      const on_expired = () => Promise.reject(new Error("on_expired of a test"))
      const consume = Effect.provideService(
        one.consume("billing", undefined, { on_expired }),
        References.CurrentLoggers,
        new Set([logger])
      )
      const first = yield* consume
      yield* first.ready
      yield* emit(2, [1])
      yield* pass(0)
      yield* first.stop
      yield* emit(2, [2])
      yield* pass(1_000)
      yield* erase
      yield* emit(2, [3])
      yield* consume
      yield* pass(0)
      assert.deepStrictEqual(places(handled), [1, 3])
      assert.include(lines.join("\n"), "on_expired failed")
    })
  )

  test(
    "is not notified about events erased before the consumer's first start",
    Effect.gen(function* () {
      const handled: Array<Handled> = []
      const expired: Array<ExpiredEvents> = []
      yield* organization(1)
      yield* emit(2, range(1, 3))
      yield* erase
      yield* pass(1)
      const one = yield* host("one", handled)
      const on_expired = (events: ExpiredEvents) => void expired.push(events)
      yield* one.consume("billing", undefined, { from: "oldest", on_expired })
      yield* emit(2, [4])
      yield* pass(0)
      assert.deepStrictEqual([places(handled), expired], [[4], []])
    })
  )
})
