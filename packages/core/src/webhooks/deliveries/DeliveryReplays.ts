import { Clock, Effect } from "effect"
import type { Call } from "../../calls/Call.ts"
import { Storage } from "../../storage/Storage.ts"
import { day_ms } from "../../wire/Timestamp.ts"
import * as Delivery from "../records/Delivery.ts"
import * as DeliveryLog from "./DeliveryLog.ts"
import type { DeliveryInput, ReplayResult } from "./DeliveryViews.ts"
import * as ManualDelivery from "./ManualDelivery.ts"
import * as StoredAnswers from "./StoredAnswers.ts"

/** How many replays of an event are allowed in a day (api.md, Fixed limits). */
const max_replays = 5

/** Queues events of the log for delivery again (api.md, Replays). */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const manual = yield* ManualDelivery.make

  return Effect.fnUntraced(function* (call: Call, input: DeliveryInput) {
    const { now } = call.moment
    const { subscription, delivery } = yield* DeliveryLog.find(storage, call, input)
    const answer_id = StoredAnswers.replayId(subscription.id, delivery.event_id, call.idempotency_key)
    const answered = yield* manual.storedAnswer(call, StoredAnswers.replays, answer_id)
    if (answered !== null) return answered
    yield* manual.checkReceives(subscription)
    const real_now = yield* Clock.currentTimeMillis
    const recent = Delivery.recentReplays(delivery, real_now)
    if (recent.length >= max_replays) {
      const left_ms = (recent[0] ?? 0) + day_ms - real_now
      return yield* ManualDelivery.limited(`${max_replays} replays of an event a day`, left_ms)
    }
    const next = Delivery.replayed(delivery, now, real_now)
    const result: ReplayResult = { subscription_id: subscription.id, event_id: delivery.event_id }
    const answer = { kind: StoredAnswers.replays, id: answer_id, result }
    return yield* manual.enqueue(call, next, [Delivery.toStored(next, now)], answer)
  })
})
