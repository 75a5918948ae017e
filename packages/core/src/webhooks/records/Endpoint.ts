import { Schema } from "effect"
import { Environment } from "../../access/Caller.ts"
import type { Change, StoredRecord } from "../../storage/Change.ts"
import type { NewJob } from "../../storage/Job.ts"
import * as Kind from "../../storage/Kind.ts"
import { SubscriptionId, type WorkspaceId } from "../../wire/Ids.ts"
import { fromMillis, minuteMs, Timestamp, toMillis } from "../../wire/Timestamp.ts"
import * as Delivery from "./Delivery.ts"

/*
 * A subscription's endpoint is stored as two records. The subscription contains the event types, the URL and the
 * secrets; the health says how the endpoint has responded. All attempts to an endpoint share these two records, and
 * each may change them.
 */

/** A signing secret as stored. */
export const StoredSecret = Schema.Struct({
  sealed: Schema.String,
  /** When the secret stops signing, in milliseconds of workspace time; null for the newest secret. */
  expires_at: Schema.NullOr(Schema.Int),
  /**
   * The `Idempotency-Key` of the rotation that made the secret. If the response to the rotation was lost, a retry shows
   * the same secret.
   */
  key: Schema.NullOr(Schema.String)
})
export type StoredSecret = typeof StoredSecret.Type

/** A subscription as stored. Times are milliseconds of workspace time. */
export const StoredSubscription = Schema.Struct({
  id: SubscriptionId,
  version: Schema.Int,
  environment: Environment,
  url: Schema.String,
  /**
   * `unfinished` until the host has been looked up; `dropped` if the subscription was not finished in time, or if its
   * host is not public.
   */
  status: Schema.Literals(["unfinished", "active", "disabled", "dropped"]),
  event_types: Schema.Array(Schema.String),
  delivery_enabled: Schema.Boolean,
  /**
   * Whether the endpoint hangs, which means that it accepts attempts and lets them time out. Only a few attempts then
   * run at a time.
   */
  hangs: Schema.Boolean,
  /** The secrets, newest first. */
  secrets: Schema.Array(StoredSecret),
  /**
   * The rotation in progress, with its secret and the deadline for finishing it; null if no rotation is in progress.
   */
  rotation: Schema.NullOr(
    Schema.Struct({ key: Schema.NullOr(Schema.String), sealed: Schema.String, until: Schema.Int })
  ),
  created_at: Schema.Int,
  updated_at: Schema.Int
})
export type StoredSubscription = typeof StoredSubscription.Type

/**
 * The record kind for subscriptions, keyed by ID. Lists can select the active subscriptions, or the subscriptions that
 * their owner can see.
 */
export const subscriptionKind: Kind.Kind<"subscription", StoredSubscription> = Kind.make({
  name: "subscription",
  schema: StoredSubscription,
  survives_reset: true,
  sealed_texts: (workspaceId, record) => secretsIn(workspaceId, subscriptionKind.value(record)),
  listing: (subscription) => ({
    parent: subscription.status === "active" ? activeParent : null,
    status: subscription.status,
    labels: isListed(subscription) ? [listedLabel] : []
  })
})

/**
 * The purpose for which a subscription's secrets are sealed. Secrets cannot be opened for another subscription, because
 * its purpose differs.
 */
export const purposeOfSecrets = (workspaceId: WorkspaceId, id: SubscriptionId): string =>
  `signing secret ${workspaceId} ${id}`

const secretsIn = (workspaceId: WorkspaceId, subscription: StoredSubscription): Kind.SealedTexts => {
  const { id, rotation, secrets, updated_at } = subscription
  return {
    purpose: purposeOfSecrets(workspaceId, id),
    texts: [...secrets, ...(rotation === null ? [] : [rotation])].map(({ sealed }) => sealed),
    resealed: (reseal) =>
      subscriptionToStored(
        changed(
          subscription,
          {
            secrets: secrets.map((secret) => ({ ...secret, sealed: reseal(secret.sealed) })),
            rotation: rotation === null ? null : { ...rotation, sealed: reseal(rotation.sealed) }
          },
          updated_at
        )
      )
  }
}

/**
 * Makes the next version with these changes. A reset can set the clock back, but `updated_at` is never earlier than
 * `created_at`.
 */
export const changed = (
  subscription: StoredSubscription,
  changes: Partial<Omit<StoredSubscription, "id" | "version" | "environment" | "created_at">>,
  now: number
): StoredSubscription => ({
  ...subscription,
  ...changes,
  version: subscription.version + 1,
  updated_at: Math.max(now, subscription.created_at)
})

/** Whether events are delivered to this subscription. */
export const receives = (subscription: StoredSubscription): boolean =>
  subscription.status === "active" && subscription.delivery_enabled

/** The stored record of a subscription. */
export const subscriptionToStored = (subscription: StoredSubscription): StoredRecord => {
  const { id, version, created_at, updated_at } = subscription
  return subscriptionKind.record(subscription, { id, version, created_at, updated_at })
}

