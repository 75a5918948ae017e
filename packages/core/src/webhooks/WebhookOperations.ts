import { Effect } from "effect"
import type { CallerKind } from "../access/Caller.ts"
import * as Operation from "../calls/Operation.ts"
import { aboutQuery } from "../wire/AboutIds.ts"
import * as Json from "../wire/Json.ts"
import { Deliveries } from "./deliveries/Deliveries.ts"
import * as DeliveryViews from "./deliveries/DeliveryViews.ts"
import { Recoveries } from "./deliveries/Recoveries.ts"
import * as RecoveryViews from "./deliveries/RecoveryViews.ts"
import { Delivery } from "./records/Delivery.ts"
import { EventSubscription } from "./records/EventSubscription.ts"
import { SubscriptionHealth } from "./records/SubscriptionHealth.ts"
import { EventSubscriptions } from "./subscriptions/EventSubscriptions.ts"
import * as Views from "./subscriptions/SubscriptionViews.ts"

const authority: Operation.Authority = { callers: ["server"] satisfies ReadonlyArray<CallerKind> }
const sharedAuthority: Operation.Authority = { ...authority, by_link: "id" }
const page = { limit: "integer", cursor: "string" } as const

/** Creates a subscription (api.md, Creating a subscription). */
export const createEventSubscription = Operation.make({
  name: "create_event_subscription",
  summary: "Create an event subscription",
  description:
    "Events of the chosen types are sent to the url as signed POSTs. The response holds the signing secret: it is shown once. After a 503 the same Idempotency-Key finishes with the same secret, within ten minutes.",
  tag: "Webhooks",
  route: {
    method: "POST",
    path: "/v1/event-subscriptions",
    query: {},
    status: 201
  },
  authority,
  cost: { other: 1 },
  idempotent: true,
  secret_field: "signing_secret",
  input: Views.CreateInput,
  output: EventSubscription,
  validateRest: (_call, input, refused) =>
    EventSubscriptions.use((subscriptions) => subscriptions.validateRest(input, refused)),
  errors: ["conflict"],
  run: (call, input) => EventSubscriptions.use((subscriptions) => subscriptions.create(call, input))
})

/** Lists subscriptions (api.md, Event subscriptions). */
export const listEventSubscriptions = Operation.make({
  name: "list_event_subscriptions",
  summary: "List event subscriptions",
  description: "Newest first, including disabled ones. Secrets are never shown again.",
  tag: "Webhooks",
  route: { method: "GET", path: "/v1/event-subscriptions", query: page, status: 200 },
  authority,
  cost: { read: 1 },
  idempotent: false,
  input: Views.ListInput,
  output: Views.SubscriptionPage,
  errors: ["invalid_cursor"],
  run: (call, input) => EventSubscriptions.use((subscriptions) => subscriptions.list(call, input))
})

/** Changes a subscription (api.md, Changing a subscription). */
export const updateEventSubscription = Operation.make({
  name: "update_event_subscription",
  summary: "Change an event subscription",
  description:
    "Changes url, event_types or both; omitted fields stay. A url turns delivery back on after five days of failures turned it off.",
  tag: "Webhooks",
  route: { method: "PATCH", path: "/v1/event-subscriptions/{id}", query: {}, status: 200 },
  authority,
  cost: { other: 1 },
  idempotent: false,
  input: Views.UpdateInput,
  output: EventSubscription,
  validateRest: (_call, input, refused) =>
    EventSubscriptions.use((subscriptions) => subscriptions.validateRest(input, refused)),
  errors: ["not_found", "conflict"],
  run: (call, input) => EventSubscriptions.use((subscriptions) => subscriptions.update(call, input))
})

/** Disables a subscription (api.md, Changing a subscription). */
export const disableEventSubscription = Operation.make({
  name: "disable_event_subscription",
  summary: "Disable an event subscription",
  description:
    "Nothing more is sent to it, and pending deliveries are cancelled. Repeating the call returns the same response.",
  tag: "Webhooks",
  route: { method: "DELETE", path: "/v1/event-subscriptions/{id}", query: {}, status: 200 },
  authority,
  cost: { other: 1 },
  idempotent: false,
  input: Views.IdInput,
  output: EventSubscription,
  errors: ["not_found"],
  run: (call, { id }) => EventSubscriptions.use((subscriptions) => subscriptions.disable(call, id))
})

