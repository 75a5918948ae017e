import { Schema } from "effect"
import * as Kind from "../../storage/Kind.ts"
import { minuteMs, secondMs } from "../../wire/Timestamp.ts"
import { maxAttemptMs, noAnswerReasons } from "../Carrier.ts"
import type { CircuitChange } from "../recorder/ExchangeDraft.ts"

/**
 * How many calls fall into each step of real time, oldest first. Each entry has the start of the step in milliseconds,
 * and the count.
 */
const StepCounts = Schema.Array(Schema.Tuple([Schema.Int, Schema.Int]))
type StepCounts = typeof StepCounts.Type

/** The outcome of an ask: `answered`, or the reason why the carrier did not answer. */
const AskOutcome = Schema.Literals(["answered", ...noAnswerReasons])
export type AskOutcome = typeof AskOutcome.Type

const OpenCircuit = Schema.Struct({
  /** When the circuit opened. */
  since: Schema.Int,
  /** The earliest time at which one ask may test the carrier. Until then, the circuit blocks all asks. */
  until: Schema.Int,
  /**
   * When the ask that is testing the carrier is considered ended, even if its result was never recorded; null if no ask
   * is testing it.
   */
  trial_until: Schema.NullOr(Schema.Int),
  /** Why the circuit opened or stayed open. */
  why: Schema.String
})

/** An open circuit. Times are milliseconds of real time. */
export type OpenCircuit = typeof OpenCircuit.Type

const CarrierHealth = Schema.Struct({
  /** The calls that began in the last minute, by start time. */
  begun: StepCounts,
  /**
   * The calls in progress, by the time at which they are considered ended, even if their end was never recorded. A dead
   * host's calls therefore do not use up the limit forever.
   */
  running: StepCounts,
  /** The outcomes of the latest asks since the circuit last closed, oldest first. */
  outcomes: Schema.Array(AskOutcome),
  /** When the circuit last closed; 0 if it never opened. Only asks that began later are counted. */
  closed_at: Schema.Int,
  /** The circuit while it is open; null if it is closed. */
  open: Schema.NullOr(OpenCircuit)
})

/**
 * The shared record of all hosts about the calls to a carrier, or over one connection, for one line. Times are
 * milliseconds of real time.
 */
export type CarrierHealth = typeof CarrierHealth.Type

/**
 * The record kind for health. Resetting the sandbox does not change the load on a real carrier, so the records survive
 * a reset.
 */
export const kind = Kind.make({ name: "carrier_health", schema: CarrierHealth, survives_reset: true })

/** The health of a carrier that has not been called yet. */
export const unknown: CarrierHealth = {
  begun: [],
  running: [],
  outcomes: [],
  closed_at: 0,
  open: null
}

/** The limits that a carrier declares for a line. */
export interface RateAndConcurrency {
  readonly rate_per_minute: number
  readonly max_concurrent: number
}

/** Represents a call that was allowed to begin. */
export interface Permit {
  /** When the call is considered ended, even if its end was never recorded. */
  readonly ends_by: number
  /**
   * How the call's result affects the circuit: along with other results, alone as the test of an open circuit, or not
   * at all.
   */
  readonly counts: "with_others" | "alone" | "not"
  readonly closed_at: number
  readonly trial_until: number | null
}

/** An input of `apply`: a call wants to begin, a call has ended, or an operator closes the circuit. */
export type HealthStep =
  | {
      readonly type: "begin"
      readonly limits: RateAndConcurrency
      /** Whether the call is an ask. Only asks affect the circuit. */
      readonly is_ask: boolean
      /** Whether the call may begin beyond the limits. */
      readonly ignores_limits: boolean
    }
  | {
      readonly type: "end"
      readonly permit: Permit
      /** What the call's result says about the carrier's health; null if the result says nothing. */
      readonly outcome: AskOutcome | null
    }
  | { readonly type: "reset" }

/** The health after a step, the permit if a call may begin, and how the step changed the circuit. */
export interface AfterStep {
  readonly health: CarrierHealth
  readonly permit: Permit | null
  readonly change: CircuitChange | null
}

/**
 * The length of the time steps in which calls are counted. A call can be counted for up to this much longer than a
 * minute.
 */
const stepMs = secondMs / 2
/** How long a call is considered in progress if its end is never recorded. This is longer than any attempt takes. */
const leaseMs = 2 * maxAttemptMs
/**
 * A circuit opens if at least `circuitFailures` of the latest `circuitSize` asks failed. Before `circuitSize` asks, it
 * never opens.
 */
const circuitSize = 20
const circuitFailures = 10
/** How long an open circuit blocks asks. */
const openMs = minuteMs

/** Applies a step. Returns the same health object if nothing changes. */
export const apply = (health: CarrierHealth, step: HealthStep, now: number): AfterStep => {
  switch (step.type) {
    case "begin":
      return step.ignores_limits || hasRoom(health, step.limits, now)
        ? begin(health, step.is_ask, now)
        : { health, permit: null, change: null }
    case "end":
      return { permit: null, ...afterEnd(health, step.permit, step.outcome, now) }
    case "reset":
      return { permit: null, ...closed(health, "Closed by an operator", now) }
  }
}

/**
 * The open circuit if it currently blocks asks, because its time is not up or another ask is testing the carrier;
 * otherwise null.
 */
export const blockingCircuit = ({ open }: CarrierHealth, now: number): OpenCircuit | null =>
  open !== null && (now < open.until || (open.trial_until !== null && now < open.trial_until)) ? open : null

