import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { ReadyMessage } from "../../src/processes/Messages.ts"
import * as Supervisor from "../../src/processes/Supervisor.ts"
import type { WorkerProcess } from "../../src/processes/WorkerProcess.ts"
import * as Workers from "../../src/processes/Workers.ts"
import { CommandFailed } from "../../src/settings/CommandErrors.ts"

const host: ReadyMessage = {
  base_url: "http://127.0.0.1:8787",
  carriers: { sandbox: [], live: [] },
  is_live_without_carriers: false
}

/** How the processes of a test behave. */
interface Behavior {
  /** Whether the n-th process, counted from 1, starts to listen by itself. */
  readonly isReady?: (n: number) => boolean
  /** Whether a process ends when it is told to drain. */
  readonly isDraining?: boolean
}

/** A supervisor of simulated processes, and what happened to them, in order. */
const supervised = Effect.fnUntraced(function* (
  count: number,
  { isDraining = true, isReady = () => true }: Behavior = {}
) {
  const events: Array<string> = []
  const forked: Array<{
    readonly end: (how: string) => void
    readonly listen: () => void
    readonly refuse: (message: string) => void
  }> = []
  const fork = (isFirst: boolean): Effect.Effect<WorkerProcess> =>
    Effect.sync(() => {
      const pid = forked.length + 1
      const ready = Deferred.makeUnsafe<ReadyMessage, CommandFailed>()
      const ended = Deferred.makeUnsafe<string>()
      const end = (how: string) => void Deferred.doneUnsafe(ended, Effect.succeed(how))
      const listen = () => {
        events.push(`${pid} listens`)
        Deferred.doneUnsafe(ready, Effect.succeed(host))
      }
      const refuse = (message: string) => {
        Deferred.doneUnsafe(ready, Effect.fail(new CommandFailed({ message })))
        end("exit code 0")
      }
      events.push(`${pid} starts${isFirst ? " first" : ""}`)
      forked.push({ end, listen, refuse })
      if (isReady(pid)) listen()
      return {
        pid,
        ready: Deferred.await(ready),
        ended: Deferred.await(ended),
        handOver: () => assert.fail("no connection comes"),
        drain: Effect.sync(() => {
          events.push(`${pid} drains`)
          if (isDraining) end("exit code 0")
        }),
        kill: Effect.sync(() => {
          events.push(`${pid} is killed`)
          end("signal SIGKILL")
        }),
        metrics: Effect.void,
        reported: () => new Map()
      }
    })
  const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
  const workers = yield* Workers.make({ fork, onReady: () => {}, onStopping: () => {}, onEnded: () => {} }).pipe(
    Scope.provide(scope)
  )
  /** The number of the process in starting order, from 1. */
  const nth = (n: number) => forked[n - 1] ?? assert.fail(`Process ${n} has not started`)
  return { ...Supervisor.make(count, workers), events, nth, close: Scope.close(scope, Exit.void) }
})

/** Runs everything that is not waiting. */
const settle = TestClock.adjust(0)