/** The parent of active subscriptions. Lists by this parent do not read other subscriptions. */
export const activeParent = "active"

/** The status label of subscriptions that their owner can see. */
export const listedLabel = "listed"

const isListed = ({ status }: StoredSubscription): boolean => status === "active" || status === "disabled"

/** The secrets that are valid at a given time, newest first. */
export const validSecrets = (subscription: StoredSubscription, now: number): ReadonlyArray<StoredSecret> =>
  subscription.secrets.filter(({ expires_at }) => expires_at === null || now < expires_at)

/** The latest attempt to an endpoint. */
export const LastAttempt = Schema.Struct({
  attempted_at: Timestamp.annotateKey({ description: "When it was sent" }),
  status: Schema.Literals(["pending", "succeeded", "failed", "cancelled"]).annotateKey({
    description: "The outcome"
  }),
  response_status_code: Schema.NullOr(Schema.Int).annotateKey({
    description: "The HTTP status of the response; null if there was none"
  })
})

/** An endpoint's health, as stored. */
export const EndpointHealth = Schema.Struct({
  subscription_id: SubscriptionId,
  version: Schema.Int,
  last_attempt: Schema.NullOr(LastAttempt),
  /**
   * When the latest successful attempt was made, in milliseconds of workspace time; null if no attempt has succeeded.
   */
  succeeded_at: Schema.NullOr(Schema.Int),
  /**
   * When the first failure after the latest success occurred, in milliseconds of workspace time; null if there was no
   * such failure.
   */
  failing_since: Schema.NullOr(Schema.Int),
  /** How many consecutive attempts have hung, counting back from the one that ended last. */
  hung: Schema.Int,
  /** The times of the tests in the last minute, in milliseconds of real time. */
  tests: Schema.Array(Schema.Int)
})
export type EndpointHealth = typeof EndpointHealth.Type

/** The record kind for the health of endpoints, keyed by subscription ID. */
export const healthKind = Kind.make({ name: "endpoint_health", schema: EndpointHealth })

/** An endpoint's health before its first attempt. Version 0 means that it is not stored yet. */
export const unknownHealth = (subscription_id: SubscriptionId): EndpointHealth => ({
  subscription_id,
  version: 0,
  last_attempt: null,
  succeeded_at: null,
  failing_since: null,
  hung: 0,
  tests: []
})

/** The health after an attempt. Attempts may end in a different order than they began. */
export const attemptedHealth = (health: EndpointHealth, outcome: Delivery.AttemptOutcome): EndpointHealth => {
  const { attempted_at: at, confirmed } = outcome
  const newest = health.last_attempt
  const attempted_at = fromMillis(at)
  // The timestamps have a fixed format, so they can be compared as text.
  const isNewest = newest === null || attempted_at >= newest.attempted_at
  return {
    ...health,
    version: health.version + 1,
    last_attempt: isNewest
      ? {
          attempted_at,
          status: confirmed ? "succeeded" : "failed",
          response_status_code: outcome.response_status_code
        }
      : newest,
    succeeded_at: confirmed ? Math.max(at, health.succeeded_at ?? at) : health.succeeded_at,
    failing_since: confirmed ? failingAfter(health, at) : failingFrom(health, at),
    hung: outcome.failure === "timeout" ? health.hung + 1 : 0
  }
}

/** An endpoint is considered to be hanging after this many consecutive attempts have hung. */
const hangsAfter = 3

/** When an endpoint began to fail, given a failed attempt that was made at `attemptedAt`. */
const failingFrom = ({ succeeded_at, failing_since }: EndpointHealth, attemptedAt: number): number | null =>
  succeeded_at !== null && attemptedAt < succeeded_at
    ? failing_since
    : Math.min(attemptedAt, failing_since ?? attemptedAt)

/**
 * When an endpoint began to fail, given a successful attempt that was made at `attemptedAt`; null unless a later failure
 * is known.
 */
const failingAfter = ({ last_attempt, failing_since }: EndpointHealth, attemptedAt: number): number | null => {
  if (failing_since === null || failing_since > attemptedAt) return failing_since
  const newest = last_attempt === null ? attemptedAt : toMillis(last_attempt.attempted_at)
  return last_attempt?.status === "failed" && newest > attemptedAt ? newest : null
}

/**
 * Whether to turn delivery off: an attempt has failed, and no attempt has succeeded in the five days since the first
 * failure.
 */
export const isShutOff = (health: EndpointHealth, now: number): boolean =>
  health.failing_since !== null && now - health.failing_since >= Delivery.shutOffAfterMs

/** The health of an endpoint after its delivery was turned on again. Earlier failures are forgotten. */
export const resetHealth = (health: EndpointHealth): EndpointHealth => ({
  ...health,
  version: health.version + 1,
  failing_since: null
})

/** The times of the tests that count toward the limit per minute. `realNow` is in milliseconds. */
export const recentTests = (health: EndpointHealth, realNow: number): ReadonlyArray<number> =>
  health.tests.filter((test) => test > realNow - minuteMs)

