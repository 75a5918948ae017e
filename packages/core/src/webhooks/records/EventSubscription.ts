import { Schema } from "effect"
import { Environment } from "../../access/Caller.ts"
import { choosable, TypeName } from "../../events/Event.ts"
import { collector, joinWrongFields, type WrongFields } from "../../wire/FieldError.ts"
import { SubscriptionId } from "../../wire/Ids.ts"
import { dayMs, fromMillis, minuteMs, Timestamp } from "../../wire/Timestamp.ts"
import { changed, type StoredSecret, type StoredSubscription, validSecrets } from "./StoredSubscription.ts"

/** A subscription as its owner sees it (api.md, Event subscriptions). */
export const EventSubscription = Schema.Struct({
  id: SubscriptionId.annotateKey({ description: "The identifier of the subscription" }),
  environment: Environment.annotateKey({ description: "The environment whose events it receives" }),
  url: Schema.String.annotateKey({ description: "Where events are sent" }),
  status: Schema.Literals(["active", "disabled"]).annotateKey({
    description: "Whether it receives events; `disabled` is final"
  }),
  event_types: Schema.Array(TypeName).annotateKey({ description: "The types of events that it receives" }),
  signing_secret: Schema.NullOr(Schema.String).annotate({
    description: "Shown only once, in the response that creates it"
  }),
  previous_secret_expires_at: Schema.optionalKey(Timestamp).annotateKey({
    description: "While older secrets still sign: when the second-newest secret expires"
  }),
  delivery_enabled: Schema.Boolean.annotate({
    description: "False after five days of failures; a PATCH with url turns delivery back on"
  }),
  created_at: Timestamp.annotateKey({ description: "When it was created" }),
  updated_at: Timestamp.annotateKey({ description: "When it was last changed" })
}).annotate({ identifier: "EventSubscription" })
export type EventSubscription = typeof EventSubscription.Type

/** The maximum number of active subscriptions in a workspace (api.md, Creating a subscription). */
export const maxActive = 10
/** How long an older secret keeps signing alongside the new secret (api.md, Secret rotation). */
const overlapMs = dayMs
/** How long a creation or rotation may stay unfinished before it is dropped (api.md, Fixed limits). */
export const unfinishedMs = 10 * minuteMs

/** Makes a new, unfinished subscription. It receives nothing until it is active. */
export const createUnfinished = (options: {
  readonly id: SubscriptionId
  readonly environment: Environment
  readonly url: string
  readonly event_types: ReadonlyArray<string>
  readonly sealed: string
  readonly at: number
}): StoredSubscription => ({
  id: options.id,
  version: 1,
  environment: options.environment,
  url: options.url,
  status: "unfinished",
  event_types: options.event_types,
  delivery_enabled: true,
  hangs: false,
  secrets: [{ sealed: options.sealed, expires_at: null, key: null }],
  rotation: null,
  created_at: options.at,
  updated_at: options.at
})

/**
 * The maximum number of secrets that sign at the same time. Another rotation must wait until the oldest secret has
 * expired.
 */
export const maxSecrets = 10

/** Finishes a rotation: its secret becomes the newest, and older secrets keep signing for a day. */
export const rotated = (subscription: StoredSubscription, now: number): StoredSubscription => {
  if (subscription.rotation === null) return subscription
  const older = validSecrets(subscription, now).map(
    (secret): StoredSecret => ({ ...secret, expires_at: secret.expires_at ?? now + overlapMs })
  )
  const { sealed, key } = subscription.rotation
  const newest: StoredSecret = { sealed, expires_at: null, key }
  return changed(subscription, { secrets: [newest, ...older], rotation: null }, now)
}

/**
 * The rotation that is in progress at a given time, or null. Another rotation can begin only after it has finished or
 * expired.
 */
export const openRotation = ({ rotation }: StoredSubscription, now: number): StoredSubscription["rotation"] =>
  rotation !== null && now < rotation.until ? rotation : null

/**
 * A subscription after its sandbox was reset. The clock is back at real time, so pending deadlines are meaningless. An
 * unfinished subscription is dropped, a rotation ends, older secrets expire, and delivery is on.
 */
export const restarted = (subscription: StoredSubscription, now: number): StoredSubscription => {
  if (subscription.status === "unfinished") return changed(subscription, { status: "dropped" }, now)
  const secrets = subscription.secrets.slice(0, 1)
  return changed(subscription, { secrets, rotation: null, delivery_enabled: true, hangs: false }, now)
}

/** A subscription as its owner sees it. A secret is shown only in the response to the call that created it. */
export const viewOf = (
  subscription: StoredSubscription,
  signing_secret: string | null,
  now: number
): EventSubscription => {
  const older = validSecrets(subscription, now).find(({ expires_at }) => expires_at !== null)
  return {
    id: subscription.id,
    environment: subscription.environment,
    url: subscription.url,
    status: subscription.status === "active" ? "active" : "disabled",
    event_types: subscription.event_types,
    signing_secret,
    ...(older !== undefined &&
      older.expires_at !== null && { previous_secret_expires_at: fromMillis(older.expires_at) }),
    delivery_enabled: subscription.delivery_enabled,
    created_at: fromMillis(subscription.created_at),
    updated_at: fromMillis(subscription.updated_at)
  }
}

const choosableTypes = new Set(choosable)

/**
 * Checks the chosen event types: at least one, all known, and no duplicates. Each mistake carries the path of the
 * entry. Entries that are not strings are ignored.
 */
export const checkEventTypes = (eventTypes: ReadonlyArray<unknown>): WrongFields => {
  if (eventTypes.length === 0)
    return joinWrongFields([{ path: "event_types", message: "Must name at least one event type." }])
  const wrongFields = collector()
  const named = new Set<string>()
  for (const [index, type] of eventTypes.entries()) {
    if (typeof type !== "string") continue
    if (!choosableTypes.has(type)) {
      wrongFields.add(() => ({
        path: `event_types.${index}`,
        message: "Must be an event type.",
        allowed_values: choosable
      }))
    } else if (named.has(type)) wrongFields.add(() => ({ path: `event_types.${index}`, message: "Is named twice." }))
    else named.add(type)
  }
  return wrongFields.all()
}
