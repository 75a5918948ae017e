import {
  Access,
  type Change,
  Event,
  Ids,
  Json,
  Quotewire,
  Revision,
  type Storage,
  WebhookAddress
} from "@quotewire/core"
import { Publishing, World } from "@quotewire/core/testing"
import { NodeCrypto, NodeWebhookSender } from "@quotewire/http"
import { Effect, Layer } from "effect"
import { named } from "../operations.ts"
import { newId } from "../peers/Peer.ts"
import { call } from "../Service.ts"

/** The maximum number of concurrent POSTs. */
export const atOnce = 64
/**
 * The event types, one for each subscription. A subscription may have eight new attempts in progress, so eight
 * subscriptions use all connections.
 */
export const subscribed: ReadonlyArray<Event.EventType> = [
  "quote_request.queued",
  "quote_request.updated",
  "quote_request.completed",
  "quote.created",
  "quote.updated",
  "quote.expired",
  "quote_request.failed",
  "quote_request.cancelled"
]
/** Pads an event's payload to 500 bytes. */
const padding = "x".repeat(220)

export const settings: NodeWebhookSender.Settings = {
  policy: { allow: WebhookAddress.readNetworks("127.0.0.0/8") ?? [], own_addresses: [] },
  connections_per_host: atOnce
}

export const eventOf = (id: Ids.EventId, type: Event.EventType, now: number): Change.NewEvent => {
  const resource = { type: "quote", id: "quo_00000000000000000000000000", version: 1 } as const
  const event = Event.record({ id, type, at: now, environment: "live", line: "personal_auto", resource })
  return { ...event, body: `${event.body.slice(0, -1)},"padding":"${padding}"}` }
}

/** The body that contenders without a core post. It has the same length as the core's bodies. */
export const body = Publishing.payloadOf(
  Json.fromText(eventOf(Ids.EventId.make(newId("evt")), "quote.created", Date.now()).body),
  Revision.served[0]
)

/**
 * The whole core with its worker, wired as a host does it. Its seal key is a constant, so that processes can share a
 * database.
 */
export const core = (storage: Layer.Layer<Storage.Storage>): Layer.Layer<Quotewire.Services | Storage.Storage> =>
  Quotewire.worker.pipe(
    Layer.provideMerge(Quotewire.layer),
    Layer.provideMerge(storage),
    Layer.provide(Quotewire.sandboxCarriers),
    Layer.provide(World.sealKeys(0)),
    Layer.provide(NodeWebhookSender.layer(settings)),
    Layer.provide(NodeCrypto.layer),
    Layer.orDie
  )

const createEventSubscription = named("create_event_subscription")

/** Creates a workspace with one subscription for each type in `subscribed`, so that every event of these types has one delivery. */
export const subscribe = Effect.fnUntraced(function* (url: string) {
  const access = yield* Access.Access
  const { id: organization_id, workspaces } = yield* access.createOrganization("Bench")
  const { key } = yield* access.createKey({ organization_id, environment: "live", kind: "server" })
  const ids: Array<string> = []
  for (const type of subscribed) {
    const created = yield* call(createEventSubscription, key, { url: `${url}/${type}`, event_types: [type] })
    ids.push(Json.decode(created).id)
  }
  return { workspace_id: workspaces.live, ids }
})
