import type * as Audit from "./Audit.ts"
import type { ReadQuote } from "./Carriers.ts"
import { type FeedEvent, isFinal } from "./Feed.ts"
import * as Follower from "./Follower.ts"
import * as Hosts from "./Hosts.ts"
import type * as Organization from "./Organization.ts"
import type * as Receiver from "./Receiver.ts"

/** Work that makes no progress for this long has stopped, in milliseconds: a busy machine only slows it down. */
export const standsStillMs = 120_000

/** The final state of an organization, and when it was reached. */
export interface Settled extends Audit.Outcome {
  readonly final_at: number
  readonly delivered_at: number
}

/** Waits in real time until a condition holds, for as long as there is progress. Returns when it held. */
const until = async (isSo: () => boolean, progress: () => number): Promise<number> => {
  let seen = progress()
  let movedAt = Date.now()
  while (!isSo() && Date.now() - movedAt < standsStillMs) {
    await Hosts.after(50)
    if (progress() === seen) continue
    seen = progress()
    movedAt = Date.now()
  }
  return Date.now()
}

/**
 * Waits until an organization's requests have ended and their events have reached the receivers and the consumer, then
 * reads everything.
 */
export const settle = async (
  organization: Organization.Organization,
  receivers: ReadonlyArray<Receiver.OpenReceiver>,
  consumed: ReadonlyArray<string> | null = null
): Promise<Settled> => {
  const { accepted, advanced, caller, followers } = organization
  const [follower] = followers
  if (follower === undefined) throw new Error("Nobody follows the feed")
  const ended = new Set<string>()
  let looked = 0
  const final_at = await until(
    () => {
      for (const { resource, type } of follower.events.slice(looked)) if (isFinal(type)) ended.add(resource.id)
      looked = follower.events.length
      return [...accepted].every((id) => ended.has(id))
    },
    () => follower.events.length
  )
  const followed = await Promise.all(followers.map((one) => one.stop()))
  const known = followed[0] ?? []
  const received = receivers.map((receiver) => receiver.received)
  const delivered_at = await until(
    () => {
      const handled = consumed === null ? null : new Set(consumed)
      return known.every(({ id }) => received.every(({ bodies }) => bodies.has(id)) && handled?.has(id) !== false)
    },
    () => received.reduce((sum, { bodies }) => sum + bodies.size, consumed?.length ?? 0)
  )
  const feed: Array<FeedEvent> = []
  await Follower.read(caller, feed, null)
  const requests = await readRequests(organization)
  const { body } = await caller.call("/v1/sandbox")
  const clock = { accepted: advanced.reduce((sum, seconds) => sum + seconds, 0), stands: body.clock_offset_seconds }
  return { accepted, followed, feed, requests, received, consumed, clock, final_at, delivered_at }
}

/** The current state of every request. */
export const readRequests = async ({ caller }: Pick<Organization.Organization, "caller">) => {
  const requests = new Map<string, { readonly status: string; readonly version: number }>()
  let cursor: string | null = null
  do {
    const query: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`
    const { body } = await caller.call(`/v1/quote-requests?limit=100${query}`)
    for (const { id, status, version } of body.quote_requests) requests.set(id, { status, version })
    cursor = body.next_cursor
  } while (cursor !== null)
  return requests
}

/** The quotes of each request for renters insurance, the line of the tests' own carriers. */
export const readQuotes = async ({
  caller
}: Pick<Organization.Organization, "caller">): Promise<ReadonlyArray<ReadonlyArray<ReadQuote>>> => {
  const all: Array<ReadonlyArray<ReadQuote>> = []
  let cursor: string | null = null
  do {
    const query: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`
    const { body: page } = await caller.call(`/v1/quote-requests?limit=100&line=renters${query}`)
    for (const { id } of page.quote_requests) {
      const { body } = await caller.call(`/v1/quote-requests/${id}?wait_seconds=0`)
      const quotes: ReadonlyArray<ApiQuote> = body.quotes
      all.push(
        quotes.map(({ price, source }) => ({
          carrier_id: source.carrier.id,
          cents: price.premium?.amount_minor ?? null
        }))
      )
    }
    cursor = page.next_cursor
  } while (cursor !== null)
  return all
}

/** The fields that are read. */
interface ApiQuote {
  readonly source: { readonly carrier: { readonly id: string } }
  readonly price: { readonly premium: { readonly amount_minor: number } | null }
}
