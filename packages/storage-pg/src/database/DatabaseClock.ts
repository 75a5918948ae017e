import type { Storage } from "@quotewire/core"
import { Clock, Effect, Schema, type Scope } from "effect"
import type { Database, PlacedDatabase } from "./Database.ts"

/** How often a host compares its clock with the database's, in milliseconds. */
export const compare_every_ms = 60_000
/** A host whose clock is off by less keeps its own time. Synchronized clocks differ by no more. */
const tolerance_ms = 100

const now = "select (extract(epoch from clock_timestamp()) * 1000)::float8 as now"
const NowRow = Schema.Struct({ now: Schema.Number })
const decodeNow = Schema.decodeUnknownSync(Schema.NonEmptyArray(NowRow))

/** How far a clock is behind the database's, and the possible error of that, both in milliseconds. */
const compare = Effect.fnUntraced(function* (database: Database, clock: Clock.Clock) {
  const before = clock.currentTimeMillisUnsafe()
  const [row] = decodeNow(yield* database.read(now, []))
  const after = clock.currentTimeMillisUnsafe()
  return { behind_ms: Math.round(row.now - (before + after) / 2), doubt_ms: (after - before) / 2 }
})

/**
 * A clock with the database's time: the host's own, corrected when this is made, every minute, and when the database has moved.
 *
 * While the database is unavailable it keeps the last correction.
 */
export const make = Effect.fnUntraced(function* (
  database: PlacedDatabase
): Effect.fn.Return<Clock.Clock, Storage.StorageUnavailable, Scope.Scope> {
  const own = yield* Clock.Clock
  let correction_ms = 0

  const correct = Effect.gen(function* () {
    const { behind_ms, doubt_ms } = yield* compare(database, own)
    if (Math.abs(behind_ms - correction_ms) <= tolerance_ms + doubt_ms) return
    correction_ms = behind_ms
    yield* Effect.logWarning("This host's clock differs from the database's; the database's time is used").pipe(
      Effect.annotateLogs({ behind_ms })
    )
  })
  yield* database.atEachPlace(() => correct)
  yield* Effect.sleep(compare_every_ms).pipe(
    Effect.andThen(Effect.ignore(correct)),
    Effect.forever,
    Effect.provideService(Clock.Clock, own),
    Effect.forkScoped
  )

  const millis = () => own.currentTimeMillisUnsafe() + correction_ms
  const nanos = () => own.currentTimeNanosUnsafe() + BigInt(correction_ms) * 1_000_000n
  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: () => own.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: own.monotonicTimeNanos,
    sleep: (duration) => own.sleep(duration)
  }
})