describe("a supervisor", () => {
  it.effect("starts the other processes only once the first process listens", () =>
    Effect.gen(function* () {
      const { events, nth, start } = yield* supervised(3, { isReady: (n) => n > 1 })
      const starting = yield* Effect.forkChild(start)
      yield* settle
      assert.deepStrictEqual(events, ["1 starts first"])
      nth(1).listen()
      assert.deepStrictEqual(yield* Fiber.join(starting), host)
      assert.deepStrictEqual(events.slice(1), ["1 listens", "2 starts", "2 listens", "3 starts", "3 listens"])
    })
  )

  it.effect("fails with the error message of a process that cannot start", () =>
    Effect.gen(function* () {
      const { close, events, nth, start } = yield* supervised(2, { isReady: (n) => n === 1 })
      const starting = yield* Effect.forkChild(start)
      yield* settle
      nth(2).refuse("There are too many connections.")
      const failure = yield* Effect.flip(Fiber.join(starting))
      assert.strictEqual(failure.message, "There are too many connections.")
      yield* close
      assert.include(events, "1 drains")
    })
  )

  it.effect("reports how a process exited if the process was never ready", () =>
    Effect.gen(function* () {
      const { nth, start } = yield* supervised(1, { isReady: () => false })
      const starting = yield* Effect.forkChild(start)
      yield* settle
      nth(1).end("signal SIGKILL")
      const failure = yield* Effect.flip(Fiber.join(starting))
      assert.strictEqual(failure.message, "A process ended with signal SIGKILL before it was ready.")
    })
  )

  it.effect("replaces an exited process after growing pauses until a process keeps running", () =>
    Effect.gen(function* () {
      const { events, keep, nth, start } = yield* supervised(2)
      yield* start
      yield* Effect.forkChild(keep)
      const newest = () => events.filter((event) => event.includes("starts")).length
      /** How long it takes until the latest process is replaced, in steps of 100 ms. */
      const replacing = Effect.fnUntraced(function* () {
        const before = newest()
        nth(before).end("exit code 1")
        yield* settle
        let waitedMs = 0
        for (; newest() === before; waitedMs += 100) yield* TestClock.adjust(100)
        return waitedMs
      })
      const first = yield* replacing()
      const second = yield* replacing()
      const third = yield* replacing()
      assert.isAbove(first, 0)
      assert.isAbove(second, first)
      assert.isAbove(third, second)
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(yield* replacing(), first)
    })
  )

  it.effect("keeps the pauses between restarts even if the wall clock jumps", () =>
    Effect.gen(function* () {
      let aheadMs = 0
      const clock = yield* Clock.Clock
      const millis = () => clock.currentTimeMillisUnsafe() + aheadMs
      const jumping = { ...clock, currentTimeMillisUnsafe: millis, currentTimeMillis: Effect.sync(millis) }
      const { events, keep, nth, start } = yield* supervised(1)
      yield* start
      yield* Effect.forkChild(Effect.provideService(keep, Clock.Clock, jumping))
      const newest = () => events.filter((event) => event.includes("starts")).length
      const waits: Array<number> = []
      for (const byMs of [3_600_000, 3_600_000, -86_400_000]) {
        const before = newest()
        aheadMs += byMs
        nth(before).end("exit code 1")
        yield* settle
        let waitedMs = 0
        for (; newest() === before; waitedMs += 100) yield* TestClock.adjust(100)
        waits.push(waitedMs)
      }
      assert.deepStrictEqual(waits, [100, 200, 400])
    })
  )

  it.effect("exits if every process keeps exiting", () =>
    Effect.gen(function* () {
      const { keep, nth, start } = yield* supervised(2, { isReady: (n) => n <= 2 })
      yield* start
      const keeping = yield* Effect.forkChild(Effect.flip(keep))
      for (let n = 1; keeping.pollUnsafe() === undefined; n++) {
        nth(n).end("exit code 7")
        yield* TestClock.adjust("10 seconds")
      }
      assert.include((yield* Fiber.join(keeping)).message, "exit code 7")
    })
  )

  it.effect("does not exit while at least one process keeps running", () =>
    Effect.gen(function* () {
      const { keep, nth, start } = yield* supervised(2, { isReady: (n) => n <= 2 })
      yield* start
      const keeping = yield* Effect.forkChild(keep)
      for (let n = 2; n < 50; n++) {
        nth(n).end("exit code 7")
        yield* TestClock.adjust("10 seconds")
      }
      assert.isUndefined(keeping.pollUnsafe())
    })
  )

  it.effect("restarts one process at a time, and drains the old process only once the new process listens", () =>
    Effect.gen(function* () {
      const { events, keep, nth, restart, start } = yield* supervised(2, { isReady: (n) => n !== 3 })
      yield* start
      yield* Effect.forkChild(keep)
      const before = events.length
      const restarting = yield* Effect.forkChild(restart)
      yield* settle
      assert.deepStrictEqual(events.slice(before), ["3 starts"])
      nth(3).listen()
      yield* Fiber.join(restarting)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(events.slice(before + 1), ["3 listens", "1 drains", "4 starts", "4 listens", "2 drains"])
    })
  )

  it.effect("aborts a restart if the new process cannot start, and keeps the other processes", () =>
    Effect.gen(function* () {
      const { events, keep, nth, restart, start } = yield* supervised(2, { isReady: (n) => n <= 2 })
      yield* start
      const keeping = yield* Effect.forkChild(keep)
      const restarting = yield* Effect.forkChild(restart)
      yield* settle
      nth(3).refuse("The configuration is wrong.")
      yield* Fiber.join(restarting)
      yield* TestClock.adjust("1 minute")
      assert.notInclude(events, "1 drains")
      assert.notInclude(events, "2 drains")
      assert.isUndefined(keeping.pollUnsafe())
    })
  )

  it.effect("replaces a process only once, even if the process exits during a restart", () =>
    Effect.gen(function* () {
      const { events, keep, nth, restart, start } = yield* supervised(1, { isReady: (n) => n === 1 })
      yield* start
      yield* Effect.forkChild(keep)
      const restarting = yield* Effect.forkChild(restart)
      yield* settle
      nth(1).end("signal SIGKILL")
      yield* TestClock.adjust("30 seconds")
      nth(2).listen()
      yield* Fiber.join(restarting)
      yield* TestClock.adjust("30 seconds")
      assert.notInclude(events, "3 starts")
    })
  )

  it.effect("tells all processes to stop together, and kills each process that does not exit", () =>
    Effect.gen(function* () {
      const { close, events, nth, start } = yield* supervised(3, { isDraining: false })
      yield* start
      const closing = yield* Effect.forkChild(close)
      yield* settle
      assert.deepStrictEqual(events.slice(-3), ["1 drains", "2 drains", "3 drains"])
      nth(2).end("exit code 0")
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(closing)
      assert.deepStrictEqual(events.slice(-2), ["1 is killed", "3 is killed"])
    })
  )
})
