import { assert, describe, it } from "@effect/vitest"
import { PgStorage } from "@quotewire/storage-pg"
import { Clock, Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { scopedDatabase } from "../../../test/support/TestDatabase.ts"
import { eventuallyIn } from "./support/hosts.ts"

/** The clock that a storage gives to those it is provided to. */
const clockOf = Effect.gen(function* () {
  const { options } = yield* scopedDatabase
  return Context.get(yield* Layer.build(PgStorage.layerWithClock(options)), Clock.Clock)
})

/** The database runs on this machine, so its time is the machine's; a clock that is off is off by more than this. */
const near_ms = 10_000
const isNear = (clock: Clock.Clock) => Math.abs(clock.currentTimeMillisUnsafe() - Date.now()) < near_ms

describe("a host that uses the clock of its database", () => {
  it.effect("has the database's time, whatever its own clock says", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Clock.currentTimeMillis, 0)
      const clock = yield* clockOf
      assert.isTrue(isNear(clock))
      const nanos = Number(clock.currentTimeNanosUnsafe() / 1_000_000n)
      assert.isAtMost(Math.abs(nanos - clock.currentTimeMillisUnsafe()), near_ms)
    })
  )

  it.effect("is right again within a minute after its own clock has jumped", () =>
    Effect.gen(function* () {
      const clock = yield* clockOf
      yield* TestClock.adjust("1 hour")
      assert.isFalse(isNear(clock))
      // A comparison may have been under way when the clock jumped: it says nothing, and the next one does.
      for (let minutes = 0; minutes < 20 && !isNear(clock); minutes++) {
        yield* TestClock.adjust("1 minute")
        yield* Effect.exit(eventuallyIn(1_000, () => isNear(clock)))
      }
      assert.isTrue(isNear(clock))
    })
  )

  it.live("keeps its own time if it is the database's", () =>
    Effect.gen(function* () {
      const clock = yield* clockOf
      const before = Date.now()
      const now = clock.currentTimeMillisUnsafe()
      assert.isAtLeast(now, before)
      assert.isAtMost(now, Date.now())
    })
  )
})
