import { Applications } from "@quotewire/core/testing"
import { Caller, type OnOutage } from "./Caller.ts"
import type { Chance } from "./Chance.ts"
import * as Follower from "./Follower.ts"
import { after } from "./Hosts.ts"
import type * as Receiver from "./Receiver.ts"

/** So many requests may be open: faults are to strike work under way, not hosts that cannot keep up. */
const max_open = 100

const lines = ["renters", "pet", "personal_auto"] as const

const event_types = [
  ...["queued", "updated", "completed", "failed", "cancelled", "incomplete"].map((type) => `quote_request.${type}`),
  ...["created", "updated", "expired"].map((type) => `quote.${type}`)
]

/** An organization under load: what it was promised, and what it has seen. */
export interface Organization {
  readonly caller: Caller
  /** The caller that follows the feed. */
  readonly reader: Caller
  /** The identifiers of the requests that were answered with 202. */
  readonly accepted: Set<string>
  readonly follower: ReturnType<typeof Follower.follow>
  /** The seconds of the advances of its clock that were answered. */
  readonly advanced: Array<number>
  readonly name: string
  readonly subscription_id: string
}

/** Subscribes an organization to everything, and begins to follow its feed. */
export const begin = async (
  name: string,
  key: string,
  base_urls: ReadonlyArray<string>,
  receiver: Receiver.OpenReceiver,
  onOutage?: OnOutage
): Promise<Organization> => {
  const caller = new Caller(base_urls, key, onOutage)
  const subscribed = await caller.call("/v1/event-subscriptions", {
    method: "POST",
    idempotency_key: `subscribe-${name}`,
    body: { url: receiver.urlOf(name), event_types }
  })
  if (subscribed.status !== 201) throw new Error(`No subscription: ${JSON.stringify(subscribed.body)}`)
  receiver.trust(name, subscribed.body.signing_secret)
  const reader = new Caller(base_urls, key, onOutage)
  const follower = Follower.follow(reader)
  return { caller, reader, accepted: new Set(), follower, advanced: [], name, subscription_id: subscribed.body.id }
}

/** Starts requests one after the other until told to stop, each sent again until it is accepted. */
export const load = async (
  organization: Organization,
  chance: Chance,
  lane: number,
  rest_ms: number,
  isOver: () => boolean
) => {
  for (let number = 0; !isOver(); number++) {
    const line = chance.pick(lines)
    const { status, body } = await organization.caller.call("/v1/quote-requests", {
      method: "POST",
      body: {
        line,
        consent_receipt_id: `receipt-${lane}-${number}`,
        request_key: `request-${lane}-${number}`,
        application: Applications.smallest[line]
      }
    })
    if (status !== 202) throw new Error(`A start was answered with ${status}: ${JSON.stringify(body)}`)
    organization.accepted.add(body.id)
    do await after(rest_ms)
    while (!isOver() && organization.accepted.size - organization.follower.ended() > max_open)
  }
}

/**
 * Advances the clock by some seconds, again and again until told to stop; each call is sent again until it is answered.
 *
 * While hosts die every few seconds, an advance may take as long as they do.
 */
export const moveClock = async (
  { caller, advanced, name }: Organization,
  chance: Chance,
  lane: number,
  isOver: () => boolean,
  waits: () => boolean
) => {
  for (let number = 0; !isOver(); number++) {
    const seconds = 1 + chance.below(20)
    const idempotency_key = `advance-${name}-${lane}-${number}`
    const sent = { method: "POST", idempotency_key, body: { seconds } } as const
    const { status, body } = await caller.call("/v1/sandbox/time", sent, waits)
    if (status !== 200) throw new Error(`An advance was answered with ${status}: ${JSON.stringify(body)}`)
    advanced.push(seconds)
    await after(chance.below(2_000))
  }
}
