import { Effect } from "effect"
import * as ApiError from "../../wire/ApiError.ts"
import * as Subscription from "./EventSubscription.ts"

/** Refuses the repeat of a create or a rotation whose ten minutes are over. */
export const tooLate = Effect.fail(
  ApiError.make("conflict", {
    message: "The first call with this Idempotency-Key was not finished within ten minutes.",
    retry_action: "use_new_request_key"
  })
)

/** Refuses the repeat of a create that names another url or other types. */
export const usedOtherwise = Effect.fail(
  ApiError.make("conflict", {
    message: "This Idempotency-Key was used with another input.",
    retry_action: "use_new_request_key"
  })
)

/** Refuses one active subscription more than there may be. */
export const capReached = Effect.fail(
  ApiError.make("conflict", {
    message: `There are ${Subscription.max_active} active subscriptions, which is the most; disable one first.`,
    retry_action: "none"
  })
)

/** Refuses a rotation beside another one. */
export const rotating = Effect.fail(
  ApiError.make("conflict", { message: "A rotation of this subscription is not finished yet.", retry_action: "wait" })
)

/** Refuses a rotation where many older secrets still sign. */
export const manySecrets = Effect.fail(
  ApiError.make("conflict", {
    message: `There are ${Subscription.max_secrets} secrets that sign, which is the most; the oldest stops within a day.`,
    retry_action: "wait"
  })
)

/** Refuses what only an active subscription can do. */
export const notActive = Effect.fail(
  ApiError.make("conflict", { message: "The subscription is disabled.", retry_action: "none" })
)

/** What is wrong with a url. The same text whether its host does not exist or is not public: nobody scans networks. */
export const wrongUrl: ApiError.FieldError = {
  path: "url",
  message: "Must be an https address of a public host in its plain form, without user, password and fragment."
}

/** Refuses for now: the host of a url cannot be looked up. */
export const nameServerDown = Effect.fail(
  ApiError.make("service_unavailable", {
    message: "The host of the url cannot be looked up now.",
    retry_after_seconds: 5
  })
)
