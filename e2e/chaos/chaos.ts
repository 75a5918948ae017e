import * as Audit from "./Audit.ts"
import * as Chance from "./Chance.ts"
import type { Fault } from "./Faults.ts"
import { type FeedEvent, isFinal } from "./Feed.ts"
import * as Follower from "./Follower.ts"
import * as Hosts from "./Hosts.ts"
import * as Organization from "./Organization.ts"
import * as Receiver from "./Receiver.ts"
import * as Service from "./Service.ts"

/** What is to happen. */
export interface Plan {
  readonly seed: number
  /** What strikes, one after the other, under load. */
  readonly faults: ReadonlyArray<Fault>
  /** No more faults after this time, in milliseconds; the load ends with the last fault. */
  readonly most_ms: number
  readonly say: (line: string) => void
}

/** What happened. */
export interface Story {
  readonly faults: number
  readonly accepted: number
  readonly events: number
  /** Deliveries that arrived more than once, which is allowed. */
  readonly repeated_deliveries: number
  /** Calls that were sent again because a host or the database was away. */
  readonly repeated_calls: number
  /** From the last fault until every accepted request had come to its end. */
  readonly final_ms: number
  /** From the last fault until every event had arrived at its receiver, too. */
  readonly recovered_ms: number
  /** What was promised and not kept. */
  readonly findings: ReadonlyArray<string>
}

const lanes = 4
// About twenty starts a second: faults are to strike work under way, not a host that cannot keep up.
const rest_ms = 400
/** Work that makes no progress for so long has stopped: a machine that is busy only makes it slow. */
const stands_still_ms = 120_000

/** Plays a plan on two hosts and a PostgreSQL of their own, and judges what has come of it. */
export const play = async (plan: Plan): Promise<Story> => {
  const service = await Service.open({ hosts: 2, durable: true })
  const receiver = await Receiver.open()
  try {
    return await strikeUnderLoad(plan, service, receiver)
  } finally {
    receiver.close()
    await service.close()
  }
}

type OpenReceiver = Awaited<ReturnType<typeof Receiver.open>>

const strikeUnderLoad = async (plan: Plan, service: Service.Service, receiver: OpenReceiver): Promise<Story> => {
  const base_urls = service.hosts.map(({ base_url }) => base_url)
  const organizations: Array<Organization.Organization> = []
  for (const name of ["one", "other"]) {
    organizations.push(await Organization.begin(name, await service.newKey(name), base_urls, receiver))
  }
  let over = false
  let last_fault = Date.now()
  const loads = organizations.flatMap((organization, place) =>
    Array.from({ length: lanes }, (_, lane) =>
      Organization.load(organization, Chance.make(plan.seed + place * lanes + lane), lane, rest_ms, () => over)
    )
  )
  const inTime = () => !over || Date.now() - last_fault < stands_still_ms
  const clocks = organizations.flatMap((organization, place) =>
    [0, 1].map((lane) =>
      Organization.moveClock(organization, Chance.make(plan.seed + 1_000 + 2 * place + lane), lane, () => over, inTime)
    )
  )
  const moving = Promise.allSettled(clocks)
  const chance = Chance.make(plan.seed)
  const began = Date.now()
  let struck = 0
  try {
    for (const fault of plan.faults) {
      if (Date.now() - began > plan.most_ms) break
      await Hosts.after(200 + chance.below(800))
      await fault.strike(service, chance)
      struck += 1
      plan.say(`${struck} of ${plan.faults.length}: ${fault.name}`)
    }
  } finally {
    over = true
    last_fault = Date.now()
  }
  await Promise.all(loads)
  const moved = await moving
  const outcomes = await Promise.all(organizations.map((organization) => settle(organization, receiver)))
  return {
    faults: struck,
    accepted: outcomes.reduce((sum, { accepted }) => sum + accepted.size, 0),
    events: outcomes.reduce((sum, { feed }) => sum + feed.length, 0),
    repeated_deliveries: [...receiver.received.bodies.values()].reduce((sum, all) => sum + all.length - 1, 0),
    repeated_calls: organizations.reduce((sum, { caller }) => sum + caller.repeats, 0),
    final_ms: Math.max(...outcomes.map(({ final_at }) => final_at)) - last_fault,
    recovered_ms: Math.max(...outcomes.map(({ delivered_at }) => delivered_at)) - last_fault,
    findings: [
      ...moved.flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : [])),
      ...outcomes.flatMap(Audit.findings)
    ]
  }
}

/** What has become of an organization, and when that was so. */
interface Settled extends Audit.Outcome {
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
const settle = async (organization: Organization.Organization, receiver: OpenReceiver): Promise<Settled> => {
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

const readRequests = async ({ caller }: Organization.Organization) => {
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
