import { Schema } from "effect"
import { Environment } from "../../access/Caller.ts"
import type { Change, StoredRecord } from "../../storage/Change.ts"
import type { NewJob } from "../../storage/Job.ts"
import * as Kind from "../../storage/Kind.ts"
import { SubscriptionId, type WorkspaceId } from "../../wire/Ids.ts"
import { fromMillis, minuteMs, Timestamp, toMillis } from "../../wire/Timestamp.ts"
import * as Delivery from "./Delivery.ts"

/*
 * The endpoint of a subscription, as stored: the subscription holds the types, the url and the secrets, the health how the
 * endpoint has answered. All attempts to an endpoint share these two records, and each may change them.
 */

/** A signing secret at rest. */
export const KeptSecret = Schema.Struct({
  sealed: Schema.String,
  /** When it stops signing, in milliseconds of workspace time; null for the newest. */
  expires_at: Schema.NullOr(Schema.Int),
  /** The `Idempotency-Key` of the rotation that made it. If its answer was lost, a retry shows the same secret. */
  key: Schema.NullOr(Schema.String)
})
export type KeptSecret = typeof KeptSecret.Type

/** A subscription as stored. Times are milliseconds of workspace time. */
export const KeptSubscription = Schema.Struct({
  id: SubscriptionId,
  version: Schema.Int,
  environment: Environment,
  url: Schema.String,
  /** `unfinished` until its host has been looked up; `dropped` if it was not finished in time or has no public host. */
  status: Schema.Literals(["unfinished", "active", "disabled", "dropped"]),
  event_types: Schema.Array(Schema.String),
  delivery_enabled: Schema.Boolean,
  /** Whether its endpoint hangs: it accepts attempts and lets them time out. Then only a few run at a time. */
  hangs: Schema.Boolean,
  /** Newest first. */
  secrets: Schema.Array(KeptSecret),
  /** A rotation that has begun: its secret, and the deadline to finish it. */
  rotation: Schema.NullOr(
    Schema.Struct({ key: Schema.NullOr(Schema.String), sealed: Schema.String, until: Schema.Int })
  ),
  created_at: Schema.Int,
  updated_at: Schema.Int
})
export type KeptSubscription = typeof KeptSubscription.Type

/** Subscriptions in storage, by id. Lists find the active ones, and those that their owner sees. */
export const subscriptionKind: Kind.Kind<"subscription", KeptSubscription> = Kind.make({
  name: "subscription",
  schema: KeptSubscription,
  survives_reset: true,
  sealed_texts: (workspaceId, record) => secretsIn(workspaceId, subscriptionKind.value(record)),
  listing: (subscription) => ({
    parent: subscription.status === "active" ? activeParent : null,
    status: subscription.status,
    labels: isListed(subscription) ? [listedLabel] : []
  })
})

/** The purpose of the secrets of a subscription, which are sealed for it alone. */
export const purposeOfSecrets = (workspaceId: WorkspaceId, id: SubscriptionId): string =>
  `signing secret ${workspaceId} ${id}`

