import * as Answer from "./Answer.ts"
import { count, joinFirst, more } from "./phrases.ts"

interface TestSent {
  readonly subscription_id: string
  readonly event: { readonly id: string }
}

/** A test event that is queued for sending. */
export const testSent = Answer.summarized(({ event, subscription_id }: TestSent) =>
  [
    `Test event ${event.id} was queued for delivery to ${subscription_id}.`,
    "Next: get_event_delivery with this event_id shows how the endpoint responded."
  ].join("\n")
)

interface DeliveryLog {
  readonly deliveries: ReadonlyArray<{
    readonly event_id: string
    readonly event_type: string
    readonly status: string
  }>
  readonly next_cursor: string | null
}

/** A page of the delivery log. The summary counts the deliveries by status and names the failed deliveries. */
export const deliveries = Answer.summarized((log: DeliveryLog) => {
  const statuses = Map.groupBy(log.deliveries, ({ status }) => status)
  const counts = Array.from(statuses, ([status, group]) => `${group.length} ${status}`).join(", ")
  const failing = log.deliveries.filter(({ status }) => status === "failed" || status === "retrying")
  return [
    `${count(log.deliveries.length, "delivery", "deliveries")}, newest first${counts === "" ? "" : `: ${counts}`}.`,
    ...(failing.length === 0
      ? []
      : [
          joinFirst(
            failing.map(
              (failedDelivery) => `${failedDelivery.event_id}: ${failedDelivery.event_type} ${failedDelivery.status}`
            ),
            "\n"
          )
        ]),
    more(log.next_cursor)
  ].join("\n")
})

interface DeliveryWithAttempts {
  readonly event_id: string
  readonly event_type: string
  readonly status: string
  readonly next_attempt_at: string | null
  readonly attempts: ReadonlyArray<{ readonly status: string; readonly response_status_code: number | null }>
}

/** One delivery. The summary says how its latest attempt ended, and when the next attempt is due. */
export const delivery = Answer.summarized((answer: DeliveryWithAttempts) => {
  const [newest] = answer.attempts
  const answered = newest?.response_status_code ?? null
  return [
    `Delivery of ${answer.event_id} (${answer.event_type}) is ${answer.status} after ${count(answer.attempts.length, "attempt")}.`,
    ...(newest === undefined
      ? []
      : [`The latest attempt ${newest.status}: ${answered === null ? "no HTTP response" : `HTTP ${answered}`}.`]),
    ...(answer.next_attempt_at === null ? [] : [`The next attempt is at ${answer.next_attempt_at}.`])
  ].join("\n")
})

/** A replay of a delivery that is queued for sending. */
export const replayed = Answer.summarized(
  ({ event_id, subscription_id }: { readonly event_id: string; readonly subscription_id: string }) =>
    [
      `Event ${event_id} was queued again for delivery to ${subscription_id}, with the same id and body.`,
      "Next: get_event_delivery shows how the endpoint responded."
    ].join("\n")
)

interface Health {
  readonly subscription_id: string
  readonly state: string
  readonly reason: string
}

/** An endpoint's health, with the reason for it. */
export const health = Answer.summarized(
  ({ reason, state, subscription_id }: Health) => `${subscription_id} is ${state}: ${reason}`
)
