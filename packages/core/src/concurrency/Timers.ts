import { type Clock, Duration, Effect, type Fiber } from "effect"
import * as Monotonic from "./Monotonic.ts"

interface Timer {
  readonly at_ms: number
  readonly run: () => void
}

/**
 * The timers of one clock. They share one sleeping fiber, so that starting and stopping a timer is cheap
 * (docs/decisions/tuning.md). That suits time limits: many run at once, and few of them are ever reached.
 */
class Timers {
  private readonly clock: Clock.Clock
  private readonly timers = new Set<Timer>()
  private sleeper: Fiber.Fiber<void> | null = null
  private wakes_at_ms = Number.POSITIVE_INFINITY

  constructor(clock: Clock.Clock) {
    this.clock = clock
  }

  start(ms: number, run: () => void): () => void {
    const timer: Timer = { at_ms: Monotonic.millisOf(this.clock) + ms, run }
    this.timers.add(timer)
    if (timer.at_ms < this.wakes_at_ms) this.sleepUntil(timer.at_ms)
    return () => {
      this.timers.delete(timer)
      if (this.timers.size === 0) this.sleepUntil(Number.POSITIVE_INFINITY)
    }
  }

  private sleepUntil(at_ms: number): void {
    this.wakes_at_ms = at_ms
    this.sleeper?.interruptUnsafe()
    this.sleeper = Number.isFinite(at_ms) ? Effect.runFork(this.sleep) : null
  }

  private readonly sleep = Effect.suspend(() => {
    const ms = Math.max(0, this.wakes_at_ms - Monotonic.millisOf(this.clock))
    return Effect.map(this.clock.sleep(Duration.millis(ms)), () => this.wake())
  })

  private wake(): void {
    this.sleeper = null
    this.wakes_at_ms = Number.POSITIVE_INFINITY
    const now = Monotonic.millisOf(this.clock)
    const due = [...this.timers].filter(({ at_ms }) => at_ms <= now)
    for (const timer of due) {
      // One of the earlier timers may have stopped this one.
      if (this.timers.delete(timer)) timer.run()
    }
    let next = Number.POSITIVE_INFINITY
    for (const { at_ms } of this.timers) next = Math.min(next, at_ms)
    if (next < this.wakes_at_ms) this.sleepUntil(next)
  }
}

const timersOf = new WeakMap<Clock.Clock, Timers>()

/**
 * Runs a function once this many milliseconds of the clock's time have passed. The function must not throw. Returns a
 * function that stops the timer.
 */
export const start = (clock: Clock.Clock, ms: number, run: () => void): (() => void) => {
  const timers = timersOf.get(clock) ?? new Timers(clock)
  timersOf.set(clock, timers)
  return timers.start(ms, run)
}