const secretsIn = (workspaceId: WorkspaceId, subscription: KeptSubscription): Kind.SealedTexts => {
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
 * The next version, with these changes. After a reset the clock is back, so `updated_at` is never before `created_at`.
 */
export const changed = (
  subscription: KeptSubscription,
  changes: Partial<Omit<KeptSubscription, "id" | "version" | "environment" | "created_at">>,
  at: number
): KeptSubscription => ({
  ...subscription,
  ...changes,
  version: subscription.version + 1,
  updated_at: Math.max(at, subscription.created_at)
})

/** Whether events are delivered to this subscription. */
export const receives = (subscription: KeptSubscription): boolean =>
  subscription.status === "active" && subscription.delivery_enabled

/** The stored record of the subscription. */
export const subscriptionToStored = (subscription: KeptSubscription): StoredRecord => {
  const { id, version, created_at, updated_at } = subscription
  return subscriptionKind.record(subscription, { id, version, created_at, updated_at })
}

/** The parent of active subscriptions, so that they can be listed without reading the others. */
export const activeParent = "active"

/** The status label of subscriptions that their owner sees. */
export const listedLabel = "listed"

const isListed = ({ status }: KeptSubscription): boolean => status === "active" || status === "disabled"

/** The secrets that are valid at a moment, newest first. */
export const validSecrets = (subscription: KeptSubscription, at: number): ReadonlyArray<KeptSecret> =>
  subscription.secrets.filter(({ expires_at }) => expires_at === null || at < expires_at)

/** The latest attempt to an endpoint. */
export const LastAttempt = Schema.Struct({
  attempted_at: Timestamp.annotateKey({ description: "When it was sent" }),
  status: Schema.Literals(["pending", "succeeded", "failed", "cancelled"]).annotateKey({
    description: "The outcome"
  }),
  response_status_code: Schema.NullOr(Schema.Int).annotateKey({
    description: "The HTTP status of the answer; null if there was none"
  })
})

/** The health of an endpoint as stored. */
export const KeptHealth = Schema.Struct({
  subscription_id: SubscriptionId,
  version: Schema.Int,
  last_attempt: Schema.NullOr(LastAttempt),
  /** When the newest successful attempt was made, in milliseconds of workspace time; null without one. */
  succeeded_at: Schema.NullOr(Schema.Int),
  /** When the first failure after the newest success occurred, in milliseconds of workspace time; null without one. */
  failing_since: Schema.NullOr(Schema.Int),
  /** How many of the last attempts in a row have hung, in the order in which they ended. */
  hung: Schema.Int,
  /** When the tests of the last minute were queued, in milliseconds of real time. */
  tests: Schema.Array(Schema.Int)
})
export type KeptHealth = typeof KeptHealth.Type

/** The health of endpoints in storage, by the ids of their subscriptions. */
export const healthKind = Kind.make({ name: "endpoint_health", schema: KeptHealth })

/** The health of an endpoint before its first attempt. Version 0 means that it is not stored yet. */
export const unknownHealth = (subscription_id: SubscriptionId): KeptHealth => ({
  subscription_id,
  version: 0,
  last_attempt: null,
  succeeded_at: null,
  failing_since: null,
  hung: 0,
  tests: []
})

/** The health after an attempt. Attempts may end in a different order than they were made. */
export const attemptedHealth = (health: KeptHealth, outcome: Delivery.AttemptOutcome): KeptHealth => {
  const { attempted_at: at, confirmed } = outcome
  const newest = health.last_attempt
  const attempted_at = fromMillis(at)
  // The timestamps compare as texts.
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

/** An endpoint counts as hanging after this many hung attempts in a row. */
const hangsAfter = 3

/** Since when an endpoint has been failing, given a failed attempt at `at`. */
const failingFrom = ({ succeeded_at, failing_since }: KeptHealth, at: number): number | null =>
  succeeded_at !== null && at < succeeded_at ? failing_since : Math.min(at, failing_since ?? at)

/** Since when an endpoint has been failing, given a success at `at`; null unless a later failure is known. */
const failingAfter = ({ last_attempt, failing_since }: KeptHealth, at: number): number | null => {
  if (failing_since === null || failing_since > at) return failing_since
  const newest = last_attempt === null ? at : toMillis(last_attempt.attempted_at)
  return last_attempt?.status === "failed" && newest > at ? newest : null
}

/** Whether to turn delivery off: an attempt failed, and none has succeeded for five days since the first failure. */
export const isShutOff = (health: KeptHealth, at: number): boolean =>
  health.failing_since !== null && at - health.failing_since >= Delivery.shutOffAfterMs

/** The health of an endpoint whose delivery is turned on again, without its earlier failures. */
export const resetHealth = (health: KeptHealth): KeptHealth => ({
  ...health,
  version: health.version + 1,
  failing_since: null
})

/** The tests that count against the limit per minute. `real_now` in milliseconds. */
export const recentTests = (health: KeptHealth, realNow: number): ReadonlyArray<number> =>
  health.tests.filter((test) => test > realNow - minuteMs)

/** The health after a test was queued for delivery. */
export const testedHealth = (health: KeptHealth, realNow: number): KeptHealth => ({
  ...health,
  version: health.version + 1,
  tests: [...recentTests(health, realNow), realNow]
})

/** The stored record of the health. It keeps the subscription's `created_at`, so that updates do not move it in an index. */
export const healthToStored = (health: KeptHealth, { created_at }: KeptSubscription, at: number): StoredRecord =>
  healthKind.record(health, { id: health.subscription_id, version: health.version, created_at, updated_at: at })

/** The subscription and the health that all attempts to one endpoint share. */
export interface Endpoint {
  readonly subscription: KeptSubscription
  readonly health: KeptHealth
}

/** An attempt that has ended. */
export interface EndedAttempt {
  /** The step of the delivery's schedule; null for an attempt outside the schedule. */
  readonly schedule_step: number | null
  /** The delivery in its newest known version. */
  readonly delivery: Delivery.KeptDelivery
  readonly outcome: Delivery.AttemptOutcome
  /** When its job was started, in milliseconds of workspace time. */
  readonly now: number
}

/** The changes that follow from a batch of attempts. */
export interface AttemptChanges extends Pick<Change, "writes" | "jobs"> {
  /** The endpoint after these changes are stored. */
  readonly endpoint: Endpoint
}

/** The changes that follow from one attempt. */
interface Step extends Endpoint {
  readonly delivery: Delivery.KeptDelivery
  readonly jobs: ReadonlyArray<NewJob>
}

/** Applies one attempt to the state after those before it (api.md, Retry schedule). */
const step = (
  { subscription, health: before }: Endpoint,
  { schedule_step, delivery, outcome, now }: EndedAttempt
): Step => {
  const { ended_at } = outcome
  const health = attemptedHealth(before, outcome)
  // After five days of failures delivery turns off, and all open deliveries are cancelled.
  const turnsOff = !outcome.confirmed && receives(subscription) && isShutOff(health, outcome.attempted_at)
  const hangs = health.hung >= hangsAfter
  // The owner sees no difference.
  const known = subscription.hangs === hangs ? subscription : changed(subscription, { hangs }, subscription.updated_at)
  const after = turnsOff ? changed(known, { delivery_enabled: false }, ended_at) : known
  // An attempt outside the schedule, or one whose delivery was cancelled in the meantime, is only recorded.
  const isNext = Delivery.isOpen(delivery) && delivery.schedule_step === schedule_step
  const next = isNext ? Delivery.attempted(delivery, outcome) : Delivery.withAttempt(delivery, outcome)
  // If delivery was turned off, now or during the attempt, no attempt follows.
  const isCancelled = Delivery.isOpen(next) && !receives(after)
  const last = isCancelled ? Delivery.finished(next, "cancelled") : next
  const retries = isNext && Delivery.isOpen(last) ? [Delivery.attemptJob(last, after, Math.max(now, ended_at))] : []
  return {
    subscription: after,
    health,
    delivery: last,
    jobs: turnsOff ? [...retries, Delivery.cancelJob(after.id, ended_at)] : retries
  }
}

/**
 * Applies the attempts to one endpoint, one after another. The result is the same as if each were committed alone, but
 * each record is written only once.
 *
 * `stored` is the endpoint as stored; every written record has the next version.
 */
export const applyAttempts = (stored: Endpoint, attempts: ReadonlyArray<EndedAttempt>): AttemptChanges => {
  let { subscription, health }: Endpoint = stored
  let at = 0
  const deliveries = new Map<string, { readonly last: Delivery.KeptDelivery; readonly record: StoredRecord }>()
  const jobs: Array<NewJob> = []
  for (const ended of attempts) {
    const { event_id } = ended.delivery
    const before = deliveries.get(event_id)
    const after = step({ subscription, health }, before === undefined ? ended : { ...ended, delivery: before.last })
    const last = { ...after.delivery, version: before?.last.version ?? after.delivery.version }
    at = ended.outcome.ended_at
    deliveries.set(event_id, { last, record: Delivery.toStored(last, at) })
    subscription = after.subscription
    health = after.health
    jobs.push(...after.jobs)
  }
  const writes = [...deliveries.values()].map(({ record }) => record)
  health = { ...health, version: stored.health.version + 1 }
  writes.push(healthToStored(health, subscription, at))
  if (subscription !== stored.subscription) {
    subscription = { ...subscription, version: stored.subscription.version + 1 }
    writes.push(subscriptionToStored(subscription))
  }
  return { writes, jobs, endpoint: { subscription, health } }
}
