import { Effect } from "effect"
import * as ApiError from "../../wire/ApiError.ts"
import * as Subscription from "../records/EventSubscription.ts"
import type { WebhookSender } from "../WebhookSender.ts"

/** Fails if the program sends no webhooks, and logs for the operator what is missing. */
export const requireSender = ({ off }: Pick<WebhookSender["Service"], "off">) =>
  off === undefined
    ? Effect.void
    : Effect.andThen(
        Effect.logWarning(`A call needs webhooks, but this program does not send any. ${webhooksOption}`),
        ApiError.make("conflict", {
          message: "This service sends no webhooks. Read its events from the feed instead.",
          retry_action: "none"
        })
      )

/** The option that an embedder must pass to send webhooks. */
export const webhooksOption =
  "Pass the `webhooks` option to `embed`, such as NodeWebhookSender.layer() from @quotewire/http."

/** The refusal of a creation or rotation that is retried after its ten minutes have passed. */
export const tooLate = Effect.fail(
  ApiError.make("conflict", {
    message: "The first call with this Idempotency-Key was not finished within ten minutes.",
    retry_action: "use_new_request_key"
  })
)

/** The refusal of a further active subscription beyond the maximum. */
export const capReached = Effect.fail(
  ApiError.make("conflict", {
    message: `You already have the maximum of ${Subscription.maxActive} active subscriptions; disable one first.`,
    retry_action: "none"
  })
)

/** The refusal of a rotation while another one is in progress. */
export const rotating = Effect.fail(
  ApiError.make("conflict", {
    message: "A rotation of this subscription's signing secret is still in progress.",
    retry_action: "wait"
  })
)

/** The refusal of a rotation while too many older secrets still sign. */
export const tooManySecrets = Effect.fail(
  ApiError.make("conflict", {
    message: `The subscription already has the maximum of ${Subscription.maxSecrets} signing secrets; the oldest expires within a day.`,
    retry_action: "wait"
  })
)

/** The refusal of a call that needs an active subscription. */
export const notActive = Effect.fail(
  ApiError.make("conflict", { message: "The subscription is disabled.", retry_action: "none" })
)

/**
 * A wrong URL. The message is the same for unknown and for private hosts, so that it cannot be used to scan networks.
 */
export const wrongUrl: ApiError.FieldError = {
  path: "url",
  message: "Must be the https address of a public host in its normalized form, without a user, password or fragment."
}

/** The refusal of a call because the URL's host cannot be looked up at the moment. */
export const nameServerDown = Effect.fail(
  ApiError.make("service_unavailable", {
    message: "The host name in the url does not resolve right now.",
    retry_after_seconds: 5
  })
)
