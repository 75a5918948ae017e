import { Clock, Effect } from "effect"
import type { Call } from "../../calls/Call.ts"
import { Storage } from "../../storage/Storage.ts"
import { dayMs } from "../../wire/Timestamp.ts"
import * as Delivery from "../records/Delivery.ts"
import * as DeliveryLog from "./DeliveryLog.ts"
import type { DeliveryInput, ReplayResult } from "./DeliveryViews.ts"
import * as ManualDelivery from "./ManualDelivery.ts"
import * as StoredAnswers from "./StoredAnswers.ts"

/** Makes the method that replays deliveries from the log (api.md, Replays). */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const manual = yield* ManualDelivery.make

  return Effect.fnUntraced(function* (call: Call, input: DeliveryInput) {
    const { now } = call.moment
    const { subscription, delivery } = yield* DeliveryLog.find(storage, call, input)
    const answerId = StoredAnswers.replayId(subscription.id, delivery.event_id, call.idempotency_key)
    const answered = yield* manual.storedAnswer(call, StoredAnswers.replays, answerId)
    if (answered !== null) return answered
    yield* manual.checkReceives(subscription)
    const realNow = yield* Clock.currentTimeMillis
    const recent = Delivery.recentReplays(delivery, realNow)
    if (recent.length >= Delivery.maxReplays) {
      const leftMs = (recent[0] ?? 0) + dayMs - realNow
      return yield* ManualDelivery.limited(`${Delivery.maxReplays} replays per event per day`, leftMs)
    }
    const next = Delivery.replayed(delivery, now, realNow)
    const result: ReplayResult = { subscription_id: subscription.id, event_id: delivery.event_id }
    const answer = { kind: StoredAnswers.replays, id: answerId, result }
    return yield* manual.enqueue(call, next, [Delivery.toStored(next, now)], answer)
  })
})
