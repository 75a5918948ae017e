import { Effect } from "effect"
import * as ApiError from "../../wire/ApiError.ts"
import * as Subscription from "./EventSubscription.ts"

/** The repeat of a create or rotation whose ten minutes are over. */
export const tooLate = Effect.fail(
  ApiError.make("conflict", {
    message: "The first call with this Idempotency-Key was not finished within ten minutes.",
    retry_action: "use_new_request_key"
  })
)

/** The repeat of a create with another url or other event types. */
export const otherInput = Effect.fail(
  ApiError.make("conflict", {
    message: "This Idempotency-Key was used with another input.",
    retry_action: "use_new_request_key"
  })
)

/** Too many active subscriptions. */
export const capReached = Effect.fail(
  ApiError.make("conflict", {
    message: `There are ${Subscription.max_active} active subscriptions, which is the most; disable one first.`,
    retry_action: "none"
  })
)

/** Another rotation is under way. */
export const rotating = Effect.fail(
  ApiError.make("conflict", { message: "A rotation of this subscription is not finished yet.", retry_action: "wait" })
)

/** Too many older secrets still sign. */
export const tooManySecrets = Effect.fail(
  ApiError.make("conflict", {
    message: `There are ${Subscription.max_secrets} secrets that sign, which is the most; the oldest stops within a day.`,
    retry_action: "wait"
  })
)

/** The subscription is not active. */
export const notActive = Effect.fail(
  ApiError.make("conflict", { message: "The subscription is disabled.", retry_action: "none" })
)

/** A wrong url. The text is the same for unknown and for private hosts, so that it cannot be used to scan networks. */
export const wrongUrl: ApiError.FieldError = {
  path: "url",
  message: "Must be an https address of a public host in its plain form, without user, password and fragment."
}

/** The host of a url cannot be looked up for now. */
export const nameServerDown = Effect.fail(
  ApiError.make("service_unavailable", {
    message: "The host of the url cannot be looked up now.",
    retry_after_seconds: 5
  })
)
