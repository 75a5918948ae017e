import { Clock, Effect } from "effect"
import type { Call } from "../../calls/Call.ts"
import * as Revision from "../../calls/Revision.ts"
import { Revisions } from "../../calls/Revision.ts"
import { readOne, Storage } from "../../storage/Storage.ts"
import { Ids } from "../../wire/Ids.ts"
import * as Json from "../../wire/Json.ts"
import { fromMillis, minuteMs } from "../../wire/Timestamp.ts"
import * as Delivery from "../records/Delivery.ts"
import * as EndpointHealth from "../records/EndpointHealth.ts"
import { findSubscription } from "../records/SubscriptionStore.ts"
import type { TestEvent, TestResult } from "./DeliveryViews.ts"
import * as ManualDelivery from "./ManualDelivery.ts"
import * as StoredAnswers from "./StoredAnswers.ts"

/** The maximum number of tests for a subscription in a minute (api.md, Fixed limits). */
const maxTests = 10

/** Makes the function that queues test events for delivery (api.md, Test events). */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const ids = yield* Ids
  const revisions = yield* Revisions
  const manual = yield* ManualDelivery.make

  return Effect.fnUntraced(function* (call: Call, id: string) {
    const { workspace, now } = call.moment
    const subscription = yield* findSubscription(storage, workspace.id, id)
    const answerId = StoredAnswers.testId(subscription.id, call.idempotency_key)
    const answered = yield* manual.storedAnswer(call, StoredAnswers.tests, answerId)
    if (answered !== null) return answered
    yield* manual.checkReceives(subscription)
    const storedHealth = yield* readOne(storage, EndpointHealth.kind, workspace.id, subscription.id)
    const health = storedHealth ?? EndpointHealth.unknown(subscription.id)
    const realNow = yield* Clock.currentTimeMillis
    const recent = EndpointHealth.recentTests(health, realNow)
    if (recent.length >= maxTests) {
      const leftMs = (recent[0] ?? 0) + minuteMs - realNow
      return yield* ManualDelivery.limited(`${maxTests} tests per subscription per minute`, leftMs)
    }
    const revision = yield* revisions.pin(workspace.id)
    const event: TestEvent = {
      id: ids.test_event(),
      type: "webhook.test",
      schema_version: revision.date,
      occurred_at: fromMillis(now),
      environment: workspace.environment,
      subscription_id: subscription.id
    }
    const delivery = Delivery.make({
      subscription_id: subscription.id,
      event_id: event.id,
      event_type: event.type,
      payload: Revision.resource(revision, "event", Json.encode(event)).text,
      at: now
    })
    const tested = EndpointHealth.afterTest(health, realNow)
    const writes = [Delivery.toStored(delivery, now), EndpointHealth.toStored(tested, subscription, now)]
    const result: TestResult = { subscription_id: subscription.id, event }
    return yield* manual.enqueue(call, delivery, writes, { kind: StoredAnswers.tests, id: answerId, result })
  })
})
