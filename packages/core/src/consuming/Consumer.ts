import { Schema } from "effect"
import type { StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import { secondMs } from "../wire/Timestamp.ts"

/*
 * The progress of a consumer in one workspace, and how it changes with each event, failure and claim.
 */

/** A consumer in one workspace: its position in the feed, its next attempt, and the process that holds its lease. */
export const Consumer = Schema.Struct({
  name: Schema.String,
  version: Schema.Int,
  created_at: Schema.Int.annotate({ description: "Milliseconds of real time" }),
  /** All events up to this number are done: handled, parked, or of a type that the consumer does not handle. */
  position: Schema.Int,
  /**
   * The workspace's `erased_count` when the position was set: the number of resets that had finished erasing data by
   * then.
   */
  erased_count: Schema.Int,
  /** How many attempts at the next event have failed, including attempts during which a process died. */
  failures: Schema.Int,
  /** How many processes have died while they ran only the next event. */
  deaths: Schema.Int,
  /** The feed number of the event that now runs alone in its process; null if no event runs alone. */
  alone: Schema.NullOr(Schema.Int),
  /**
   * The events that may have been running when a process died: all events up to `through`. `since` is when the death
   * was noticed. From then on, each of these events runs alone.
   */
  suspects: Schema.NullOr(
    Schema.Struct({
      through: Schema.Int,
      since: Schema.Int.annotate({ description: "Milliseconds of real time" })
    })
  ),
  retry_at: Schema.NullOr(Schema.Int).annotate({
    description: "Milliseconds of real time: when the event after the position is tried again"
  }),
  /** How many retries of parked events were requested, and how many of them are done. */
  retries_asked: Schema.Int,
  retries_done: Schema.Int,
  lease: Schema.NullOr(
    Schema.Struct({
      holder: Schema.String,
      ends_at: Schema.Int.annotate({ description: "Milliseconds of real time" })
    })
  )
})
export type Consumer = typeof Consumer.Type

/**
 * The record kind for consumers, keyed by name. The records survive a reset, because feed numbers continue after a
 * reset.
 */
export const kind = Kind.make({ name: "consumer", schema: Consumer, survives_reset: true })

/** When a consumer's name was first used, and whether its start is complete. */
export const ConsumerStart = Schema.Struct({
  started_at: Schema.Int.annotate({ description: "Milliseconds of real time" }),
  /** Whether the consumer has a position in the feed of every workspace that existed when its name was first used. */
  is_complete: Schema.Boolean
})
export type ConsumerStart = typeof ConsumerStart.Type

/**
 * The record kind for the starts of consumers. The records are in the directory, keyed by the consumer's name. In a
 * workspace that is created later, a consumer starts with the first event.
 */
export const startKind = Kind.make({ name: "consumer_start", schema: ConsumerStart, survives_reset: true })

/** How many times a failing event is attempted, and how long the consumer waits between attempts, in milliseconds. */
export interface RetryPolicy {
  readonly max_attempts: number
  readonly backoff_ms: number
  readonly max_backoff_ms: number
}

/** Makes a consumer that is not stored yet. */
export const create = (name: string, created_at: number, position: number, erased_count: number): Consumer => ({
  name,
  version: 0,
  created_at,
  position,
  erased_count,
  failures: 0,
  deaths: 0,
  alone: null,
  suspects: null,
  retry_at: null,
  retries_asked: 0,
  retries_done: 0,
  lease: null
})

/** The stored record of one version of a consumer. */
export const toStored = (consumer: Consumer, now: number): StoredRecord =>
  kind.record(consumer, {
    id: consumer.name,
    version: consumer.version,
    created_at: consumer.created_at,
    updated_at: now
  })

/** Whether a requested retry is still to be done. */
export const hasRetries = ({ retries_asked, retries_done }: Consumer): boolean => retries_asked > retries_done

/** The next version of the consumer, with another retry requested. */
export const withRetry = (consumer: Consumer): Consumer => ({
  ...consumer,
  version: consumer.version + 1,
  retries_asked: consumer.retries_asked + 1
})

/**
 * The earliest time at which a process can claim the consumer, in milliseconds of real time: when no other process
 * holds it and its next attempt is due.
 */
export const claimableAt = (consumer: Consumer, holder: string): number =>
  Math.max(othersLease(consumer, holder)?.ends_at ?? 0, consumer.retry_at ?? 0)

/**
 * Whether the last holder has died. Call this only when the consumer can be claimed: by then, a living holder would
 * have released the consumer.
 */
export const hasHolderDied = (consumer: Consumer, holder: string): boolean => othersLease(consumer, holder) !== null

/**
 * The consumer's lease if another process holds it; null otherwise. A lease that this process failed to release is
 * still its own.
 */
const othersLease = ({ lease }: Consumer, holder: string) => (lease?.holder === holder ? null : lease)

/** The consumer after a process has claimed it. The lease expires at `ends_at`. */
export const claimed = (consumer: Consumer, holder: string, ends_at: number): Consumer => ({
  ...consumer,
  version: consumer.version + 1,
  retry_at: null,
  lease: { holder, ends_at }
})

/**
 * The consumer after the process that held it has died. `newestNumber` is the number of the newest event that may have
 * been running.
 *
 * A process handles events of many workspaces, so at first nobody knows which event killed it. All events that may have
 * been running are suspects. Each suspect then runs alone in its process, and is considered the cause only if that
 * process dies too. The first death is treated as a failed attempt at the next event, but no event is parked because of
 * it alone.
 */
export const afterDeath = (consumer: Consumer, newestNumber: number, diedAt: number): Consumer => {
  const { alone, deaths, failures, suspects } = consumer
  if (suspects === null)
    return { ...consumer, failures: failures + 1, suspects: { through: newestNumber, since: diedAt } }
  return alone === null ? consumer : { ...consumer, alone: null, failures: failures + 1, deaths: deaths + 1 }
}

/** Whether the event with this number must run alone, because it may have killed a process. */
export const isSuspect = ({ suspects }: Consumer, number: number): boolean =>
  suspects !== null && number <= suspects.through

/**
 * Clears the suspects once all of them are done. Also clears them if an event that kills processes was found after the
 * death that made them suspects, because that event explains the death.
 */
export const cleared = (consumer: Consumer, foundAt: number | null): Consumer => {
  const { position, suspects } = consumer
  const isOver = suspects !== null && (position >= suspects.through || (foundAt !== null && suspects.since <= foundAt))
  return isOver ? { ...consumer, suspects: null } : consumer
}

/** The consumer after this event is done. */
export const passed = (consumer: Consumer, number: number): Consumer => ({
  ...consumer,
  position: number,
  failures: 0,
  deaths: 0,
  alone: null,
  retry_at: null
})

/** The consumer after a failed attempt at the next event. */
export const failed = (consumer: Consumer, now: number, policy: RetryPolicy): Consumer => {
  const failures = consumer.failures + 1
  return { ...consumer, failures, retry_at: now + backoffOf(failures, policy) }
}

/** The pause after this many consecutive failures. It doubles with each failure, up to `max_backoff_ms`. */
const backoffOf = (failures: number, { backoff_ms, max_backoff_ms }: RetryPolicy): number =>
  Math.min(max_backoff_ms, backoff_ms * 2 ** Math.min(failures - 1, 30))

/** Whether to park the next event after its latest attempt has failed. */
export const isExhausted = ({ failures }: Consumer, { max_attempts }: RetryPolicy): boolean => failures >= max_attempts

/**
 * Whether to park the next event without another attempt. The event is parked if it has failed too many times and at
 * least one process died while that process handled nothing else. One failure is never enough, because the death may
 * have had another cause.
 */
export const isExhaustedByDeaths = ({ deaths, failures }: Consumer, { max_attempts }: RetryPolicy): boolean =>
  deaths > 0 && failures >= Math.max(max_attempts, 2)

/** Moves the position past events that were erased, either by age or by a reset. */
export const afterErased = (consumer: Consumer, erasedThrough: number, erased_count: number): Consumer =>
  erasedThrough > consumer.position
    ? { ...passed(consumer, erasedThrough), erased_count }
    : consumer.erased_count === erased_count
      ? consumer
      : { ...consumer, erased_count }

/** The number of events on a page. The position is stored at least once per page. */
export const pageEvents = 200
/** The longest time between two writes of the position, in milliseconds. */
export const storeEveryMs = secondMs
