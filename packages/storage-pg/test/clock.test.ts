import { assert, describe, it } from "@effect/vitest"
import { PgStorage } from "@quotewire/storage-pg"
import { Clock, Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import { scopedDatabase } from "../../../test/support/TestDatabase.ts"
import { eventuallyIn } from "./support/hosts.ts"

/** The clock that a storage backend provides. */
const clockOf = (options: PgStorage.Options) =>
  Effect.map(Layer.build(PgStorage.layerWithClock(options)), Context.get(Clock.Clock))

/** A machine's clock that can be set and stopped. */
const movableClock = () => {
  const right = Clock.Clock.defaultValue()
  const own = { wall_ms: 0, monotonic_ms: 0 }
  const millis = () => right.currentTimeMillisUnsafe() + own.wall_ms
  const nanos = () => BigInt(millis()) * 1_000_000n
  const monotonic = () => right.monotonicTimeNanosUnsafe() + BigInt(own.monotonic_ms) * 1_000_000n
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: monotonic,
    monotonicTimeNanos: Effect.sync(monotonic),
    sleep: (duration) => right.sleep(duration)
  }
  return Object.assign(own, { clock })
}

const toMillis = (clock: Clock.Clock) => Number(clock.currentTimeNanosUnsafe() / 1_000_000n)

/** The database runs on this machine and has its time. A wrong clock is off by more than this. */
const nearMs = 10_000
const isNear = (clock: Clock.Clock) => Math.abs(clock.currentTimeMillisUnsafe() - Date.now()) < nearMs

describe("a host that uses its database's clock", () => {
  it.effect("has the database's time, whatever the host's own clock says", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Clock.currentTimeMillis, 0)
      const clock = yield* clockOf((yield* scopedDatabase).options)
      assert.isTrue(isNear(clock))
      assert.isAtMost(Math.abs(toMillis(clock) - clock.currentTimeMillisUnsafe()), nearMs)
    })
  )

  it.effect("is not affected by jumps of its own clock", () =>
    Effect.gen(function* () {
      const jump = fc.integer({ min: -86_400_000, max: 86_400_000 })
      const { options } = yield* scopedDatabase
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(fc.array(jump, { minLength: 1, maxLength: 5 }), (jumps) =>
            Effect.runPromise(
              Effect.gen(function* () {
                const own = movableClock()
                const clock = yield* clockOf(options).pipe(Effect.provideService(Clock.Clock, own.clock))
                for (const byMs of jumps) {
                  own.wall_ms += byMs
                  assert.isTrue(isNear(clock))
                  assert.isAtMost(Math.abs(toMillis(clock) - clock.currentTimeMillisUnsafe()), nearMs)
                }
              }).pipe(Effect.scoped)
            )
          ),
          { numRuns: 10 }
        )
      )
    })
  )

  it.effect("asks the database for the time immediately when its machine resumes from suspension", () =>
    Effect.gen(function* () {
      const { options } = yield* scopedDatabase
      const own = movableClock()
      const clock = yield* clockOf(options).pipe(Effect.provideService(Clock.Clock, own.clock))
      // While a machine sleeps, its monotonic clock and its timers stop.
      own.monotonic_ms -= 3_600_000
      yield* eventuallyIn(20_000, () => isNear(clock))
    })
  )

  it.effect("has the right time again within a minute after all its machine's clocks were wrong", () =>
    Effect.gen(function* () {
      const clock = yield* clockOf((yield* scopedDatabase).options)
      yield* TestClock.adjust("1 hour")
      // A comparison may have been in progress when the clock jumped. It proves nothing, but the next one does.
      for (let minutes = 0; minutes < 20 && !isNear(clock); minutes++) {
        yield* TestClock.adjust("1 minute")
        yield* Effect.exit(eventuallyIn(1_000, () => isNear(clock)))
      }
      assert.isTrue(isNear(clock))
    })
  )

  it.live("keeps its own time if that matches the database's", () =>
    Effect.gen(function* () {
      const clock = yield* clockOf((yield* scopedDatabase).options)
      const before = Date.now()
      const now = clock.currentTimeMillisUnsafe()
      assert.isAtLeast(now, before)
      assert.isAtMost(now, Date.now())
    })
  )
})
