import type * as Audit from "./Audit.ts"
import { type FeedEvent, isFinal } from "./Feed.ts"
import * as Follower from "./Follower.ts"
import * as Hosts from "./Hosts.ts"
import type * as Organization from "./Organization.ts"
import type * as Receiver from "./Receiver.ts"

/** Work that makes no progress for so long has stopped: a machine that is busy only makes it slow. */
export const stands_still_ms = 120_000

/** What has become of an organization, and when that was so. */
export interface Settled extends Audit.Outcome {
  readonly final_at: number
  readonly delivered_at: number
}

/** Waits in real time until something is so, for as long as there is progress; answers when that was. */
const until = async (isSo: () => boolean, progress: () => number): Promise<number> => {
  let seen = progress()
  let moved_at = Date.now()
  while (!isSo() && Date.now() - moved_at < stands_still_ms) {
    await Hosts.after(50)
    if (progress() === seen) continue
    seen = progress()
    moved_at = Date.now()
  }
  return Date.now()
}

/** Waits for an organization's requests to come to their ends, and their events to the receiver; then reads all of it. */
export const settle = async (
  organization: Organization.Organization,
  receiver: Receiver.OpenReceiver
): Promise<Settled> => {
  const { accepted, advanced, caller, follower } = organization
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
  const followed = await follower.stop()
  const { bodies } = receiver.received
  const delivered_at = await until(
    () => followed.every(({ id }) => bodies.has(id)),
    () => bodies.size
  )
  const feed: Array<FeedEvent> = []
  await Follower.read(caller, feed, null)
  const requests = await readRequests(organization)
  const { body } = await caller.call("/v1/sandbox")
  const clock = { accepted: advanced.reduce((sum, seconds) => sum + seconds, 0), stands: body.clock_offset_seconds }
  return { accepted, followed, feed, requests, received: receiver.received, clock, final_at, delivered_at }
}

/** Every request as it reads now. */
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
