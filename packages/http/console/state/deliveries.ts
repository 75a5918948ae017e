import type { AnswerOf } from "../../src/client/index.ts"
import type { Session } from "./session.ts"

/** A delivery and the endpoint that it goes to. */
export interface DeliveryTo {
  readonly subscription_id: string
  readonly url: string
  readonly delivery: AnswerOf<"list_event_deliveries">["deliveries"][number]
}

/**
 * How many endpoints are asked for deliveries. Up to ten can be active, and disabled endpoints may also have received
 * deliveries.
 */
const maxEndpoints = 20

/** Loads the deliveries of a request's events from every endpoint. */
export const deliveriesOf = async (
  { client }: Session,
  quote_request_id: string,
  signal: AbortSignal
): Promise<ReadonlyArray<DeliveryTo>> => {
  const { event_subscriptions } = await client.list_event_subscriptions({ limit: maxEndpoints }, { signal })
  const pages = await Promise.all(
    event_subscriptions.map(async ({ id, url }) => {
      const { deliveries } = await client.list_event_deliveries({ id, quote_request_id, limit: 100 }, { signal })
      return deliveries.map((delivery) => ({ subscription_id: id, url, delivery }))
    })
  )
  return pages.flat()
}
