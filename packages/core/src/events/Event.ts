import { Schema, Struct } from "effect"
import { Environment } from "../access/Caller.ts"
import { LineName } from "../lines/LineName.ts"
import type { NewEvent } from "../storage/Change.ts"
import { EventId, type QuoteRequestId } from "../wire/Ids.ts"
import { fromMillis, Timestamp } from "../wire/Timestamp.ts"

/** When an event of each type is sent (api.md, Event types). New types can appear at any time. */
export const meanings = {
  "quote_request.queued": "A new quote request is accepted.",
  "quote_request.updated":
    "A request starts, gets its first quotes, or changes in another way before it reaches a final status.",
  "quote_request.completed": "The request ends with results. They may include no quotes.",
  "quote_request.failed": "The request cannot start, or no carrier answers by the deadline.",
  "quote_request.cancelled": "A request is cancelled while it is still queued.",
  "quote_request.incomplete": "Some carriers gave no answer, and the request has no quotes.",
  "quote.created": "A new quote is saved.",
  "quote.updated": "A quote changes other than by expiring.",
  "quote.expired": "A quote reaches its expiry time.",
  "purchase.updated": "Reserved for future purchases; it does not fire.",
  "purchase.requires_action": "Reserved for future purchases; it does not fire.",
  "purchase.completed": "Reserved for future purchases; it does not fire.",
  "purchase.needs_review": "Reserved for future purchases; it does not fire.",
  "purchase.failed": "Reserved for future purchases; it does not fire.",
  "webhook.test": "A test was requested. It goes to only one subscription, and is not in the feed."
} as const

/** All event types, in the order of `meanings`. */
export const types: ReadonlyArray<keyof typeof meanings> = Struct.keys(meanings)

type Type = Exclude<keyof typeof meanings, "webhook.test">

/** The event types that are sent today. Purchase events are reserved for later use. */
export type EventType = Exclude<Type, `purchase.${string}`>

/**
 * The types that a subscription can choose. The test event is not among them, because it goes only to the tested
 * subscription.
 */
export const choosable: ReadonlyArray<string> = types.filter((type) => type !== "webhook.test")

/**
 * The type of an event. It can be any text, because new types can appear at any time; the API's documents list the
 * known types.
 */
export const TypeName = Schema.String.annotate({ jsonSchema: { type: "string", enum: choosable } })

/** What an event can be about. New resources can appear at any time. */
export const ResourceType = Schema.Literals(["quote_request", "quote"])

// The schema accepts every event type with every resource type. Only the TypeScript type `Event` says which types
// belong together.
const AnyEvent = Schema.Struct({
  id: EventId.annotateKey({ description: "The identifier of the event: handle each identifier once" }),
  type: TypeName.annotateKey({ description: "What happened. New types can be added: always have a default branch" }),
  occurred_at: Timestamp.annotateKey({ description: "When the event happened" }),
  environment: Environment.annotateKey({ description: "The environment of the event" }),
  line: LineName.annotateKey({ description: "The insurance line" }),
  resource: Schema.Struct({
    type: ResourceType.annotateKey({ description: "The kind of resource" }),
    id: Schema.String.annotateKey({ description: "Its identifier" }),
    version: Schema.Int.annotateKey({ description: "The version that the resource reached" })
  }).annotateKey({ description: "The resource that changed. Read the resource for its current state" })
})
type AnyEvent = typeof AnyEvent.Type
type Kind = AnyEvent["resource"]["type"]

interface EventOf<OwnType extends string, OwnKind extends Kind> extends Omit<AnyEvent, "type" | "resource"> {
  readonly type: OwnType
  readonly resource: { readonly type: OwnKind; readonly id: string; readonly version: number }
}

/**
 * A thin event names a resource and the version that it reached, and contains no facts about a person.
 *
 * Distinguish events by `type`, with a default branch: new types can appear at any time. The types for purchases, which
 * are not sent yet, show what a new type looks like.
 */
export type Event =
  | EventOf<Extract<Type, `quote_request.${string}`>, "quote_request">
  | EventOf<Extract<Type, `quote.${string}`>, "quote">
  | EventOf<Extract<Type, `purchase.${string}`>, Kind>

const isEvent = (event: AnyEvent): event is Event => {
  const [kind] = event.type.split(".")
  return (kind !== "quote_request" && kind !== "quote") || kind === event.resource.type
}

/** A thin event names a resource and the version that it reached, and contains no facts about a person. */
export const Event = AnyEvent.pipe(Schema.refine(isEvent)).annotate({ identifier: "Event" })

/** The body of a webhook: an event, and the revision in which the event is written (api.md, Webhook requests). */
export const WebhookEvent = Schema.Struct({
  ...AnyEvent.fields,
  schema_version: Schema.String.annotate({ description: "The revision that the integration has pinned" })
}).annotate({ identifier: "WebhookEvent" })
export type WebhookEvent = typeof WebhookEvent.Type

/** Makes an event for the feed. `at` is in milliseconds of workspace time. */
export const record = (options: {
  readonly id: EventId
  readonly type: EventType
  readonly at: number
  readonly environment: Environment
  readonly line: LineName
  readonly resource: Event["resource"]
  /** The quote request to which a quote belongs. With this ID, the feed can find the events of a request's quotes. */
  readonly quote_request_id?: QuoteRequestId
}): NewEvent => {
  const event: AnyEvent = {
    id: options.id,
    type: options.type,
    occurred_at: fromMillis(options.at),
    environment: options.environment,
    line: options.line,
    resource: options.resource
  }
  const aboutIds = [options.resource.id, ...(options.quote_request_id === undefined ? [] : [options.quote_request_id])]
  return { id: options.id, occurred_at: options.at, about: aboutIds, body: JSON.stringify(event), type: options.type }
}
