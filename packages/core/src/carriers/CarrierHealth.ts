import { Schema } from "effect"
import * as Kind from "../storage/Kind.ts"
import { minute_ms, second_ms } from "../wire/Timestamp.ts"
import { max_attempt_ms } from "./Carrier.ts"

/** How many calls there are in each step of real time: the step's moment in milliseconds, and the number. Oldest first. */
const Counts = Schema.Array(Schema.Tuple([Schema.Int, Schema.Int]))
type Counts = typeof Counts.Type

const CarrierHealth = Schema.Struct({
  /** The calls of the last minute, by when they began. */
  begun: Counts,
  /** The calls that run now, by when each counts as ended, at the latest: so a host that dies holds no room forever. */
  running: Counts,
  /** Whether each of the last asks has failed, oldest first. */
  failed: Schema.Array(Schema.Boolean),
  /** When the circuit was closed last; 0 if it never opened. Only asks that began after that count. */
  closed_at: Schema.Int,
  /** Until when the open circuit lets no ask through; null if it is closed. */
  open_until: Schema.NullOr(Schema.Int),
  /** Until when one ask may try the open circuit alone; null if none does. */
  trial_until: Schema.NullOr(Schema.Int)
})

/** What all hosts know of the calls to a carrier, or to one connection, on one line. In milliseconds of real time. */
export type CarrierHealth = typeof CarrierHealth.Type

/** The stored health. It says how busy a carrier is, so a reset of the sandbox keeps it. */
export const kind = Kind.make({ name: "carrier_health", schema: CarrierHealth, survives_reset: true })

/** The health of a carrier that was not called yet. */
export const unknown: CarrierHealth = {
  begun: [],
  running: [],
  failed: [],
  closed_at: 0,
  open_until: null,
  trial_until: null
}

/** The limits that a carrier declares for a line. */
export interface RateAndConcurrency {
  readonly rate_per_minute: number
  readonly max_concurrent: number
}

/** A call that has begun. */
export interface Permit {
  /** The step in which it counts as ended, at the latest. */
  readonly ends_by: number
  /** How its result counts for the circuit: with others, alone because it tries an open circuit, or not at all. */
  readonly counts: "with_others" | "alone" | "not"
  readonly closed_at: number
  readonly trial_until: number | null
}

/** What happens to a carrier: a call wants to begin, or has ended. */
export type Step =
  | {
      readonly type: "begin"
      readonly limits: RateAndConcurrency
      /** Whether it is an ask. Only asks count for the circuit. */
      readonly is_ask: boolean
      /** Whether it begins in any case, also beyond the limits. */
      readonly in_any_case: boolean
    }
  | {
      readonly type: "end"
      readonly permit: Permit
      /** What it says about the carrier; null if nothing. */
      readonly outcome: "answered" | "failed" | null
    }

/** The health after a step, and the permit of a call that may begin. */
export interface AfterStep {
  readonly health: CarrierHealth
  readonly permit: Permit | null
}

/** How finely calls are counted. A call counts for up to this long beyond its minute. */
const step_ms = second_ms / 2
/** How long a call counts as running if nobody says that it has ended: longer than any attempt takes. */
const lease_ms = 2 * max_attempt_ms
/** A circuit opens if this many of the last asks failed. */
const circuit_size = 20
const circuit_failures = 10
/** How long an open circuit lets no ask through. */
const open_ms = minute_ms

/** Applies a step. The health is the same object if a call may not begin. */
export const apply = (health: CarrierHealth, step: Step, now: number): AfterStep =>
  step.type === "end"
    ? { health: afterEnd(health, step.permit, step.outcome, now), permit: null }
    : step.in_any_case || hasRoom(health, step.limits, now)
      ? begin(health, step.is_ask, now)
      : { health, permit: null }

/** Whether no ask may begin now: the circuit is open, and is not to be tried, or another ask tries it. */
export const isOpen = ({ open_until, trial_until }: CarrierHealth, now: number): boolean =>
  open_until !== null && (now < open_until || (trial_until !== null && now < trial_until))

/** How long until the rate has room for another call; 0 if it has room now, or if only running calls are in the way. */
export const retryAfter = (
  health: CarrierHealth,
  { rate_per_minute }: Pick<RateAndConcurrency, "rate_per_minute">,
  now: number
): number => {
  const begun = recent(health, now)
  let left = sum(begun)
  for (const [at, count] of begun) {
    if (left < rate_per_minute) return 0
    left -= count
    if (left < rate_per_minute) return at + minute_ms + step_ms - now
  }
  return 0
}

const hasRoom = (health: CarrierHealth, limits: RateAndConcurrency, now: number): boolean =>
  sum(recent(health, now)) < limits.rate_per_minute && sum(underWay(health, now)) < limits.max_concurrent

const recent = ({ begun }: CarrierHealth, now: number): Counts => begun.filter(([at]) => at > now - minute_ms - step_ms)

const underWay = ({ running }: CarrierHealth, now: number): Counts => running.filter(([until]) => until > now)

const begin = (health: CarrierHealth, is_ask: boolean, now: number): AfterStep => {
  const ends_by = stepOf(now + lease_ms) + step_ms
  const counts = !is_ask || isOpen(health, now) ? "not" : health.open_until === null ? "with_others" : "alone"
  const trial_until = counts === "alone" ? now + lease_ms : health.trial_until
  const begun = added(recent(health, now), stepOf(now), 1)
  const running = added(underWay(health, now), ends_by, 1)
  return {
    health: { ...health, begun, running, trial_until },
    permit: { ends_by, counts, closed_at: health.closed_at, trial_until }
  }
}

const afterEnd = (
  health: CarrierHealth,
  permit: Permit,
  outcome: "answered" | "failed" | null,
  now: number
): CarrierHealth => {
  const ended = { ...health, running: added(underWay(health, now), permit.ends_by, -1) }
  if (permit.counts === "with_others") return outcome === null ? ended : withResult(ended, permit, outcome, now)
  return permit.counts === "alone" && permit.trial_until === health.trial_until
    ? afterTrial(ended, outcome, now)
    : ended
}

/** Counts a result for the circuit. Results of asks that began before the circuit last opened are ignored. */
const withResult = (
  health: CarrierHealth,
  { closed_at }: Permit,
  outcome: "answered" | "failed",
  now: number
): CarrierHealth => {
  if (health.open_until !== null || health.closed_at !== closed_at) return health
  const failed = [...health.failed, outcome === "failed"].slice(-circuit_size)
  const opens = failed.length === circuit_size && failed.filter((has) => has).length >= circuit_failures
  return opens ? { ...health, failed: [], open_until: now + open_ms } : { ...health, failed }
}

const afterTrial = (health: CarrierHealth, outcome: "answered" | "failed" | null, now: number): CarrierHealth => {
  const over = { ...health, trial_until: null }
  if (outcome === null) return over
  return outcome === "failed" ? { ...over, open_until: now + open_ms } : { ...over, open_until: null, closed_at: now }
}

const stepOf = (at: number): number => at - (at % step_ms)

const sum = (counts: Counts): number => counts.reduce((total, [, count]) => total + count, 0)

/** Adds calls to a step, or takes them away if it is still there. */
const added = (counts: Counts, at: number, calls: number): Counts => {
  const before = counts.find(([step]) => step === at)?.[1] ?? 0
  const others = counts.filter(([step]) => step !== at)
  const count = before + calls
  return count <= 0 ? others : [...others, [at, count] as const].toSorted(([one], [other]) => one - other)
}
