import { Effect, Option } from "effect"
import { directoryWorkspace, type Storage, type StorageUnavailable } from "../storage/Storage.ts"
import type { EventId, WorkspaceId } from "../wire/Ids.ts"
import * as Consumer from "./Consumer.ts"
import * as ParkedEvent from "./ParkedEvent.ts"

type StorageService = Storage["Service"]

/** The consumer of this name in a workspace; null if there is none yet. */
export const loadConsumer = (
  storage: StorageService,
  workspace_id: WorkspaceId,
  name: string
): Effect.Effect<Consumer.Consumer | null, StorageUnavailable> =>
  Effect.map(storage.get({ workspace_id, kind: Consumer.kind.name, id: name }), (stored) =>
    Option.isNone(stored) ? null : Consumer.kind.value(stored.value)
  )

/** Since when a name is consumed, and the version of that; null if it never was. */
export const loadStart = (storage: StorageService, name: string) =>
  Effect.map(storage.get({ workspace_id: directoryWorkspace, kind: Consumer.startKind.name, id: name }), (stored) =>
    Option.isNone(stored) ? null : { ...Consumer.startKind.value(stored.value), version: stored.value.version }
  )

/** A parked event and its version; null if it was never parked. */
export const loadParked = (storage: StorageService, workspace_id: WorkspaceId, name: string, event_id: EventId) =>
  Effect.map(
    storage.get({ workspace_id, kind: ParkedEvent.kind.name, id: ParkedEvent.idOf(name, event_id) }),
    (stored) =>
      Option.isNone(stored) ? null : { parked: ParkedEvent.kind.value(stored.value), version: stored.value.version }
  )

/** How many workspaces are read at once. */
const workspaces_page = 100

/** Reads the ids of all workspaces, page by page. */
export const eachWorkspaces = Effect.fnUntraced(function* <E, R>(
  storage: StorageService,
  use: (ids: ReadonlyArray<WorkspaceId>) => Effect.Effect<unknown, E, R>
) {
  let after: WorkspaceId | null = null
  do {
    const page: ReadonlyArray<WorkspaceId> = yield* storage.workspaces(after, workspaces_page)
    yield* use(page.filter((id) => id !== directoryWorkspace))
    after = page.length < workspaces_page ? null : (page.at(-1) ?? null)
  } while (after !== null)
})

/** The number of the newest event of a feed, found in a few reads; that of the newest erased one if none is left. */
export const endOfFeed = Effect.fnUntraced(function* (storage: StorageService, workspace_id: WorkspaceId) {
  const next = (after: number) => storage.feed({ workspace_id, after, limit: 1 })
  const first = yield* next(0)
  // The event of the number `low` is there. Doubles the step until none is behind it, then bisects.
  let low = first.events[0]?.number ?? null
  if (low === null) return first.erased_through
  let step = 1
  for (let found = yield* next(low + step); found.events[0] !== undefined; found = yield* next(low + step)) {
    low = found.events[0].number
    step *= 2
  }
  let high = low + step
  while (low < high) {
    const middle: number = Math.ceil((low + high) / 2)
    if ((yield* next(middle - 1)).events.length > 0) low = middle
    else high = middle - 1
  }
  return low
})
