import { Effect } from "effect"
import type * as Ledger from "./Ledger.ts"
import { type Answer, operation } from "./Operations.ts"
import type { Service } from "./Service.ts"
import { environmentOf, type Workspace, type WorkspaceName, type Workspaces, workspaceNames } from "./World.ts"

/*
 * Readers: those that follow the feeds all the time, and those that read everything once it is quiet.
 */

/** A quote request with its quotes. */
export type ReadRequest = Answer<"get_quote_request">
/** A delivery in the log. */
export type ReadDelivery = Answer<"list_event_deliveries">["deliveries"][number]

/** How long a follower waits at the end of a feed. */
const idleMs = 8_000

type EventPage = Answer<"list_events">

/** Reads a page of the feed; null if the cursor has expired. */
const readFeed = (service: Service, key: string, cursor: string | null): Effect.Effect<EventPage | null> =>
  service.call(operation("list_events"), { limit: 20, ...(cursor !== null && { cursor }) }, { key }).pipe(
    Effect.catchTag("event_cursor_expired", () => Effect.succeed(null)),
    Effect.orDie
  )

/**
 * Follows the feed of a workspace until it is told to stop and has read everything. Starts over if its cursor expires.
 */
export const follow = Effect.fnUntraced(function* (
  service: Service,
  key: string,
  followed: Ledger.Followed,
  isStopping: () => boolean
) {
  let cursor: string | null = null
  followed.push([])
  while (true) {
    const isLast = isStopping()
    const page: EventPage | null = yield* readFeed(service, key, cursor)
    if (page === null) followed.push([])
    else followed.at(-1)?.push(...page.events)
    cursor = page?.next_cursor ?? null
    if (page === null || page.events.length > 0) continue
    if (isLast) return
    yield* Effect.sleep(idleMs)
  }
})

/** Reads all pages of a list. */
const allPages = Effect.fnUntraced(function* <A>(
  read: (cursor: string | null) => Effect.Effect<{ readonly items: ReadonlyArray<A>; readonly next: string | null }>
) {
  const all: Array<A> = []
  let cursor: string | null = null
  do {
    const page: { readonly items: ReadonlyArray<A>; readonly next: string | null } = yield* read(cursor)
    all.push(...page.items)
    cursor = page.next
  } while (cursor !== null)
  return all
})

const inputOf = (cursor: string | null) => ({ limit: 100, ...(cursor !== null && { cursor }) })

const requestsOf = (service: Service, key: string) =>
  allPages((cursor) =>
    Effect.orDie(service.call(operation("list_quote_requests"), inputOf(cursor), { key })).pipe(
      Effect.map(({ quote_requests, next_cursor }) => ({ items: quote_requests, next: next_cursor }))
    )
  )

const deliveriesOf = (service: Service, key: string, id: string) =>
  allPages((cursor) =>
    Effect.orDie(service.call(operation("list_event_deliveries"), { id, ...inputOf(cursor) }, { key })).pipe(
      Effect.map(({ deliveries, next_cursor }) => ({ items: deliveries, next: next_cursor }))
    )
  )

/** Descriptions of what is unfinished. */
export interface Open {
  /** What hosts are working on. */
  readonly soon: ReadonlyArray<string>
  /** What waits for a later time: a person's answer, or the next attempt of a webhook. */
  readonly later: ReadonlyArray<string>
  /** Whether a webhook waits: its attempts are minutes and hours apart. */
  readonly isRetrying: boolean
}

/** What is unfinished: nothing may be left after a quiet time. */
export const findOpen = Effect.fnUntraced(function* (service: Service, workspaces: Workspaces, ledger: Ledger.Ledger) {
  const soon: Array<string> = []
  const later: Array<string> = []
  let isRetrying = false
  for (const name of workspaceNames) {
    for (const { id, status } of yield* requestsOf(service, workspaces[name].server)) {
      if (status === "in_progress") soon.push(`${id} is ${status}`)
      if (status === "action_required") later.push(`${id} is ${status}`)
    }
  }
  for (const { id, workspace } of ledger.subscribed) {
    for (const { event_id, status } of yield* deliveriesOf(service, workspaces[workspace].server, id)) {
      if (status === "pending") soon.push(`the delivery of ${event_id} to ${id} is ${status}`)
      if (status !== "retrying") continue
      later.push(`the delivery of ${event_id} to ${id} is ${status}`)
      isRetrying = true
    }
  }
  const open: Open = { soon, later, isRetrying }
  return open
})

/** Everything that can finally be read in a workspace. */
export interface Reading {
  /** In milliseconds. */
  readonly workspace_time: number
  readonly feed: ReadonlyArray<Ledger.FeedEvent>
  readonly requests: ReadonlyArray<ReadRequest>
  /** Deliveries by subscription. */
  readonly deliveries: ReadonlyMap<string, ReadonlyArray<ReadDelivery>>
}

/** Everything that can be read, by workspace. */
export type Readings = ReadonlyMap<WorkspaceName, Reading>

/** Reads the whole feed. */
const wholeFeed = Effect.fnUntraced(function* (service: Service, key: string) {
  const feed: Ledger.Followed = []
  yield* follow(service, key, feed, () => true)
  return feed[0] ?? []
})

/** How many times everything may be read again because something changed in the meantime, such as a refreshed offer. */
const mostReadings = 10

/** The feed, and the requests as of its end. */
const feedAndRequests = Effect.fnUntraced(function* (service: Service, key: string) {
  let feed = yield* wholeFeed(service, key)
  for (let reading = 1; ; reading++) {
    const requests = yield* Effect.forEach(yield* requestsOf(service, key), ({ id }) =>
      Effect.orDie(service.call(operation("get_quote_request"), { id, wait_seconds: 0 }, { key }))
    )
    const afterwards = yield* wholeFeed(service, key)
    if (afterwards.length === feed.length || reading === mostReadings) return { feed, requests }
    feed = afterwards
  }
})

const readWorkspace = Effect.fnUntraced(function* (
  service: Service,
  name: WorkspaceName,
  { server: key }: Workspace,
  ledger: Ledger.Ledger,
  now: number
) {
  const sandbox =
    environmentOf(name) === "live" ? null : yield* Effect.orDie(service.call(operation("get_sandbox"), {}, { key }))
  const { feed, requests } = yield* feedAndRequests(service, key)
  const deliveries = new Map<string, ReadonlyArray<ReadDelivery>>()
  for (const { id, workspace } of ledger.subscribed) {
    if (workspace === name) deliveries.set(id, yield* deliveriesOf(service, key, id))
  }
  const workspace_time = sandbox === null ? now : Date.parse(sandbox.workspace_time)
  const reading: Reading = { workspace_time, feed, requests, deliveries }
  return reading
})

/** Reads everything. */
export const readAll = (service: Service, workspaces: Workspaces, ledger: Ledger.Ledger, now: number) =>
  Effect.map(
    Effect.forEach(workspaceNames, (name) =>
      Effect.map(readWorkspace(service, name, workspaces[name], ledger, now), (reading) => [name, reading] as const)
    ),
    (readings): Readings => new Map(readings)
  )
