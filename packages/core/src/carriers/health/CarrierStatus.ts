import type { Environment } from "../../access/Caller.ts"
import type { OrganizationId } from "../../wire/Ids.ts"
import { fromMillis, type Timestamp } from "../../wire/Timestamp.ts"
import * as CarrierHealth from "./CarrierHealth.ts"

/** The scope of a circuit and its limits: a carrier's line, in one environment or for one organization's connection. */
export interface CarrierPlace {
  readonly carrier_id: string
  readonly line: string
  readonly environment: Environment
  /** The organization, for a carrier with connections; null if the calls of all organizations are counted together. */
  readonly organization_id: OrganizationId | null
}

/** A carrier's status for one line in one environment, across all hosts. Times are real time. */
export interface CarrierStatus extends CarrierPlace {
  /** `half_open`: the open circuit's time is up, and the next ask tests the carrier. */
  readonly circuit: "closed" | "open" | "half_open"
  /** When the circuit opened or last closed; null if it never opened. */
  readonly since: Timestamp | null
  /** When the open circuit stops blocking asks; null if the circuit is closed. */
  readonly until: Timestamp | null
  /** Why the circuit opened or stays open; null if the circuit is closed. */
  readonly why: string | null
  /** The outcomes of the latest asks since the circuit last closed, oldest first; at most 20. */
  readonly outcomes: ReadonlyArray<CarrierHealth.AskOutcome>
  /** How many calls are in progress. */
  readonly in_flight: number
  readonly max_concurrent: number
  /** How many more calls the per-minute limit allows now. */
  readonly rate_left: number
  readonly rate_per_minute: number
}

/** A page of carriers' statuses. */
export interface CarrierStatusPage {
  readonly carriers: ReadonlyArray<CarrierStatus>
  /** Pass this as `after` to get the next page; null on the last page. */
  readonly next: string | null
}

/** Makes a carrier's status in a scope, at `now` in milliseconds of real time. */
export const statusOf = (
  place: CarrierPlace,
  { max_concurrent, rate_per_minute }: CarrierHealth.RateAndConcurrency,
  health: CarrierHealth.CarrierHealth,
  now: number
): CarrierStatus => {
  const { begun, running } = CarrierHealth.load(health, now)
  const { closed_at, open, outcomes } = health
  const circuit = open === null ? "closed" : now < open.until ? "open" : "half_open"
  const since = open?.since ?? (closed_at === 0 ? null : closed_at)
  return {
    ...place,
    circuit,
    since: since === null ? null : fromMillis(since),
    until: open === null ? null : fromMillis(open.until),
    why: open?.why ?? null,
    outcomes,
    in_flight: running,
    max_concurrent,
    rate_left: Math.max(0, rate_per_minute - begun),
    rate_per_minute
  }
}
