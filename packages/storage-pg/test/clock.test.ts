import { assert, describe, it } from "@effect/vitest"
import { PgStorage } from "@quotewire/storage-pg"
import { Clock, Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import { movableClock } from "../../../test/support/clocks.ts"
import { inRealTime, until } from "../../../test/support/eventually.ts"
import { scopedDatabase } from "../../../test/support/TestDatabase.ts"

/** The clock that a storage backend provides. */
const clockOf = (options: PgStorage.Options) =>
  Effect.map(Layer.build(PgStorage.layerWithClock(options)), Context.get(Clock.Clock))

const toMillis = (clock: Clock.Clock) => Number(clock.currentTimeNanosUnsafe() / 1_000_000n)

/** The database runs on this machine and has its time. A wrong clock is off by more than this. */
const nearMs = 10_000
const isNear = (clock: Clock.Clock) => Math.abs(clock.currentTimeMillisUnsafe() - Date.now()) < nearMs

describe("a host that uses its database's clock", () => {
  it.effect("uses the database's time, whatever its own clock says", () =>
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
                const clock = yield* clockOf(options).pipe(Effect.provideService(Clock.Clock, own))
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

  it.effect("asks the database for the time as soon as its machine resumes from suspension", () =>
    Effect.gen(function* () {
      const { options } = yield* scopedDatabase
      const own = movableClock()
      const clock = yield* clockOf(options).pipe(Effect.provideService(Clock.Clock, own))
      // While a machine sleeps, its monotonic clock and its timers stop.
      own.monotonic_ms -= 3_600_000
      yield* until(() => isNear(clock))
    })
  )

  it.effect("has the right time within a minute after all clocks on its machine were wrong", () =>
    Effect.gen(function* () {
      const clock = yield* clockOf((yield* scopedDatabase).options)
      yield* TestClock.adjust("1 hour")
      // A comparison may have been in progress when the clock jumped. It proves nothing, but the next one does.
      const compared = inRealTime(
        Effect.timeoutOption(
          until(() => isNear(clock)),
          "1 second"
        )
      )
      while (!isNear(clock)) yield* Effect.andThen(TestClock.adjust("1 minute"), compared)
    })
  )

  it.live("uses its own clock if the clock matches the database's time", () =>
    Effect.gen(function* () {
      const clock = yield* clockOf((yield* scopedDatabase).options)
      const before = Date.now()
      const now = clock.currentTimeMillisUnsafe()
      assert.isAtLeast(now, before)
      assert.isAtMost(now, Date.now())
    })
  )
})
