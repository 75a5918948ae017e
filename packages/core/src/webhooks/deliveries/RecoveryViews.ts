import { Schema } from "effect"
import { types } from "../../events/Event.ts"
import { RecoveryId, SubscriptionId } from "../../wire/Ids.ts"
import { wholeNumber } from "../../wire/Input.ts"
import { fromMillis, minuteMs, OffsetDateTime, Timestamp, toMillis } from "../../wire/Timestamp.ts"
import type { RecoveryPreview, RecoveryRequest } from "./Recoveries.ts"
import * as Recovery from "./Recovery.ts"

/** The input fields that select the deliveries and set the rate. */
export const recoveryFields = {
  statuses: Schema.optionalKey(
    Schema.Array(Schema.Literals(Recovery.recoverable)).check(
      Schema.isMinLength(1, { expected: "a list with at least one status" })
    )
  ).annotateKey({ description: "Only deliveries in these states; failed and cancelled by default" }),
  event_types: Schema.optionalKey(
    Schema.Array(Schema.Literals(types)).check(Schema.isMinLength(1, { expected: "a list with at least one type" }))
  ).annotateKey({ description: "Only deliveries of these types of event; all by default" }),
  created_after: Schema.optionalKey(OffsetDateTime).annotateKey({
    description: "Only deliveries created at or after this time of the workspace; all that are kept by default"
  }),
  created_before: Schema.optionalKey(OffsetDateTime).annotateKey({
    description: "Only deliveries created before this time of the workspace; until now by default"
  }),
  per_minute: Schema.optionalKey(wholeNumber(Recovery.pace.least, Recovery.pace.most)).annotateKey({
    description: `How many deliveries are sent in a minute, at most ${Recovery.pace.most}; ${Recovery.pace.default} by default`
  })
}

const Id = Schema.String.annotateKey({ description: "The subscription, `sub_…`" })

/** The input for an owner's recovery, or for the preview of a recovery. */
export const RecoveryInput = Schema.Struct({
  id: Id,
  ...recoveryFields,
  per_minute: Schema.optionalKey(wholeNumber(Recovery.pace.least, Recovery.pace.most_for_owners)).annotateKey({
    description: `How many deliveries are sent in a minute: 1 to ${Recovery.pace.most_for_owners}; ${Recovery.pace.default} by default`
  })
})

/** The input for listing a subscription's recoveries. */
export const RecoveriesInput = Schema.Struct({ id: Id })

/** The input for changing a recovery. */
export const RecoveryChangeInput = Schema.Struct({
  id: Id,
  recovery_id: Schema.String.annotateKey({ description: "The recovery, `rcv_…`" }),
  action: Schema.Literals(Recovery.recoveryActions).annotateKey({ description: "What to do" })
})

/** A caller's choices for a recovery. */
export interface RecoveryChoice {
  readonly statuses?: ReadonlyArray<(typeof Recovery.recoverable)[number]>
  readonly event_types?: ReadonlyArray<string>
  readonly created_after?: Timestamp
  readonly created_before?: Timestamp
  readonly per_minute?: number
}

/** Makes the request from a caller's choices, with defaults filled in. `now` is in milliseconds of workspace time. */
export const requestOf = (
  subscription_id: string,
  { created_after, created_before, event_types, per_minute = Recovery.pace.default, statuses }: RecoveryChoice,
  now: number
): RecoveryRequest => ({
  subscription_id,
  per_minute,
  filter: {
    statuses: statuses ?? ["failed", "cancelled"],
    event_types: event_types ?? null,
    created_after: created_after === undefined ? 0 : toMillis(created_after),
    created_before: created_before === undefined ? now : Math.min(now, toMillis(created_before))
  }
})

/** A preview of what a recovery would do. */
export const RecoveryPreviewView = Schema.Struct({
  matched: Schema.Int.annotateKey({ description: "How many deliveries match" }),
  is_complete: Schema.Boolean.annotateKey({
    description: "Whether all were counted. At most 10,000 deliveries are checked"
  }),
  per_minute: Schema.Int.annotateKey({ description: "How many deliveries are sent in a minute" }),
  takes_seconds: Schema.Int.annotateKey({ description: "How long sending the counted deliveries takes at this rate" })
}).annotate({ identifier: "RecoveryPreview" })

/** A preview in the form that callers see. */
export const previewOf = (
  { is_complete, matched }: RecoveryPreview,
  { per_minute }: RecoveryRequest
): typeof RecoveryPreviewView.Type => ({
  matched,
  is_complete,
  per_minute,
  takes_seconds: Math.ceil((matched * Recovery.stepMs({ per_minute })) / 1_000)
})

/** A recovery, with its progress. */
export const RecoveryView = Schema.Struct({
  id: RecoveryId.annotateKey({ description: "The identifier of the recovery" }),
  subscription_id: SubscriptionId.annotateKey({ description: "The subscription whose deliveries are sent again" }),
  state: Schema.Literals(Recovery.recoveryStates).annotateKey({
    description: "`running` and `paused` are in progress; `stopped` and `done` are final"
  }),
  reason: Schema.NullOr(Schema.Literal("subscription_off")).annotateKey({
    description: "Why it was paused automatically; null if it was not"
  }),
  per_minute: Schema.Int.annotateKey({ description: "How many deliveries are sent in a minute" }),
  matched: Schema.Int.annotateKey({ description: "How many deliveries matched when it was started" }),
  resent: Schema.Int.annotateKey({ description: "How many have been queued again so far" }),
  skipped: Schema.Int.annotateKey({
    description: "How many were skipped, because their events had been replayed five times within a day"
  }),
  left_seconds: Schema.Int.annotateKey({ description: "About how long the rest takes; 0 if it has ended" }),
  created_at: Timestamp.annotate({ description: "When it was started, in the time of the workspace" }),
  updated_at: Timestamp.annotate({ description: "When it last made progress or changed, in the time of the workspace" })
}).annotate({ identifier: "Recovery" })

/** A list of a subscription's recoveries. */
export const RecoveryList = Schema.Struct({
  recoveries: Schema.Array(RecoveryView).annotateKey({ description: "The recoveries, newest first; at most a hundred" })
}).annotate({ identifier: "RecoveryList" })

/** A recovery in the form that callers see. */
export const recoveryViewOf = (recovery: Recovery.Recovery): typeof RecoveryView.Type => {
  const { created_at, id, matched, per_minute, reason, resent, skipped, state } = recovery
  const { subscription_id, updated_at } = recovery
  const remaining = Recovery.isOpen(recovery) ? Math.max(0, matched - resent - skipped) : 0
  return {
    id,
    subscription_id,
    state,
    reason,
    per_minute,
    matched,
    resent,
    skipped,
    left_seconds: Math.ceil((remaining * minuteMs) / per_minute / 1_000),
    created_at: fromMillis(created_at),
    updated_at: fromMillis(updated_at)
  }
}
