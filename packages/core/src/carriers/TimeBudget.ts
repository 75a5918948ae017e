import { Clock, Context, Effect, Fiber } from "effect"
import * as Monotonic from "../concurrency/Monotonic.ts"
import * as Timers from "../concurrency/Timers.ts"
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
  private onOver: (() => void) | null = null
  private stopTimer: () => void = () => {}
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

  /** Calls a function when the time is up, unless the call ends before that. */
  begin(onOver: () => void): void {
    this.onOver = onOver
    if (this.waits === 0) this.startTimer()
  }

  end(): void {
    this.onOver = null
    this.stopTimer()
  }

  private startTimer(): void {
    this.stopTimer = Timers.start(this.clock, Math.max(0, this.left_ms), () => {
      if (this.left_ms > 0) this.startTimer()
      else this.onOver?.()
    })
  }

  beginWait(): void {
    if (this.waits === 0) {
      this.wait_began = this.now
      this.stopTimer()
    }
    this.waits += 1
    this.outer?.beginWait()
  }

  endWait(): void {
    this.waits -= 1
    if (this.waits === 0) {
      this.waited_ms += this.now - this.wait_began
      if (this.onOver !== null) this.startTimer()
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
      const start = (onOver: () => void) => {
        time.begin(onOver)
        return () => time.end()
      }
      return until(start, orElse)(Effect.provideService(call, Current, time))
    })

/**
 * Runs a call until a timer goes off. Then interrupts the call and runs `orElse`. `start` starts the timer, and returns
 * a function that stops it.
 */
const until =
  <A2, E2, R2>(start: (onOver: () => void) => () => void, orElse: () => Effect.Effect<A2, E2, R2>) =>
  <A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A | A2, E | E2, R | R2> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.forkChild(restore(call), { startImmediately: true }), (fiber) => {
        let isOver = false
        const stop = start(() => {
          isOver = true
          fiber.interruptUnsafe()
        })
        return restore(Fiber.await(fiber)).pipe(
          Effect.onInterrupt(() => Fiber.interrupt(fiber)),
          Effect.ensuring(Effect.sync(stop)),
          Effect.flatMap((exit): Effect.Effect<A | A2, E | E2, R2> => (isOver ? restore(orElse()) : exit))
        )
      })
    )

/** How much time the innermost call has left, in milliseconds; unlimited outside a call. */
export const leftMs: Effect.Effect<number> = Effect.map(Current, (time) => time?.left_ms ?? Number.POSITIVE_INFINITY)

/**
 * Waits for something inside this service without counting the wait against the carrier. If the wait takes too long,
 * interrupts it and runs `orElse`.
 */
export const uncounted =
  <A2, E2, R2>(orElse: () => Effect.Effect<A2, E2, R2>) =>
  <A, E, R>(wait: Effect.Effect<A, E, R>): Effect.Effect<A | A2, E | E2, R | R2> =>
    Effect.flatMap(Effect.all([Clock.Clock, Current]), ([clock, time]) =>
      Effect.acquireUseRelease(
        Effect.sync(() => time?.beginWait()),
        () => until((onOver) => Timers.start(clock, time?.wait_left_ms ?? maxWaitMs, onOver), orElse)(wait),
        () => Effect.sync(() => time?.endWait())
      )
    )

/**
 * Waits until a function that `begin` receives is called, as `uncounted` does. If the wait takes too long, runs `orElse`.
 */
export const uncountedUntil = <E>(begin: (resume: () => void) => void, orElse: () => Effect.Effect<never, E>) =>
  Effect.flatMap(Effect.all([Clock.Clock, Current]), ([clock, time]) =>
    Effect.acquireUseRelease(
      Effect.sync(() => time?.beginWait()),
      () =>
        Effect.callback<void, E>((resume) => {
          const stop = Timers.start(clock, time?.wait_left_ms ?? maxWaitMs, () => resume(orElse()))
          begin(() => {
            stop()
            resume(Effect.void)
          })
          return Effect.sync(stop)
        }),
      () => Effect.sync(() => time?.endWait())
    )
  )