/** The health after a test event was queued for delivery. */
export const testedHealth = (health: EndpointHealth, realNow: number): EndpointHealth => ({
  ...health,
  version: health.version + 1,
  tests: [...recentTests(health, realNow), realNow]
})

/**
 * The stored record of an endpoint's health. It has the subscription's `created_at`, so that updates do not move it in
 * an index.
 */
export const healthToStored = (health: EndpointHealth, { created_at }: StoredSubscription, now: number): StoredRecord =>
  healthKind.record(health, { id: health.subscription_id, version: health.version, created_at, updated_at: now })

/** The subscription and the health of one endpoint, which all attempts to it share. */
export interface Endpoint {
  readonly subscription: StoredSubscription
  readonly health: EndpointHealth
}

/** An attempt that has ended. */
export interface EndedAttempt {
  /** The step in the delivery's schedule; null for an attempt outside the schedule. */
  readonly schedule_step: number | null
  /** The newest known version of the delivery. */
  readonly delivery: Delivery.StoredDelivery
  readonly outcome: Delivery.AttemptOutcome
  /** When the attempt's job began, in milliseconds of workspace time. */
  readonly now: number
}

/** The changes that a batch of attempts makes. */
export interface AttemptChanges extends Pick<Change, "writes" | "jobs"> {
  /** The endpoint after these changes are stored. */
  readonly endpoint: Endpoint
}

/** The changes that one attempt makes. */
interface Step extends Endpoint {
  readonly delivery: Delivery.StoredDelivery
  readonly jobs: ReadonlyArray<NewJob>
}

/** Applies one attempt to the state that earlier attempts left (api.md, Retry schedule). */
const step = (
  { subscription, health: previous }: Endpoint,
  { schedule_step, delivery, outcome, now }: EndedAttempt
): Step => {
  const { ended_at } = outcome
  const health = attemptedHealth(previous, outcome)
  // After five days of failures, delivery is turned off and all open deliveries are cancelled.
  const turnsOff = !outcome.confirmed && receives(subscription) && isShutOff(health, outcome.attempted_at)
  const isHanging = health.hung >= hangsAfter
  // `updated_at` stays the same, because the owner sees no change.
  const withHangs =
    subscription.hangs === isHanging
      ? subscription
      : changed(subscription, { hangs: isHanging }, subscription.updated_at)
  const afterOutcome = turnsOff ? changed(withHangs, { delivery_enabled: false }, ended_at) : withHangs
  // If the attempt is outside the schedule, or its delivery was cancelled in the meantime, it is only recorded.
  const isNext = Delivery.isOpen(delivery) && delivery.schedule_step === schedule_step
  const next = isNext ? Delivery.attempted(delivery, outcome) : Delivery.withAttempt(delivery, outcome)
  // If delivery was turned off, now or during the attempt, no more attempts follow.
  const isCancelled = Delivery.isOpen(next) && !receives(afterOutcome)
  const last = isCancelled ? Delivery.finished(next, "cancelled") : next
  const retries =
    isNext && Delivery.isOpen(last) ? [Delivery.attemptJob(last, afterOutcome, Math.max(now, ended_at))] : []
  return {
    subscription: afterOutcome,
    health,
    delivery: last,
    jobs: turnsOff ? [...retries, Delivery.cancelJob(afterOutcome.id, ended_at)] : retries
  }
}

/**
 * Applies the attempts to one endpoint, one after another. The result is the same as if each were committed separately,
 * except that each record is written only once.
 *
 * `endpoint` is the endpoint as stored. Every written record has the next version.
 */
export const applyAttempts = (endpoint: Endpoint, attempts: ReadonlyArray<EndedAttempt>): AttemptChanges => {
  let { subscription, health }: Endpoint = endpoint
  let at = 0
  const deliveries = new Map<string, { readonly last: Delivery.StoredDelivery; readonly record: StoredRecord }>()
  const jobs: Array<NewJob> = []
  for (const ended of attempts) {
    const { event_id } = ended.delivery
    const earlierStep = deliveries.get(event_id)
    const stepped = step(
      { subscription, health },
      earlierStep === undefined ? ended : { ...ended, delivery: earlierStep.last }
    )
    const last = { ...stepped.delivery, version: earlierStep?.last.version ?? stepped.delivery.version }
    at = ended.outcome.ended_at
    deliveries.set(event_id, { last, record: Delivery.toStored(last, at) })
    subscription = stepped.subscription
    health = stepped.health
    jobs.push(...stepped.jobs)
  }
  const writes = [...deliveries.values()].map(({ record }) => record)
  health = { ...health, version: endpoint.health.version + 1 }
  writes.push(healthToStored(health, subscription, at))
  if (subscription !== endpoint.subscription) {
    subscription = { ...subscription, version: endpoint.subscription.version + 1 }
    writes.push(subscriptionToStored(subscription))
  }
  return { writes, jobs, endpoint: { subscription, health } }
}
