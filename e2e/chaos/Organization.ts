import { ExampleApplications } from "@quotewire/core/testing"
import { Caller, type OnOutage } from "./Caller.ts"
import type { Chance } from "./Chance.ts"
import * as Follower from "./Follower.ts"
import { after } from "./Hosts.ts"
import type * as Receiver from "./Receiver.ts"

/** The maximum number of open requests: faults should strike work in progress, not hosts that cannot keep up. */
const maxOpen = 100

const lines = ["renters", "pet", "personal_auto"] as const

const eventTypes = [
  ...["queued", "updated", "completed", "failed", "cancelled", "incomplete"].map((type) => `quote_request.${type}`),
  ...["created", "updated", "expired"].map((type) => `quote.${type}`)
]

/** An organization under load: what it was promised, and what it saw. */
export interface Organization {
  readonly caller: Caller
  /** The callers that follow the feed. */
  readonly readers: ReadonlyArray<Caller>
  /** The ids of the requests accepted with 202. */
  readonly accepted: Set<string>
  readonly followers: ReadonlyArray<Follower.Follower>
  /** The successful advances of its clock, in seconds. */
  readonly advanced: Array<number>
  readonly name: string
  readonly subscription_id: string
}

/** How an organization calls hosts. */
export interface Calling {
  readonly base_urls: ReadonlyArray<string>
  readonly onOutage?: OnOutage
  /** How many readers follow the feed; one by default. */
  readonly readers?: number
}

/** Subscribes receivers to all events of an organization, and starts following its feed. */
export const begin = async (
  name: string,
  key: string,
  { base_urls, onOutage, readers: several = 1 }: Calling,
  receivers: ReadonlyArray<Receiver.OpenReceiver>
): Promise<Organization> => {
  const caller = new Caller(base_urls, key, onOutage)
  let subscription_id = ""
  for (const [place, receiver] of receivers.entries()) {
    const subscribed = await caller.call("/v1/event-subscriptions", {
      method: "POST",
      idempotency_key: `subscribe-${name}-${place}`,
      body: { url: receiver.urlOf(name), event_types: eventTypes }
    })
    if (subscribed.status !== 201) throw new Error(`No subscription: ${JSON.stringify(subscribed.body)}`)
    receiver.trust(name, subscribed.body.signing_secret)
    subscription_id = subscribed.body.id
  }
  // The first two start at different hosts, and all rotate through the hosts.
  const orders = Array.from({ length: several }, (_, place) => (place % 2 === 0 ? base_urls : base_urls.toReversed()))
  const readers = orders.map((order) => new Caller(order, key, onOutage))
  const followers = readers.map((reader) => Follower.follow(reader))
  return { caller, readers, accepted: new Set(), followers, advanced: [], name, subscription_id }
}

/** How many requests of this organization have ended, according to its first reader. */
const ended = ({ followers: [follower] }: Organization): number => follower?.ended() ?? 0

/** A number in letters, because a name has no digits. */
const inLetters = (number: number): string => Array.from(`${number}`, (digit) => "abcdefghij"[Number(digit)]).join("")

/**
 * The smallest application. Each one for renters insurance names another person, by whom its carriers recognize it.
 */
const applicationOf = (line: (typeof lines)[number], lane: number, number: number) => {
  if (line !== "renters") return ExampleApplications.smallest[line]
  const smallest = ExampleApplications.smallest.renters
  return {
    ...smallest,
    applicant: { first_name: `${inLetters(lane)} ${inLetters(number)}` },
    dwelling: { ...smallest.dwelling, address: { state: "NY", zip: "10001" } }
  }
}

/** Starts requests one after the other until stopped, and retries each until it is accepted. */
export const load = async (
  organization: Organization,
  chance: Chance,
  lane: number,
  restMs: number,
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
        application: applicationOf(line, lane, number)
      }
    })
    if (status !== 202) throw new Error(`start_quote_request returned ${status}: ${JSON.stringify(body)}`)
    organization.accepted.add(body.id)
    do await after(restMs)
    while (!isOver() && organization.accepted.size - ended(organization) > maxOpen)
  }
}

/** An advance that takes longer than this is retried: a host may hold it for as long as there is work. */
const advancesWithinMs = 40_000

/**
 * Repeatedly advances the clock by some seconds until stopped, and retries each call until it gets a response.
 *
 * While hosts keep dying every few seconds, an advance may not complete.
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
    const sent = { method: "POST", idempotency_key, body: { seconds }, within_ms: advancesWithinMs } as const
    const { status, body } = await caller.call("/v1/sandbox/time", sent, waits)
    if (status !== 200) throw new Error(`advance_sandbox returned ${status}: ${JSON.stringify(body)}`)
    advanced.push(seconds)
    await after(chance.below(2_000))
  }
}
