import { Effect } from "effect"
import * as Cursor from "../../access/Cursor.ts"
import { Seal } from "../../access/sealing/Seal.ts"
import type { Call } from "../../calls/Call.ts"
import { readOne, Storage } from "../../storage/Storage.ts"
import { aboutOf } from "../../wire/AboutIds.ts"
import * as ApiError from "../../wire/ApiError.ts"
import * as Json from "../../wire/Json.ts"
import { defaultLimit } from "../../wire/Pagination.ts"
import * as Delivery from "../records/Delivery.ts"
import * as EndpointHealth from "../records/EndpointHealth.ts"
import * as SubscriptionHealth from "../records/SubscriptionHealth.ts"
import { findSubscription } from "../records/SubscriptionStore.ts"
import type { DeliveriesInput, DeliveryInput, DeliveryPage } from "./DeliveryViews.ts"

/**
 * Finds a delivery in the caller's workspace, and its subscription. Fails with `not_found` if either does not exist.
 */
export const find = Effect.fnUntraced(function* (storage: Storage["Service"], call: Call, input: DeliveryInput) {
  const workspace_id = call.caller.workspace_id
  const subscription = yield* findSubscription(storage, workspace_id, input.id)
  const id = Delivery.idOf(subscription.id, input.event_id)
  const delivery = yield* readOne(storage, Delivery.kind, workspace_id, id)
  // The delivery's record ID contains only a part of the event's ID, so compare the whole ID.
  if (delivery === null || delivery.event_id !== input.event_id) return yield* ApiError.make("not_found")
  return { subscription, delivery }
})

/** Makes the methods with which owners read their deliveries (api.md, Deliveries). */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const seal = yield* Seal

  const list = Effect.fnUntraced(function* (call: Call, input: DeliveriesInput) {
    const workspace_id = call.caller.workspace_id
    const { id: subscriptionId, limit = defaultLimit, cursor, ...filters } = input
    const { id } = yield* findSubscription(storage, workspace_id, subscriptionId)
    const scope = { list: `deliveries ${id}`, workspace_id, filters }
    const after = cursor === undefined ? null : yield* Cursor.read(seal, scope, cursor)
    const page = yield* storage.page({
      workspace_id,
      kind: Delivery.kind.name,
      parent: id,
      order: "newest",
      after,
      limit,
      about: aboutOf(filters)
    })
    return Json.encode<DeliveryPage>({
      deliveries: page.records.map((record) => Delivery.entryOf(Delivery.kind.value(record))),
      next_cursor: page.next === null ? null : yield* Cursor.write(seal, scope, page.next)
    })
  })

  const get = Effect.fnUntraced(function* (call: Call, input: DeliveryInput) {
    const { delivery } = yield* find(storage, call, input)
    return Json.encode<Delivery.Delivery>({
      ...Delivery.entryOf(delivery),
      attempts: delivery.attempts.map(Delivery.withoutCause)
    })
  })

  const health = Effect.fnUntraced(function* (call: Call, id: string) {
    const subscription = yield* findSubscription(storage, call.caller.workspace_id, id)
    const stored = yield* readOne(storage, EndpointHealth.kind, call.caller.workspace_id, subscription.id)
    return Json.encode(SubscriptionHealth.viewOf(subscription, stored ?? EndpointHealth.unknown(subscription.id)))
  })

  return { list, get, health }
})
