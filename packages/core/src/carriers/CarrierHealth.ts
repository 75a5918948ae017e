import { minute_ms } from "../wire/Timestamp.ts"

/** How a carrier has done on one line lately: what its circuit breaker and its rate limit know. */
export interface CarrierHealth {
  /** Whether each of the last asks ended in an error, oldest first. */
  readonly errors: ReadonlyArray<boolean>
  /** The carrier is not asked before this moment: milliseconds. */
  readonly open_until: number
  /** When the asks of the last minute began. */
  readonly asks: ReadonlyArray<number>
  /** How many asks are running now. */
  readonly running: number
}

/** A breaker looks at this many asks, and opens for this long where half of them were errors. */
const watched_asks = 20
const open_ms = minute_ms

/** A carrier of which nothing is known yet. */
export const unknown: CarrierHealth = { errors: [], open_until: Number.NEGATIVE_INFINITY, asks: [], running: 0 }

/** Whether the circuit is open: the carrier is not asked now. */
export const isOpen = (health: CarrierHealth, now: number): boolean => now < health.open_until

/** Whether one more ask may begin within the carrier's limits. */
export const hasRoom = (
  health: CarrierHealth,
  limits: { readonly max_concurrent: number; readonly rate_per_minute: number },
  now: number
): boolean =>
  health.running < limits.max_concurrent &&
  health.asks.filter((at) => at > now - minute_ms).length < limits.rate_per_minute

/** How long until a full minute has room for one more ask; 0 where it has, or only asks that run are in the way. */
export const fullFor = (health: CarrierHealth, limits: { readonly rate_per_minute: number }, now: number): number => {
  const asks = health.asks.filter((at) => at > now - minute_ms)
  const first = asks[asks.length - limits.rate_per_minute]
  return first === undefined ? 0 : first + minute_ms - now
}

/** An ask begins. */
export const began = (health: CarrierHealth, now: number): CarrierHealth => ({
  ...health,
  asks: [...health.asks.filter((at) => at > now - minute_ms), now],
  running: health.running + 1
})

/** An ask is over, whatever came of it. */
export const left = (health: CarrierHealth): CarrierHealth => ({ ...health, running: health.running - 1 })

/** How an ask went. After the breaker has opened, it starts to watch anew. */
export const judged = (health: CarrierHealth, error: boolean, now: number): CarrierHealth => {
  const errors = [...health.errors, error].slice(-watched_asks)
  const opens = errors.length === watched_asks && 2 * errors.filter(Boolean).length >= watched_asks
  return { ...health, errors: opens ? [] : errors, open_until: opens ? now + open_ms : health.open_until }
}
