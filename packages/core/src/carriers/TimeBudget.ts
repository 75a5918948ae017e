import { Clock, Context, Effect, Latch } from "effect"
import * as Monotonic from "../concurrency/Monotonic.ts"
import { secondMs } from "../wire/Timestamp.ts"

/*
 * The time that a call to a carrier takes. Time spent waiting inside this service, such as for a free connection, does
 * not count against the carrier.
 */

/**
 * The longest that a call waits inside this service, in milliseconds. This wait and the longest attempt together are
 * shorter than a job's lease.
 */
export const maxWaitMs = 10 * secondMs

/** How long a call may take, in milliseconds. */
export interface Limit {
  /** The carrier's time. Waits inside this service do not count. */
  readonly millis: number
  /** The total time including waits, of which at most half may be spent waiting; unlimited by default. */
  readonly total_ms?: number
}

/** The time budget of one call. A nested call, such as a request within an attempt, has its own budget. */
class TimeBudget {
  readonly limit: Limit
  readonly outer: TimeBudget | null
  private readonly clock: Clock.Clock
  private readonly began: number
  private readonly going = Latch.makeUnsafe(true)
  private waits = 0
  private wait_began = 0
  private waited_ms = 0

  constructor(limit: Limit, outer: TimeBudget | null, clock: Clock.Clock) {
    this.limit = limit
    this.outer = outer
    this.clock = clock
    this.began = this.now
  }

  private get now(): number {
    return Monotonic.millisOf(this.clock)
  }

  private get all_waited_ms(): number {
    return this.waited_ms + (this.waits > 0 ? this.now - this.wait_began : 0)
  }

  get left_ms(): number {
    const takenMs = this.now - this.began
    const { millis, total_ms = Number.POSITIVE_INFINITY } = this.limit
    return Math.min(millis - (takenMs - this.all_waited_ms), total_ms - takenMs)
  }

  /** How much longer this call may wait inside the service, in milliseconds. */
  get wait_left_ms(): number {
    const { total_ms = Number.POSITIVE_INFINITY } = this.limit
    const ownMs = Math.max(0, Math.min(maxWaitMs, total_ms / 2) - this.all_waited_ms)
    return this.outer === null ? ownMs : Math.min(ownMs, this.outer.wait_left_ms)
  }

  readonly over: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    while (true) {
      yield* this.going.await
      const { left_ms } = this
      if (left_ms <= 0) return
      yield* Effect.sleep(left_ms)
    }
  })

  beginWait(): void {
    if (this.waits === 0) {
      this.wait_began = this.now
      this.going.closeUnsafe()
    }
    this.waits += 1
    this.outer?.beginWait()
  }

  endWait(): void {
    this.waits -= 1
    if (this.waits === 0) {
      this.waited_ms += this.now - this.wait_began
      this.going.openUnsafe()
    }
    this.outer?.endWait()
  }
}

const Current = Context.Reference<TimeBudget | null>("@quotewire/core/CurrentTimeBudget", { defaultValue: () => null })

/** Runs a call within a limit. If the call exceeds the limit, interrupts it and runs `orElse`. */
export const withinLimit =
  <A2, E2, R2>(limit: Limit, orElse: () => Effect.Effect<A2, E2, R2>) =>
  <A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A | A2, E | E2, R | R2> =>
    Effect.flatMap(Effect.all([Clock.Clock, Current]), ([clock, outer]) => {
      const time = new TimeBudget(limit, outer, clock)
      const late = Effect.as(time.over, null)
      return Effect.raceFirst(
        Effect.map(Effect.provideService(call, Current, time), (value) => ({ value })),
        late
      ).pipe(
        Effect.flatMap(
          (result): Effect.Effect<A | A2, E2, R2> => (result === null ? orElse() : Effect.succeed(result.value))
        )
      )
    })

/** How much time the innermost call has left, in milliseconds; unlimited outside a call. */
export const leftMs: Effect.Effect<number> = Effect.map(Current, (time) => time?.left_ms ?? Number.POSITIVE_INFINITY)

/**
 * Waits for something inside this service without counting the wait against the carrier. If the wait takes too long,
 * interrupts it and runs `orElse`.
 */
export const uncounted =
  <A2, E2, R2>(orElse: () => Effect.Effect<A2, E2, R2>) =>
  <A, E, R>(wait: Effect.Effect<A, E, R>): Effect.Effect<A | A2, E | E2, R | R2> =>
    Current.use((time) =>
      Effect.acquireUseRelease(
        Effect.sync(() => time?.beginWait()),
        () => Effect.timeoutOrElse(wait, { duration: time?.wait_left_ms ?? maxWaitMs, orElse }),
        () => Effect.sync(() => time?.endWait())
      )
    )
