import { Schema } from "effect"
import type { StoredRecord } from "../../storage/Change.ts"
import * as Kind from "../../storage/Kind.ts"
import { SubscriptionId } from "../../wire/Ids.ts"
import { fromMillis, minuteMs, Timestamp, toMillis } from "../../wire/Timestamp.ts"
import { type AttemptOutcome, shutOffAfterMs } from "./Delivery.ts"
import type { StoredSubscription } from "./StoredSubscription.ts"

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
export const kind = Kind.make({ name: "endpoint_health", schema: EndpointHealth })

/** An endpoint's health before its first attempt. Version 0 means that it is not stored yet. */
export const unknown = (subscription_id: SubscriptionId): EndpointHealth => ({
  subscription_id,
  version: 0,
  last_attempt: null,
  succeeded_at: null,
  failing_since: null,
  hung: 0,
  tests: []
})

/** The health after an attempt. Attempts may end in a different order than they began. */
export const afterAttempt = (health: EndpointHealth, outcome: AttemptOutcome): EndpointHealth => {
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

/** Whether the endpoint hangs, which means that it accepts attempts and lets them time out. */
export const isHanging = ({ hung }: EndpointHealth): boolean => hung >= hangsAfter

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
  health.failing_since !== null && now - health.failing_since >= shutOffAfterMs

/** The health of an endpoint after its delivery was turned on again. Earlier failures are forgotten. */
export const reset = (health: EndpointHealth): EndpointHealth => ({
  ...health,
  version: health.version + 1,
  failing_since: null
})

/** The times of the tests that count toward the limit per minute. `realNow` is in milliseconds. */
export const recentTests = (health: EndpointHealth, realNow: number): ReadonlyArray<number> =>
  health.tests.filter((test) => test > realNow - minuteMs)

/** The health after a test event was queued for delivery. */
export const afterTest = (health: EndpointHealth, realNow: number): EndpointHealth => ({
  ...health,
  version: health.version + 1,
  tests: [...recentTests(health, realNow), realNow]
})

/**
 * The stored record of an endpoint's health. It has the subscription's `created_at`, so that updates do not move it in
 * an index.
 */
export const toStored = (health: EndpointHealth, { created_at }: StoredSubscription, now: number): StoredRecord =>
  kind.record(health, { id: health.subscription_id, version: health.version, created_at, updated_at: now })
