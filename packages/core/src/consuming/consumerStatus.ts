import { Effect } from "effect"
import type { Environment } from "../access/Caller.ts"
import type { Workspaces } from "../access/Workspaces.ts"
import { directoryWorkspace, eachPage, endOfFeed, readAll, type Storage } from "../storage/Storage.ts"
import type { OrganizationId, WorkspaceId } from "../wire/Ids.ts"
import { fromMillis, type Timestamp } from "../wire/Timestamp.ts"
import * as Consumer from "./Consumer.ts"
import { loadConsumer } from "./ConsumerStore.ts"
import { eachWorkspacePage } from "./eachWorkspacePage.ts"
import * as ParkedEvent from "./ParkedEvent.ts"

type StorageService = Storage["Service"]

/** The progress of a consumer in one workspace. */
export interface ConsumerPlace {
  readonly organization_id: OrganizationId
  readonly environment: Environment
  /** The feed number up to which all events are done. */
  readonly position: number
  /** How many events come after the position. Events of all types count. */
  readonly behind: number
  /** How many parked events wait for an operator to retry or drop them. */
  readonly parked: number
}

/** A consumer, and its progress in all workspaces. */
export interface ConsumerStatus {
  readonly name: string
  /** When the consumer's name was first used, in real time. */
  readonly started_at: Timestamp
  readonly workspaces: number
  /** How many events are not handled yet, in all workspaces. */
  readonly behind: number
  readonly parked: number
  /**
   * At most 100 workspaces that have parked or unhandled events: first the workspaces with parked events, then the
   * workspaces that are furthest behind.
   */
  readonly places: ReadonlyArray<ConsumerPlace>
}

/** Selects the workspaces to count. */
export interface ConsumerFilter {
  readonly organization_id?: OrganizationId
  readonly environment?: Environment
}

const maxPlaces = 100
const pageRecords = 100

/** Lists the consumers in a storage backend by name, with their progress. */
export const list = Effect.fnUntraced(function* (
  storage: StorageService,
  workspaces: Workspaces["Service"],
  filter: ConsumerFilter
) {
  const starts = yield* readAll(storage, {
    workspace_id: directoryWorkspace,
    kind: Consumer.startKind.name,
    order: "oldest",
    limit: pageRecords
  })
  const byName = new Map(
    starts.map((start) => [start.id, statusOf(start.id, Consumer.startKind.value(start).started_at)])
  )

  const look = Effect.fnUntraced(function* (id: WorkspaceId) {
    const { workspace } = yield* workspaces.cached(id)
    const { organization_id, environment } = workspace
    if ((filter.organization_id ?? organization_id) !== organization_id) return
    if ((filter.environment ?? environment) !== environment) return
    let end: number | null = null
    for (const [name, status] of byName) {
      const position = (yield* loadConsumer(storage, id, name))?.position ?? 0
      const { events, erased_through } = yield* storage.feed({ workspace_id: id, after: position, limit: 1 })
      if (events.length > 0) end ??= yield* endOfFeed(storage, id)
      const behind = events.length > 0 ? Math.max(0, (end ?? 0) - Math.max(position, erased_through)) : 0
      const parked = yield* parkedIn(storage, id, name)
      byName.set(name, withPlace(status, { organization_id, environment, position, behind, parked }))
    }
  })
  yield* eachWorkspacePage(storage, (ids) => Effect.forEach(ids, look, { discard: true }))
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
})

const statusOf = (name: string, startedAt: number): ConsumerStatus => ({
  name,
  started_at: fromMillis(startedAt),
  workspaces: 0,
  behind: 0,
  parked: 0,
  places: []
})

const withPlace = (status: ConsumerStatus, place: ConsumerPlace): ConsumerStatus => ({
  ...status,
  workspaces: status.workspaces + 1,
  behind: status.behind + place.behind,
  parked: status.parked + place.parked,
  places:
    place.behind + place.parked === 0 ? status.places : [...status.places, place].sort(byUrgency).slice(0, maxPlaces)
})

const byUrgency = (a: ConsumerPlace, b: ConsumerPlace): number =>
  Number(b.parked > 0) - Number(a.parked > 0) || b.behind - a.behind

const parkedIn = Effect.fnUntraced(function* (storage: StorageService, workspace_id: WorkspaceId, name: string) {
  let parked = 0
  const query = { workspace_id, kind: ParkedEvent.kind.name, parent: name, status: "parked", order: "oldest" } as const
  yield* eachPage(storage, { ...query, limit: pageRecords }, (records) =>
    Effect.sync(() => {
      parked += records.length
    })
  )
  return parked
})