/** Rotates the signing secret (api.md, Secret rotation). */
export const rotateEventSubscriptionSecret = Operation.make({
  name: "rotate_event_subscription_secret",
  summary: "Rotate the signing secret",
  description:
    "The response contains the new secret, only this once. For 24 hours every delivery is signed with both secrets. Only one rotation can be in progress at a time.",
  tag: "Webhooks",
  route: { method: "POST", path: "/v1/event-subscriptions/{id}/rotate", query: {}, status: 200 },
  authority,
  cost: { other: 1 },
  idempotent: true,
  secret_field: "signing_secret",
  input: Views.IdInput,
  output: EventSubscription,
  errors: ["not_found", "conflict"],
  run: (call, { id }) => EventSubscriptions.use((subscriptions) => subscriptions.rotate(call, id))
})

/** Sends a test event (api.md, Test events). */
export const sendTestEvent = Operation.make({
  name: "send_test_event",
  summary: "Send a test event",
  description:
    "Queues a webhook.test event for delivery to this subscription only, at most ten a minute. It is not in the feed. The same Idempotency-Key returns the same event.",
  tag: "Webhooks",
  route: { method: "POST", path: "/v1/event-subscriptions/{id}/test", query: {}, status: 202 },
  authority,
  cost: { read: 1 },
  idempotent: true,
  input: Views.IdInput,
  output: DeliveryViews.TestResult,
  errors: ["not_found", "conflict"],
  run: (call, { id }) => Deliveries.use((deliveries) => deliveries.test(call, id))
})

/** Reads the delivery log (api.md, Deliveries). */
export const listEventDeliveries = Operation.make({
  name: "list_event_deliveries",
  summary: "Read the delivery log",
  description:
    "The deliveries of the last 30 days, newest first, including test events. A page can be empty and yet have a next_cursor: read until it is null.",
  tag: "Webhooks",
  route: {
    method: "GET",
    path: "/v1/event-subscriptions/{id}/deliveries",
    query: { ...page, ...aboutQuery },
    status: 200
  },
  authority: sharedAuthority,
  cost: { read: 1 },
  idempotent: false,
  input: DeliveryViews.DeliveriesInput,
  output: DeliveryViews.DeliveryPage,
  errors: ["not_found", "invalid_cursor"],
  run: (call, input) => Deliveries.use((deliveries) => deliveries.list(call, input))
})

/** Reads one delivery (api.md, Deliveries). */
export const getEventDelivery = Operation.make({
  name: "get_event_delivery",
  summary: "Read a delivery with its attempts",
  description: "Up to 20 attempts, newest first, each with the status and duration of the endpoint's response.",
  tag: "Webhooks",
  route: { method: "GET", path: "/v1/event-subscriptions/{id}/deliveries/{event_id}", query: {}, status: 200 },
  authority: sharedAuthority,
  cost: { read: 2 },
  idempotent: false,
  input: DeliveryViews.DeliveryInput,
  output: Delivery,
  errors: ["not_found"],
  run: (call, input) => Deliveries.use((deliveries) => deliveries.get(call, input))
})

/** Replays an event from the delivery log (api.md, Replays). */
export const replayEventDelivery = Operation.make({
  name: "replay_event_delivery",
  summary: "Replay an event",
  description:
    "Delivers the event again with the same id and body, at most five times a day for each event. Use a new Idempotency-Key for each replay.",
  tag: "Webhooks",
  route: { method: "POST", path: "/v1/event-subscriptions/{id}/replay", query: {}, status: 202 },
  authority,
  cost: { read: 2 },
  idempotent: true,
  input: DeliveryViews.DeliveryInput,
  output: DeliveryViews.ReplayResult,
  errors: ["not_found", "conflict"],
  run: (call, input) => Deliveries.use((deliveries) => deliveries.replay(call, input))
})

