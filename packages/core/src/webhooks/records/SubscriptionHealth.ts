import { Schema } from "effect"
import { SubscriptionId } from "../../wire/Ids.ts"
import { type EndpointHealth, LastAttempt } from "./EndpointHealth.ts"
import type { StoredSubscription } from "./StoredSubscription.ts"

/** A subscription's health, and why it has that state (api.md, Subscription health). */
export const SubscriptionHealth = Schema.Struct({
  subscription_id: SubscriptionId.annotateKey({ description: "The subscription" }),
  state: Schema.Literals(["no_endpoint", "healthy", "failing", "disabled"]).annotateKey({
    description: "Whether its endpoint accepts events"
  }),
  reason: Schema.String.annotate({ description: "Sentence for a person: why the state is what it is" }),
  last_attempt: Schema.NullOr(LastAttempt).annotateKey({ description: "The latest attempt; null if there was none" })
}).annotate({ identifier: "SubscriptionHealth" })
export type SubscriptionHealth = typeof SubscriptionHealth.Type

/** A subscription's health as its owner sees it. */
export const viewOf = (subscription: StoredSubscription, health: EndpointHealth): SubscriptionHealth => ({
  subscription_id: subscription.id,
  ...stateOf(subscription, health),
  last_attempt: health.last_attempt
})

const stateOf = (
  subscription: StoredSubscription,
  { last_attempt }: EndpointHealth
): Pick<SubscriptionHealth, "state" | "reason"> => {
  if (subscription.status === "unfinished" || subscription.status === "dropped") {
    return {
      state: "no_endpoint",
      reason: "The creation of the subscription was never completed, so it has no endpoint."
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
  if (last_attempt.status === "succeeded") return { state: "healthy", reason: "The latest attempt succeeded." }
  return { state: "failing", reason: reasonOf(last_attempt.response_status_code) }
}

/** Explains why an attempt failed, based on the status of the endpoint's response. */
const reasonOf = (responseStatusCode: number | null): string => {
  if (responseStatusCode === null) return "The latest attempt got no HTTP response."
  const isSuccess = responseStatusCode >= 200 && responseStatusCode < 300
  return isSuccess
    ? `The endpoint returned ${responseStatusCode}, but the complete response did not arrive within 15 seconds.`
    : `The endpoint returned ${responseStatusCode}.`
}
