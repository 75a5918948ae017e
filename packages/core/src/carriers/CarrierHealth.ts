import { minute_ms } from "../wire/Timestamp.ts"

/** The recent record of a carrier on one line, for its circuit breaker and its rate limit. */
export interface CarrierHealth {
  /** Whether each of the most recent asks ended in an error, oldest first. */
  readonly errors: ReadonlyArray<boolean>
  /** Until when the circuit is open, in milliseconds. */
  readonly open_until: number
  /** When the asks of the last minute began. */
  readonly asks: ReadonlyArray<number>
  /** How many asks are running now. */
  readonly running: number
}

/** The circuit opens when half of this many recent asks were errors. */
const window_asks = 20
const open_ms = minute_ms

/** The health of a carrier that was not asked yet. */
export const unknown: CarrierHealth = { errors: [], open_until: Number.NEGATIVE_INFINITY, asks: [], running: 0 }

/** Whether the circuit is open, so that the carrier is not asked now. */
export const isOpen = (health: CarrierHealth, now: number): boolean => now < health.open_until

/** Whether one more ask may begin within the carrier's limits. */
export const hasRoom = (
  health: CarrierHealth,
  limits: { readonly max_concurrent: number; readonly rate_per_minute: number },
  now: number
): boolean =>
  health.running < limits.max_concurrent &&
  health.asks.filter((at) => at > now - minute_ms).length < limits.rate_per_minute

/** How long until the rate limit has room for another ask; 0 if it has room now, or if only running asks are in the way. */
export const retryAfter = (
  health: CarrierHealth,
  limits: { readonly rate_per_minute: number },
  now: number
): number => {
  const asks = health.asks.filter((at) => at > now - minute_ms)
  const first = asks[asks.length - limits.rate_per_minute]
  return first === undefined ? 0 : first + minute_ms - now
}

/** The health after an ask has begun. */
export const afterBegin = (health: CarrierHealth, now: number): CarrierHealth => ({
  ...health,
  asks: [...health.asks.filter((at) => at > now - minute_ms), now],
  running: health.running + 1
})

/** The health after an ask has ended, with whatever result. */
export const afterEnd = (health: CarrierHealth): CarrierHealth => ({ ...health, running: health.running - 1 })

/** The health after the result of an ask. When the circuit opens, the count of errors restarts. */
export const afterResult = (health: CarrierHealth, error: boolean, now: number): CarrierHealth => {
  const errors = [...health.errors, error].slice(-window_asks)
  const opens = errors.length === window_asks && 2 * errors.filter(Boolean).length >= window_asks
  return { ...health, errors: opens ? [] : errors, open_until: opens ? now + open_ms : health.open_until }
}
