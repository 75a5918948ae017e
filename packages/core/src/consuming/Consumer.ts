import { Schema } from "effect"
import type { StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import { secondMs } from "../wire/Timestamp.ts"

/*
 * The progress of a consumer in one workspace, and how it changes with each event, failure and claim.
 */

/** A consumer in one workspace: its position in the feed, its next attempt, and the process that holds it. */
export const Consumer = Schema.Struct({
  name: Schema.String,
  version: Schema.Int,
  created_at: Schema.Int.annotate({ description: "Milliseconds of real time" }),
  /** Every event up to this number is done: handled, parked, or of a type that the consumer does not handle. */
  position: Schema.Int,
  /** The workspace's `erased_count` when the position was set: how many resets had erased its events by then. */
  erased_count: Schema.Int,
  /** How often the event after the position failed, or may have failed because a process died. */
  failures: Schema.Int,
  /** How many processes have died while they ran the event after the position alone. */
  deaths: Schema.Int,
  /** The number of the event that currently runs alone in its process; null if none does. */
  alone: Schema.NullOr(Schema.Int),
  /**
   * The events that may have been running when a process died: all up to this number, and when the death was noticed.
   * Each of them runs alone from now on.
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

/** Consumers in storage, by name. They survive a reset, because feed numbers continue after it. */
export const kind = Kind.make({ name: "consumer", schema: Consumer, survives_reset: true })

/** When a name was first consumed, and whether its start is complete. */
export const ConsumerStart = Schema.Struct({
  started_at: Schema.Int.annotate({ description: "Milliseconds of real time" }),
  /** Whether the name has its position in the feed of every workspace that existed when it was first consumed. */
  is_complete: Schema.Boolean
})
export type ConsumerStart = typeof ConsumerStart.Type

/**
 * The starts of consumers in the directory, by name. Workspaces that are created later are consumed from their first
 * event.
 */
export const startKind = Kind.make({ name: "consumer_start", schema: ConsumerStart, survives_reset: true })

/** How often a failing event is tried, and how long the consumer waits between attempts, in milliseconds. */
export interface RetryPolicy {
  readonly max_attempts: number
  readonly backoff_ms: number
  readonly max_backoff_ms: number
}

/** A consumer that is not stored yet. */
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

/** The stored record of this version. */
export const toStored = (consumer: Consumer, now: number): StoredRecord =>
  kind.record(consumer, {
    id: consumer.name,
    version: consumer.version,
    created_at: consumer.created_at,
    updated_at: now
  })

/** Whether a requested retry is not done yet. */
export const hasRetries = ({ retries_asked, retries_done }: Consumer): boolean => retries_asked > retries_done

/** The next version, with one more retry requested. */
export const withRetry = (consumer: Consumer): Consumer => ({
  ...consumer,
  version: consumer.version + 1,
  retries_asked: consumer.retries_asked + 1
})

/**
 * When a process may claim the consumer, in milliseconds of real time: no other process holds it, and its next attempt
 * is due.
 */
export const claimableAt = (consumer: Consumer, holder: string): number =>
  Math.max(othersLease(consumer, holder)?.ends_at ?? 0, consumer.retry_at ?? 0)

/**
 * Whether the last holder has died. Ask only when the consumer can be claimed: a living holder would have released it
 * by then.
 */
export const hasHolderDied = (consumer: Consumer, holder: string): boolean => othersLease(consumer, holder) !== null

/** The lease, if another process holds it. A lease that this process could not release is still its own. */
const othersLease = ({ lease }: Consumer, holder: string) => (lease?.holder === holder ? null : lease)

/** The consumer after a process has claimed it with a lease until `ends_at`. */
export const claimed = (consumer: Consumer, holder: string, ends_at: number): Consumer => ({
  ...consumer,
  version: consumer.version + 1,
  retry_at: null,
  lease: { holder, ends_at }
})

/**
 * The consumer after the process that held it has died. `newest` is the number of the newest event that may have been
 * running.
 *
 * A process handles events of many workspaces, so at first nobody knows which one killed it. The events that may have
 * been running are suspects: each runs alone in its process, and counts as the cause only if that process dies. The
 * first death counts as a failed attempt at the next event, but parks nothing.
 */
export const afterDeath = (consumer: Consumer, newest: number, since: number): Consumer => {
  const { alone, deaths, failures, suspects } = consumer
  if (suspects === null) return { ...consumer, failures: failures + 1, suspects: { through: newest, since } }
  return alone === null ? consumer : { ...consumer, alone: null, failures: failures + 1, deaths: deaths + 1 }
}

/** Whether the event with this number must run alone, because it may have killed a process. */
export const isSuspect = ({ suspects }: Consumer, number: number): boolean =>
  suspects !== null && number <= suspects.through

/**
 * Clears the suspects if the event that killed the processes was found after the death that made them suspects, or if
 * all suspects are done.
 */
export const cleared = (consumer: Consumer, foundAt: number | null): Consumer => {
  const { position, suspects } = consumer
  const isOver = suspects !== null && (position >= suspects.through || (foundAt !== null && suspects.since <= foundAt))
  return isOver ? { ...consumer, suspects: null } : consumer
}

/** The consumer after the event with this number is done. */
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

/** The pause after this many failures in a row: it doubles with each, up to `max_backoff_ms`. */
const backoffOf = (failures: number, { backoff_ms, max_backoff_ms }: RetryPolicy): number =>
  Math.min(max_backoff_ms, backoff_ms * 2 ** Math.min(failures - 1, 30))

/** Whether the next event, which has just failed, is parked. */
export const isExhausted = ({ failures }: Consumer, { max_attempts }: RetryPolicy): boolean => failures >= max_attempts

/**
 * Whether the next event is parked without another attempt, because processes died while they handled it, at least one
 * of them while it handled nothing else. It takes two deaths, because a single one may have had another cause.
 */
export const isExhaustedByDeaths = ({ deaths, failures }: Consumer, { max_attempts }: RetryPolicy): boolean =>
  deaths > 0 && failures >= Math.max(max_attempts, 2)

/** Moves past events that were erased, because of their age or by a reset. */
export const afterErased = (consumer: Consumer, erasedThrough: number, erased_count: number): Consumer =>
  erasedThrough > consumer.position
    ? { ...passed(consumer, erasedThrough), erased_count }
    : consumer.erased_count === erased_count
      ? consumer
      : { ...consumer, erased_count }

/** How many events one page has. The position is stored at least once per page. */
export const pageEvents = 200
/** The longest time between two writes of the position, in milliseconds. */
export const storeEveryMs = secondMs