/**
 * How long until the per-minute limit allows another call. 0 if this limit allows a call now, even if too many calls
 * are in progress.
 */
export const retryAfter = (
  health: CarrierHealth,
  { rate_per_minute }: Pick<RateAndConcurrency, "rate_per_minute">,
  now: number
): number => {
  const begun = recent(health, now)
  let remaining = sum(begun)
  for (const [at, count] of begun) {
    if (remaining < rate_per_minute) return 0
    remaining -= count
    if (remaining < rate_per_minute) return at + minuteMs + stepMs - now
  }
  return 0
}

/** How many calls began in the last minute, and how many are in progress. */
export const load = (health: CarrierHealth, now: number): { readonly begun: number; readonly running: number } => ({
  begun: sum(recent(health, now)),
  running: sum(underWay(health, now))
})

/** Counts outcomes in words, most frequent first, such as "timeout 7, carrier_error 3". */
export const tally = (outcomes: ReadonlyArray<AskOutcome>): string =>
  [...new Set(outcomes)]
    .map((outcome) => [outcome, outcomes.filter((other) => other === outcome).length] as const)
    .toSorted(([, a], [, b]) => b - a)
    .map(([outcome, count]) => `${outcome} ${count}`)
    .join(", ")

const hasRoom = (health: CarrierHealth, limits: RateAndConcurrency, now: number): boolean => {
  const { begun, running } = load(health, now)
  return begun < limits.rate_per_minute && running < limits.max_concurrent
}

const recent = ({ begun }: CarrierHealth, now: number): StepCounts =>
  begun.filter(([at]) => at > now - minuteMs - stepMs)

const underWay = ({ running }: CarrierHealth, now: number): StepCounts => running.filter(([until]) => until > now)

const begin = (health: CarrierHealth, isAsk: boolean, now: number): AfterStep => {
  const ends_by = stepOf(now + leaseMs) + stepMs
  const counts =
    !isAsk || blockingCircuit(health, now) !== null ? "not" : health.open === null ? "with_others" : "alone"
  const open = counts === "alone" && health.open !== null ? { ...health.open, trial_until: now + leaseMs } : health.open
  const begun = added(recent(health, now), stepOf(now), 1)
  const running = added(underWay(health, now), ends_by, 1)
  return {
    health: { ...health, begun, running, open },
    permit: { ends_by, counts, closed_at: health.closed_at, trial_until: open?.trial_until ?? null },
    change: null
  }
}

/** The health, and how its circuit changed. `change` is null if the circuit did not change. */
type HealthChange = Pick<AfterStep, "health" | "change">

const afterEnd = (health: CarrierHealth, permit: Permit, outcome: AskOutcome | null, now: number): HealthChange => {
  const ended = { ...health, running: added(underWay(health, now), permit.ends_by, -1) }
  if (permit.counts === "with_others" && outcome !== null) return withOutcome(ended, permit, outcome, now)
  return permit.counts === "alone" && ended.open !== null && permit.trial_until === ended.open.trial_until
    ? afterTrial(ended, ended.open, outcome, now)
    : { health: ended, change: null }
}

/**
 * Counts an outcome toward the circuit. Ignores the outcome if the circuit is open, or if it opened and closed after
 * the ask began.
 */
const withOutcome = (health: CarrierHealth, { closed_at }: Permit, outcome: AskOutcome, now: number): HealthChange => {
  if (health.open !== null || health.closed_at !== closed_at) return { health, change: null }
  const outcomes = [...health.outcomes, outcome].slice(-circuitSize)
  const failures = outcomes.filter((askOutcome) => askOutcome !== "answered")
  return outcomes.length === circuitSize && failures.length >= circuitFailures
    ? opened({ ...health, outcomes }, now, now, `${failures.length} of ${circuitSize} asks failed: ${tally(failures)}`)
    : { health: { ...health, outcomes }, change: null }
}

const afterTrial = (
  health: CarrierHealth,
  open: OpenCircuit,
  outcome: AskOutcome | null,
  now: number
): HealthChange => {
  if (outcome === null) return { health: { ...health, open: { ...open, trial_until: null } }, change: null }
  if (outcome === "answered") return closed(health, "The trial ask was answered", now)
  const outcomes = [...health.outcomes, outcome].slice(-circuitSize)
  return opened({ ...health, outcomes }, open.since, now, `The trial ask failed: ${outcome}`)
}

const opened = (health: CarrierHealth, since: number, now: number, reason: string): HealthChange => {
  const until = now + openMs
  const to = health.open === null ? "opened" : "stays_open"
  return {
    health: { ...health, open: { since, until, trial_until: null, why: reason } },
    change: { to, since, until, why: reason }
  }
}

const closed = (health: CarrierHealth, reason: string, now: number): HealthChange =>
  health.open === null
    ? { health, change: null }
    : {
        health: { ...health, outcomes: [], open: null, closed_at: now },
        change: { to: "closed", since: health.open.since, until: null, why: reason }
      }

const stepOf = (time: number): number => time - (time % stepMs)

const sum = (counts: StepCounts): number => counts.reduce((total, [, count]) => total + count, 0)

/** Adds calls to a time step. With a negative number, removes calls if the step still exists. */
const added = (counts: StepCounts, time: number, calls: number): StepCounts => {
  const previousCount = counts.find(([step]) => step === time)?.[1] ?? 0
  const otherSteps = counts.filter(([step]) => step !== time)
  const count = previousCount + calls
  return count <= 0 ? otherSteps : [...otherSteps, [time, count] as const].toSorted(([a], [b]) => a - b)
}
