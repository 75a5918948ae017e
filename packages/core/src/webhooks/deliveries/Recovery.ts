import { Schema } from "effect"
import * as JobPayload from "../../runner/JobPayload.ts"
import type { StoredRecord } from "../../storage/Change.ts"
import type { NewJob } from "../../storage/Job.ts"
import * as Kind from "../../storage/Kind.ts"
import { RecoveryId, SubscriptionId } from "../../wire/Ids.ts"
import { minuteMs } from "../../wire/Timestamp.ts"
import type * as Delivery from "../records/Delivery.ts"

/* A recovery resends many deliveries to one endpoint, in order and at a limited rate. */

/** The states of a delivery that a recovery can resend. In any other state, more attempts are already scheduled. */
export const recoverable = ["failed", "cancelled", "succeeded"] as const

/**
 * The states of a recovery. A `running` or `paused` recovery can continue; a `stopped` or `done` recovery has ended.
 */
export const recoveryStates = ["running", "paused", "stopped", "done"] as const

/** Selects the deliveries that a recovery resends. Times are milliseconds of workspace time. */
export const RecoveryFilter = Schema.Struct({
  statuses: Schema.Array(Schema.Literals(recoverable)),
  /** The event types to resend; null for all types. */
  event_types: Schema.NullOr(Schema.Array(Schema.String)),
  created_after: Schema.Int,
  created_before: Schema.Int
})
export type RecoveryFilter = typeof RecoveryFilter.Type

/** The allowed rates, in deliveries per minute: the lowest, the highest, the highest for owners, and the default. */
export const pace = { least: 1, most: 600, most_for_owners: 60, default: 60 } as const

/** A recovery as stored. Times are milliseconds of workspace time. */
export const Recovery = Schema.Struct({
  id: RecoveryId,
  subscription_id: SubscriptionId,
  state: Schema.Literals(recoveryStates),
  /** Why the service paused the recovery; null if the service did not pause it. */
  reason: Schema.NullOr(Schema.Literal("subscription_off")),
  filter: RecoveryFilter,
  per_minute: Schema.Int,
  /** How many deliveries matched when the recovery was started. */
  matched: Schema.Int,
  resent: Schema.Int,
  /** How many deliveries were skipped, because they had already reached the daily limit of replays. */
  skipped: Schema.Int,
  /** The ID of the last delivery that was checked; null if no delivery has been checked yet. */
  position: Schema.NullOr(Schema.String),
  /** Counts the starts of the recovery. A job from an earlier start does nothing. */
  turn: Schema.Int,
  created_at: Schema.Int,
  updated_at: Schema.Int
})
export type Recovery = typeof Recovery.Type

/** Whether the recovery can continue. */
export const isOpen = ({ state }: Pick<Recovery, "state">): boolean => state === "running" || state === "paused"

/** The record kind for recoveries, listed by subscription. The records are kept as long as deliveries. */
export const kind = Kind.make({
  name: "recovery",
  schema: Recovery,
  kept_for: { period: "events", clock: "workspace" },
  listing: (recovery) => ({ parent: recovery.subscription_id, status: isOpen(recovery) ? "open" : "closed" })
})

/** The stored record of one version of a recovery. */
export const toStored = (recovery: Recovery, version: number): StoredRecord =>
  kind.record(recovery, {
    id: recovery.id,
    version,
    created_at: recovery.created_at,
    updated_at: recovery.updated_at
  })

/** Whether a recovery resends this delivery. The list has already selected deliveries by time. */
export const matches = ({ event_types, statuses }: RecoveryFilter, delivery: Delivery.StoredDelivery): boolean =>
  statuses.some((status) => status === delivery.status) &&
  (event_types === null || event_types.includes(delivery.event_type))

/** The job for the recovery's next step. */
export const nextJob = ({ id: recovery_id, turn }: Recovery, due_at: number): NewJob =>
  JobPayload.make("recover_deliveries", { recovery_id, turn }, { due_at, ordered: false })

/** The time between two deliveries, in milliseconds. */
export const stepMs = ({ per_minute }: Pick<Recovery, "per_minute">): number => Math.ceil(minuteMs / per_minute)

/** The actions on a recovery. */
export const recoveryActions = ["pause", "resume", "stop"] as const
export type RecoveryAction = (typeof recoveryActions)[number]

/**
 * A recovery after an action. Null if the recovery has already ended; the same object if the action changes nothing.
 */
export const changed = (recovery: Recovery, action: RecoveryAction, now: number): Recovery | null => {
  const { state, turn } = recovery
  if (action === "stop") return state === "stopped" ? recovery : ended(recovery, "stopped", now)
  if (!isOpen(recovery)) return null
  if (action === "pause") return state === "paused" ? recovery : { ...recovery, state: "paused", updated_at: now }
  return state === "running"
    ? recovery
    : { ...recovery, state: "running", reason: null, turn: turn + 1, updated_at: now }
}

/** A recovery that ends in this state; null if it has already ended. */
const ended = (recovery: Recovery, state: "stopped" | "done", now: number): Recovery | null =>
  isOpen(recovery) ? { ...recovery, state, updated_at: now } : null
