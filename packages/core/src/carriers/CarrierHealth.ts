import { minute_ms } from "../wire/Timestamp.ts"

/** The calls to a carrier on one line that count against its limits. */
export interface CarrierHealth {
  /** When the asks of the last minute began. */
  readonly asks: ReadonlyArray<number>
  /** How many asks are running now. */
  readonly running: number
}

/** The limits that a carrier declares for a line. */
export interface RateAndConcurrency {
  readonly rate_per_minute: number
  readonly max_concurrent: number
}

/** The health of a carrier that was not asked yet. */
export const unknown: CarrierHealth = { asks: [], running: 0 }

/** Whether one more ask may begin within the carrier's limits. */
export const hasRoom = (health: CarrierHealth, limits: RateAndConcurrency, now: number): boolean =>
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
export const afterEnd = (health: CarrierHealth): CarrierHealth => ({
  ...health,
  running: Math.max(0, health.running - 1)
})
