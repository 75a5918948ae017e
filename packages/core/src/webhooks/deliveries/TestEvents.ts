import { Clock, Effect } from "effect"
import type { Call } from "../../calls/Call.ts"
import * as Revision from "../../calls/Revision.ts"
import { Revisions } from "../../calls/Revision.ts"
import { Storage } from "../../storage/Storage.ts"
import { Ids } from "../../wire/Ids.ts"
import * as Json from "../../wire/Json.ts"
import { fromMillis, minute_ms } from "../../wire/Timestamp.ts"
import * as Delivery from "../records/Delivery.ts"
import * as EndpointHealth from "../records/EndpointHealth.ts"
import { findSubscription, loadHealth } from "../records/SubscriptionStore.ts"
import type { TestEvent, TestResult } from "./DeliveryViews.ts"
import * as ManualDelivery from "./ManualDelivery.ts"
import * as StoredAnswers from "./StoredAnswers.ts"

/** How many tests of a subscription are allowed in a minute (api.md, Fixed limits). */
const max_tests = 10

/** Queues test events for delivery (api.md, Test events). */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const ids = yield* Ids
  const revisions = yield* Revisions
  const manual = yield* ManualDelivery.make

  return Effect.fnUntraced(function* (call: Call, id: string) {
    const { workspace, now } = call.moment
    const subscription = yield* findSubscription(storage, workspace.id, id)
    const answer_id = StoredAnswers.testId(subscription.id, call.idempotency_key)
    const answered = yield* manual.storedAnswer(call, StoredAnswers.tests, answer_id)
    if (answered !== null) return answered
    yield* manual.checkReceives(subscription)
    const kept = yield* loadHealth(storage, workspace.id, subscription.id)
    const real_now = yield* Clock.currentTimeMillis
    const recent = EndpointHealth.recentTests(kept, real_now)
    if (recent.length >= max_tests) {
      const left_ms = (recent[0] ?? 0) + minute_ms - real_now
      return yield* ManualDelivery.limited(`${max_tests} tests of a subscription a minute`, left_ms)
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
      payload: Revision.event(revision, Json.encode(event)).text,
      at: now
    })
    const tested = EndpointHealth.tested(kept, real_now)
    const writes = [Delivery.toStored(delivery, now), EndpointHealth.toStored(tested, subscription, now)]
    const result: TestResult = { subscription_id: subscription.id, event }
    return yield* manual.enqueue(call, delivery, writes, { kind: StoredAnswers.tests, id: answer_id, result })
  })
})
