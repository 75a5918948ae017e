import { Monotonic, type Storage } from "@quotewire/core"
import { Clock, Effect, Queue, Schema, type Scope } from "effect"
import type { Database, PlacedDatabase } from "./Database.ts"

/** How often a host compares its clock with the database's, in milliseconds. */
const compareEveryMs = 60_000
/** How often a host compares clocks while comparisons fail, in milliseconds. */
const compareAgainMs = 1_000
/**
 * If a host's clock differs from the database's by less than this, the host keeps its own time, in milliseconds.
 * Synchronized clocks are closer than this.
 */
const toleranceMs = 100

const now = "select (extract(epoch from clock_timestamp()) * 1000)::float8 as now"
const NowRow = Schema.Struct({ now: Schema.Number })
const decodeNow = Schema.decodeUnknownSync(Schema.NonEmptyArray(NowRow))

/** Measures how far a clock is behind the database's, and how uncertain that is, both in milliseconds. */
const compare = Effect.fnUntraced(function* (database: Database, millis: () => number) {
  const startedMs = millis()
  const [row] = decodeNow(yield* database.read(now, []))
  const endedMs = millis()
  return { behind_ms: Math.round(row.now - (startedMs + endedMs) / 2), doubt_ms: (endedMs - startedMs) / 2 }
})

/** Creates a clock that follows the monotonic clock and ignores jumps of the wall clock. */
const steady = (programClock: Clock.Clock, onJump: () => void) => {
  const lead = () => programClock.currentTimeMillisUnsafe() - Monotonic.millisOf(programClock)
  let leadMs = lead()
  let correctionMs = 0
  let base = { nanos: 0n, monotonic: 0n }

  const correct = (byMs: number) => {
    correctionMs += byMs
    const millis = programClock.currentTimeMillisUnsafe() + correctionMs
    base = { nanos: BigInt(millis) * 1_000_000n, monotonic: programClock.monotonicTimeNanosUnsafe() }
  }
  correct(0)

  /** Follows small corrections of the wall clock, but undoes larger jumps. */
  const millis = (): number => {
    const jumpMs = Math.round(lead() - leadMs)
    if (Math.abs(jumpMs) > toleranceMs) {
      leadMs += jumpMs
      correct(-jumpMs)
      onJump()
    }
    return programClock.currentTimeMillisUnsafe() + correctionMs
  }
  const nanos = (): bigint => {
    millis()
    return base.nanos + programClock.monotonicTimeNanosUnsafe() - base.monotonic
  }
  return { millis, nanos, correct, correction_ms: () => correctionMs }
}

/**
 * Creates a clock that shows the database's time. It is the host's own clock, corrected at startup, every minute, and
 * after a move of the database.
 *
 * The clock does not jump when the host's wall clock does. After the machine was suspended, the clock immediately asks
 * the database, and is behind until the response arrives. While the database is unavailable, the clock keeps the last
 * correction.
 */
export const make = Effect.fnUntraced(function* (
  database: PlacedDatabase
): Effect.fn.Return<Clock.Clock, Storage.StorageUnavailable, Scope.Scope> {
  const programClock = yield* Clock.Clock
  const jumped = yield* Queue.sliding<void>(1)
  const { correct, correction_ms, millis, nanos } = steady(programClock, () => Queue.offerUnsafe(jumped, undefined))
  let loggedMs = 0

  const correctNow = Effect.gen(function* () {
    const { behind_ms, doubt_ms } = yield* compare(database, millis)
    if (Math.abs(behind_ms) > toleranceMs + doubt_ms) correct(behind_ms)
    if (Math.abs(correction_ms() - loggedMs) <= toleranceMs) return
    loggedMs = correction_ms()
    yield* Effect.logWarning("This host's clock is off; using the database's time").pipe(
      Effect.annotateLogs({ behind_ms: loggedMs })
    )
  })
  yield* database.atEachPlace(() => correctNow)
  const repeatAfter = (afterMs: number): Effect.Effect<never> =>
    Effect.timeoutOption(Queue.take(jumped), afterMs).pipe(
      Effect.andThen(Effect.isSuccess(correctNow)),
      Effect.flatMap((isCompared) => repeatAfter(isCompared ? compareEveryMs : compareAgainMs))
    )
  yield* Effect.forkScoped(Effect.provideService(repeatAfter(compareEveryMs), Clock.Clock, programClock))

  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: () => programClock.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: programClock.monotonicTimeNanos,
    sleep: (duration) => programClock.sleep(duration)
  }
})