/** Reads a subscription's health (api.md, Subscription health). */
export const getEventSubscriptionHealth = Operation.make({
  name: "get_event_subscription_health",
  summary: "Read a subscription's health",
  description: "The state of the endpoint, the reason for it, and its latest attempt.",
  tag: "Webhooks",
  route: { method: "GET", path: "/v1/event-subscriptions/{id}/health", query: {}, status: 200 },
  authority: sharedAuthority,
  cost: { read: 2 },
  idempotent: false,
  input: Views.IdInput,
  output: SubscriptionHealth,
  errors: ["not_found"],
  run: (call, { id }) => Deliveries.use((deliveries) => deliveries.health(call, id))
})

const recoveriesPath = "/v1/event-subscriptions/{id}/recoveries"

/** Counts the deliveries that a recovery would resend (api.md, Recoveries). */
export const previewEventRecovery = Operation.make({
  name: "preview_event_recovery",
  summary: "Count the deliveries that a recovery would send again",
  description:
    "Counts the deliveries that match, and says how long sending them takes at the given rate. It changes nothing.",
  tag: "Webhooks",
  route: { method: "POST", path: `${recoveriesPath}/preview`, query: {}, status: 200 },
  authority,
  cost: { read: 2 },
  idempotent: false,
  input: RecoveryViews.RecoveryInput,
  output: RecoveryViews.RecoveryPreviewView,
  errors: ["not_found"],
  run: Effect.fnUntraced(function* ({ moment: { now, workspace } }, { id, ...choice }) {
    const request = RecoveryViews.requestOf(id, choice, now)
    const preview = yield* (yield* Recoveries).preview(workspace.id, request)
    return Json.encode(RecoveryViews.previewOf(preview, request))
  })
})

/** Resends many of a subscription's deliveries (api.md, Recoveries). */
export const startEventRecovery = Operation.make({
  name: "start_event_recovery",
  summary: "Send deliveries again",
  description:
    "Sends the matching deliveries again, in event order and at the given rate, for example after your endpoint was down. A subscription has one recovery at a time.",
  tag: "Webhooks",
  route: { method: "POST", path: recoveriesPath, query: {}, status: 201 },
  authority,
  cost: { read: 2 },
  idempotent: true,
  input: RecoveryViews.RecoveryInput,
  output: RecoveryViews.RecoveryView,
  errors: ["not_found", "conflict"],
  run: Effect.fnUntraced(function* ({ moment: { now, workspace } }, { id, ...choice }) {
    const started = yield* (yield* Recoveries).start(workspace.id, RecoveryViews.requestOf(id, choice, now))
    return Json.encode(RecoveryViews.recoveryViewOf(started))
  })
})

/** Lists a subscription's recoveries (api.md, Recoveries). */
export const listEventRecoveries = Operation.make({
  name: "list_event_recoveries",
  summary: "List recoveries",
  description: "The recoveries of a subscription with their progress, newest first; at most a hundred.",
  tag: "Webhooks",
  route: { method: "GET", path: recoveriesPath, query: {}, status: 200 },
  authority,
  cost: { read: 1 },
  idempotent: false,
  input: RecoveryViews.RecoveriesInput,
  output: RecoveryViews.RecoveryList,
  errors: ["not_found"],
  run: ({ caller: { workspace_id } }, { id }) =>
    Recoveries.use((recoveries) =>
      Effect.map(recoveries.list(workspace_id, id), (list) =>
        Json.encode({ recoveries: list.map(RecoveryViews.recoveryViewOf) })
      )
    )
})

/** Pauses, resumes or stops a recovery (api.md, Recoveries). */
export const changeEventRecovery = Operation.make({
  name: "change_event_recovery",
  summary: "Pause, resume or stop a recovery",
  description:
    "Deliveries that are already queued are still sent. A stopped recovery cannot be resumed. Repeating an action changes nothing.",
  tag: "Webhooks",
  route: { method: "POST", path: `${recoveriesPath}/{recovery_id}/{action}`, query: {}, status: 200 },
  authority,
  cost: { other: 1 },
  idempotent: false,
  input: RecoveryViews.RecoveryChangeInput,
  output: RecoveryViews.RecoveryView,
  errors: ["not_found", "conflict"],
  run: ({ caller: { workspace_id } }, { action, id, recovery_id }) =>
    Recoveries.use((recoveries) =>
      Effect.map(recoveries.change(workspace_id, { id: recovery_id, subscription_id: id }, action), (changed) =>
        Json.encode(RecoveryViews.recoveryViewOf(changed))
      )
    )
})
