import { Schema } from "effect"
import type { Environment } from "../access/Caller.ts"
import { Event } from "../events/Event.ts"
import type { StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import type { EventId, OrganizationId } from "../wire/Ids.ts"
import { fromMillis, type Timestamp } from "../wire/Timestamp.ts"

/** An event that failed too many times, as stored. */
export const StoredParkedEvent = Schema.Struct({
  consumer: Schema.String,
  event: Event,
  /** How many attempts have failed. */
  attempts: Schema.Int,
  /** The class of the last error, such as `TypeError`; never its message. */
  error: Schema.String,
  parked_at: Schema.Int.annotate({ description: "Milliseconds of workspace time" }),
  /** `running` while an attempt that was requested is in progress. */
  status: Schema.Literals(["parked", "retrying", "running", "handled", "dropped"])
})
export type StoredParkedEvent = typeof StoredParkedEvent.Type

/**
 * The record kind for parked events, keyed by consumer and event. Writing a record wakes the consumer. The records are
 * kept as long as events.
 */
export const kind = Kind.make({
  name: "parked_event",
  schema: StoredParkedEvent,
  kept_for: { period: "events", clock: "workspace" },
  wakes: "parent",
  listing: ({ consumer, status }) => ({ parent: consumer, status })
})

/** The ID of a parked event's record. */
export const idOf = (consumer: string, eventId: EventId): string => `${consumer} ${eventId}`

/** The stored record of one version of a parked event. */
export const toStored = (parked: StoredParkedEvent, version: number, now: number): StoredRecord =>
  kind.record(parked, {
    id: idOf(parked.consumer, parked.event.id),
    version,
    created_at: parked.parked_at,
    updated_at: now
  })

/** Identifies a parked event by its workspace and event ID. */
export interface ParkedEventPlace {
  readonly organization_id: OrganizationId
  readonly environment: Environment
  readonly event_id: EventId
}

/** An event that failed too many times, as in a dead-letter queue. The consumer continues with the next event. */
export interface ParkedEvent extends ParkedEventPlace {
  readonly event: Event
  /** How many attempts have failed. */
  readonly attempts: number
  /** The class of the last error, such as `TypeError`, or `timeout` or `process_ended`; never a message. */
  readonly error: string
  /** When the event was parked, in workspace time. */
  readonly parked_at: Timestamp
  /** Whether a retry was requested and has not ended yet. */
  readonly retrying: boolean
}

/** A parked event in the form that operators see. */
export const view = (
  { event, attempts, error, parked_at, status }: StoredParkedEvent,
  { organization_id, environment }: Pick<ParkedEventPlace, "organization_id" | "environment">
): ParkedEvent => ({
  organization_id,
  environment,
  event_id: event.id,
  event,
  attempts,
  error,
  parked_at: fromMillis(parked_at),
  retrying: isRetried({ status })
})

/** Selects the parked events to list. */
export interface ParkedEventFilter {
  readonly organization_id?: string
  readonly environment?: Environment
  /** The maximum number of events to list: 100 by default, 1,000 at most. */
  readonly limit?: number
}

/** A parked event after a retry. `error` is null if the retry succeeded. */
export const retried = (parked: StoredParkedEvent, error: string | null): StoredParkedEvent =>
  error === null
    ? { ...parked, status: "handled" }
    : { ...parked, status: "parked", attempts: parked.attempts + 1, error }

/** Whether a parked event must run alone in its process, because it may kill the process. */
export const isSuspect = ({ error }: StoredParkedEvent): boolean => error === processEnded

/**
 * A parked event after the process that retried it has died. If it ran alone, it killed the process and is parked
 * again. Otherwise it is retried alone.
 */
export const afterDeath = (parked: StoredParkedEvent): StoredParkedEvent => ({
  ...parked,
  status: isSuspect(parked) ? "parked" : "retrying",
  attempts: parked.attempts + 1,
  error: processEnded
})

/** The `error` of an event during whose handling the process ended. */
export const processEnded = "process_ended"

/** Whether a parked event still waits for a requested retry, or for an operator to retry or drop it. */
export const isOpen = ({ status }: StoredParkedEvent): boolean => status === "parked" || isRetried({ status })

/** Whether a retry was requested and has not ended yet. */
export const isRetried = ({ status }: Pick<StoredParkedEvent, "status">): boolean =>
  status === "retrying" || status === "running"
