import { Effect } from "effect"
import * as ApiError from "../../wire/ApiError.ts"
import * as Subscription from "../records/EventSubscription.ts"
import type { WebhookSender } from "../WebhookSender.ts"

/** Fails if the program sends no webhooks, and logs what the operator must provide. */
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

/** Tells an embedder which option to pass so that webhooks are sent. */
export const webhooksOption =
  "Pass the `webhooks` option to `embed`, such as NodeWebhookSender.layer() from @quotewire/http."

/** The error for a creation or rotation that is retried after more than ten minutes. */
export const tooLate = Effect.fail(
  ApiError.make("conflict", {
    message: "The first call with this Idempotency-Key was not finished within ten minutes.",
    retry_action: "use_new_request_key"
  })
)

/** The error for an active subscription beyond the maximum. */
export const capReached = Effect.fail(
  ApiError.make("conflict", {
    message: `You already have the maximum of ${Subscription.maxActive} active subscriptions; disable one first.`,
    retry_action: "none"
  })
)

/** The error for a rotation while another rotation is in progress. */
export const rotating = Effect.fail(
  ApiError.make("conflict", {
    message: "A rotation of this subscription's signing secret is still in progress.",
    retry_action: "wait"
  })
)

/** The error for a rotation while the maximum number of secrets still sign. */
export const tooManySecrets = Effect.fail(
  ApiError.make("conflict", {
    message: `The subscription already has the maximum of ${Subscription.maxSecrets} signing secrets; the oldest expires within a day.`,
    retry_action: "wait"
  })
)

/** The error for a call that needs an active subscription. */
export const notActive = Effect.fail(
  ApiError.make("conflict", { message: "The subscription is disabled.", retry_action: "none" })
)

/**
 * The error for a wrong URL. It has the same message for unknown and private hosts, so that nobody can use it to scan
 * networks.
 */
export const wrongUrl: ApiError.FieldError = {
  path: "url",
  message: "Must be the https address of a public host in its normalized form, without a user, password or fragment."
}

/** The error for a URL whose host cannot be looked up at the moment. */
export const nameServerDown = Effect.fail(
  ApiError.make("service_unavailable", {
    message: "The host name in the url does not resolve right now.",
    retry_after_seconds: 5
  })
)
