import { Effect, Predicate } from "effect"
import * as ApiError from "../../wire/ApiError.ts"
import { countOf, joinWrongFields } from "../../wire/FieldError.ts"
import * as Subscription from "../records/EventSubscription.ts"
import type { WebhookSender } from "../WebhookSender.ts"
import * as Refusals from "./SubscriptionRefusals.ts"
import type { CreateInput } from "./SubscriptionViews.ts"

type Sender = WebhookSender["Service"]

/** Checks an input. Reports all wrong fields together. */
export const check = Effect.fnUntraced(function* (
  sender: Sender,
  { url, event_types }: Partial<Pick<CreateInput, "url" | "event_types">>
) {
  const looked = url === undefined ? "public" : yield* sender.lookUp(url)
  const wrongFields = joinWrongFields(
    looked === "refused" ? [Refusals.wrongUrl] : [],
    event_types === undefined ? [] : Subscription.checkEventTypes(event_types)
  )
  if (countOf(wrongFields) > 0) return yield* ApiError.invalidInput(wrongFields)
  if (looked === "unavailable") return yield* Refusals.nameServerDown
})

/** Checks the remaining fields of an input in which some fields have a wrong type. */
export const validateRest = Effect.fnUntraced(function* (
  sender: Sender,
  input: unknown,
  refused: ReadonlyArray<ApiError.FieldError>
) {
  const paths = new Set(refused.map(({ path }) => path))
  const { url, event_types }: { readonly url?: unknown; readonly event_types?: unknown } = Predicate.isObject(input)
    ? input
    : {}
  const isKnown = typeof url === "string" && !paths.has("url") && sender.off === undefined
  const looked = isKnown ? yield* sender.lookUp(url) : "public"
  // Entries that are not strings have already been reported.
  const types = Array.isArray(event_types) ? Subscription.checkEventTypes(event_types) : []
  const wrongFields = joinWrongFields(looked === "refused" ? [Refusals.wrongUrl] : [], types)
  return { ...wrongFields, found: wrongFields.found.filter(({ path }) => !paths.has(path)) }
})
