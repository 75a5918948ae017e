import { Schema } from "effect"
import { Environment } from "../../access/Caller.ts"
import { choosable, TypeName } from "../../events/Event.ts"
import type { StoredRecord } from "../../storage/Change.ts"
import * as Kind from "../../storage/Kind.ts"
import { collector, joinWrongFields, type WrongFields } from "../../wire/FieldError.ts"
import { SubscriptionId, type WorkspaceId } from "../../wire/Ids.ts"
import { dayMs, fromMillis, minuteMs, Timestamp } from "../../wire/Timestamp.ts"

/** A subscription as its owner sees it (api.md, Event subscriptions). */
export const EventSubscription = Schema.Struct({
  id: SubscriptionId.annotateKey({ description: "The identifier of the subscription" }),
  environment: Environment.annotateKey({ description: "The environment whose events it gets" }),
  url: Schema.String.annotateKey({ description: "Where events are sent" }),
  status: Schema.Literals(["active", "disabled"]).annotateKey({
    description: "Whether it gets events; `disabled` is final"
  }),
  event_types: Schema.Array(TypeName).annotateKey({ description: "The types of events that it gets" }),
  signing_secret: Schema.NullOr(Schema.String).annotate({ description: "Shown once, when it is made" }),
  previous_secret_expires_at: Schema.optionalKey(Timestamp).annotateKey({
    description: "While older secrets sign: when the one before the newest stops"
  }),
  delivery_enabled: Schema.Boolean.annotate({
    description: "False after five days of failures; a PATCH with url turns delivery back on"
  }),
  created_at: Timestamp.annotateKey({ description: "When it was created" }),
  updated_at: Timestamp.annotateKey({ description: "When it was last changed" })
}).annotate({ identifier: "EventSubscription" })
export type EventSubscription = typeof EventSubscription.Type

/** At most this many active subscriptions in a workspace (api.md, Creating a subscription). */
export const maxActive = 10
/** How long an older secret keeps signing beside the new one (api.md, Secret rotation). */
const overlapMs = dayMs
/** An unfinished create or rotation is dropped after this time (api.md, Fixed limits). */
export const unfinishedMs = 10 * minuteMs

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
export const kind: Kind.Kind<"subscription", KeptSubscription> = Kind.make({
  name: "subscription",
  schema: KeptSubscription,
  survives_reset: true,
  sealed_texts: (workspaceId, record) => secretsIn(workspaceId, kind.value(record)),
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
      toStored(
        change(
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

/** A new, unfinished subscription. It receives nothing until it is active. */
export const createUnfinished = (options: {
  readonly id: SubscriptionId
  readonly environment: Environment
  readonly url: string
  readonly event_types: ReadonlyArray<string>
  readonly sealed: string
  readonly at: number
}): KeptSubscription => ({
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
 * The next version, with these changes. After a reset the clock is back, so `updated_at` is never before `created_at`.
 */
export const change = (
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

/** The next version after the endpoint starts or stops hanging. The owner sees no difference. */
export const withHangs = (subscription: KeptSubscription, hangs: boolean): KeptSubscription =>
  change(subscription, { hangs }, subscription.updated_at)

/** At most this many secrets sign at once. A further rotation must wait until the oldest has expired. */
export const maxSecrets = 10

/** Finishes a rotation: its secret becomes the newest, and the older ones keep signing for their day. */
export const rotated = (subscription: KeptSubscription, at: number): KeptSubscription => {
  if (subscription.rotation === null) return subscription
  const older = validSecrets(subscription, at).map(
    (secret): KeptSecret => ({ ...secret, expires_at: secret.expires_at ?? at + overlapMs })
  )
  const { sealed, key } = subscription.rotation
  const newest: KeptSecret = { sealed, expires_at: null, key }
  return change(subscription, { secrets: [newest, ...older], rotation: null }, at)
}

/** The rotation that is open at a moment. No other rotation can begin before it has finished or expired. */
export const openRotation = ({ rotation }: KeptSubscription, at: number): KeptSubscription["rotation"] =>
  rotation !== null && at < rotation.until ? rotation : null

/** The secrets that are valid at a moment, newest first. */
export const validSecrets = (subscription: KeptSubscription, at: number): ReadonlyArray<KeptSecret> =>
  subscription.secrets.filter(({ expires_at }) => expires_at === null || at < expires_at)

/**
 * A subscription after a reset of its sandbox. The clock is back at real time, so pending deadlines have no meaning: an
 * unfinished subscription is dropped, a rotation and older secrets end, and delivery is on.
 */
export const restarted = (subscription: KeptSubscription, at: number): KeptSubscription => {
  if (subscription.status === "unfinished") return change(subscription, { status: "dropped" }, at)
  const secrets = subscription.secrets.slice(0, 1)
  return change(subscription, { secrets, rotation: null, delivery_enabled: true, hangs: false }, at)
}

/** The subscription as its owner sees it. Only the answer that makes a secret shows it. */
export const viewOf = (
  subscription: KeptSubscription,
  signing_secret: string | null,
  at: number
): EventSubscription => {
  const older = validSecrets(subscription, at).find(({ expires_at }) => expires_at !== null)
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

/** Checks chosen event types: known, at least one, none twice; each problem at its entry. Ignores other types. */
export const checkEventTypes = (eventTypes: ReadonlyArray<unknown>): WrongFields => {
  if (eventTypes.length === 0)
    return joinWrongFields([{ path: "event_types", message: "Must name at least one event type." }])
  const wrong = collector()
  const named = new Set<string>()
  for (const [index, type] of eventTypes.entries()) {
    if (typeof type !== "string") continue
    if (!choosableTypes.has(type)) {
      wrong.add(() => ({ path: `event_types.${index}`, message: "Must be an event type.", allowed_values: choosable }))
    } else if (named.has(type)) wrong.add(() => ({ path: `event_types.${index}`, message: "Is named twice." }))
    else named.add(type)
  }
  return wrong.all()
}

/** The stored record. */
export const toStored = (subscription: KeptSubscription): StoredRecord => {
  const { id, version, created_at, updated_at } = subscription
  return kind.record(subscription, { id, version, created_at, updated_at })
}

/** The parent of active subscriptions, so that they can be listed without reading the others. */
export const activeParent = "active"

/** The status label of subscriptions that their owner sees. */
export const listedLabel = "listed"

const isListed = ({ status }: KeptSubscription): boolean => status === "active" || status === "disabled"
