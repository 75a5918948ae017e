import { Schema } from "effect"
import type { StoredRecord } from "../../storage/Change.ts"
import * as Kind from "../../storage/Kind.ts"
import { SubscriptionId } from "../../wire/Ids.ts"
import { fromMillis, minuteMs, Timestamp, toMillis } from "../../wire/Timestamp.ts"
import { type AttemptOutcome, shutOffAfterMs } from "./Delivery.ts"
import type { KeptSubscription } from "./EventSubscription.ts"

/** The health of a subscription, with the reason for it (api.md, Subscription health). */
export const SubscriptionHealth = Schema.Struct({
  subscription_id: SubscriptionId.annotateKey({ description: "The subscription" }),
  state: Schema.Literals(["no_endpoint", "healthy", "failing", "disabled"]).annotateKey({
    description: "Whether its endpoint takes events"
  }),
  reason: Schema.String.annotate({ description: "Sentence for a person: why the state is what it is" }),
  last_attempt: Schema.NullOr(
    Schema.Struct({
      attempted_at: Timestamp.annotateKey({ description: "When it was sent" }),
      status: Schema.Literals(["pending", "succeeded", "failed", "cancelled"]).annotateKey({
        description: "What came of it"
      }),
      response_status_code: Schema.NullOr(Schema.Int).annotateKey({
        description: "The HTTP status of the answer; null if there was none"
      })
    })
  ).annotateKey({ description: "The newest attempt; null if there was none" })
}).annotate({ identifier: "SubscriptionHealth" })
export type SubscriptionHealth = typeof SubscriptionHealth.Type

/** The health of an endpoint as stored. */
export const KeptHealth = Schema.Struct({
  subscription_id: SubscriptionId,
  version: Schema.Int,
  last_attempt: SubscriptionHealth.fields.last_attempt,
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
export const kind = Kind.make({ name: "endpoint_health", schema: KeptHealth })

/** The health of an endpoint before its first attempt. Version 0 means that it is not stored yet. */
export const unknown = (subscription_id: SubscriptionId): KeptHealth => ({
  subscription_id,
  version: 0,
  last_attempt: null,
  succeeded_at: null,
  failing_since: null,
  hung: 0,
  tests: []
})

/** The health after an attempt. Attempts may end in a different order than they were made. */
export const attempted = (health: KeptHealth, outcome: AttemptOutcome): KeptHealth => {
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
    hung: outcome.hung ? health.hung + 1 : 0
  }
}

/** An endpoint counts as hanging after this many hung attempts in a row. */
const hangsAfter = 3

/** Whether an endpoint hangs, judged by its newest attempts. */
export const hangs = ({ hung }: KeptHealth): boolean => hung >= hangsAfter

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
  health.failing_since !== null && at - health.failing_since >= shutOffAfterMs

/** The health of an endpoint whose delivery is turned on again, without its earlier failures. */
export const reset = (health: KeptHealth): KeptHealth => ({
  ...health,
  version: health.version + 1,
  failing_since: null
})

/** The tests that count against the limit per minute. `real_now` in milliseconds. */
export const recentTests = (health: KeptHealth, realNow: number): ReadonlyArray<number> =>
  health.tests.filter((test) => test > realNow - minuteMs)

/** The health after a test was queued for delivery. */
export const tested = (health: KeptHealth, realNow: number): KeptHealth => ({
  ...health,
  version: health.version + 1,
  tests: [...recentTests(health, realNow), realNow]
})

/** The health as the subscription's owner sees it. */
export const viewOf = (subscription: KeptSubscription, health: KeptHealth): SubscriptionHealth => ({
  subscription_id: subscription.id,
  ...stateOf(subscription, health),
  last_attempt: health.last_attempt
})

const stateOf = (
  subscription: KeptSubscription,
  { last_attempt }: KeptHealth
): Pick<SubscriptionHealth, "state" | "reason"> => {
  if (subscription.status === "unfinished" || subscription.status === "dropped") {
    return {
      state: "no_endpoint",
      reason: "The subscription was not finished, so there is nowhere to send its events."
    }
  }
  if (subscription.status === "disabled") return { state: "disabled", reason: "The subscription is disabled." }
  if (!subscription.delivery_enabled) {
    return {
      state: "disabled",
      reason: "Every delivery failed for five days, so delivery is off. Send a PATCH with the url to turn it back on."
    }
  }
  if (last_attempt === null) return { state: "healthy", reason: "Nothing has been sent yet." }
  if (last_attempt.status === "succeeded") return { state: "healthy", reason: "The newest attempt succeeded." }
  return { state: "failing", reason: reasonOf(last_attempt.response_status_code) }
}

/** Why an attempt failed, judged by the status of the endpoint's answer. */
const reasonOf = (responseStatusCode: number | null): string => {
  if (responseStatusCode === null) return "The newest attempt got no HTTP answer."
  const isSuccess = responseStatusCode >= 200 && responseStatusCode < 300
  return isSuccess
    ? `The newest attempt was answered with ${responseStatusCode}, but the complete answer did not arrive within 15 seconds.`
    : `The newest attempt was answered with ${responseStatusCode}.`
}

/** The stored record. It keeps the subscription's `created_at`, so that updates do not move it in an index. */
export const toStored = (health: KeptHealth, { created_at }: KeptSubscription, at: number): StoredRecord =>
  kind.record(health, { id: health.subscription_id, version: health.version, created_at, updated_at: at })
