import { Clock, Effect } from "effect"
import { findOrganization } from "../access/ApiKey.ts"
import type { Workspace, Workspaces } from "../access/Workspaces.ts"
import * as Change from "../storage/Change.ts"
import type { RecordPage } from "../storage/Page.ts"
import { commit, retryOnConflict, type Storage } from "../storage/Storage.ts"
import * as ApiError from "../wire/ApiError.ts"
import { InvalidConsumer, wrongName } from "./ConsumeOptions.ts"
import * as Consumer from "./Consumer.ts"
import { loadConsumer, loadParked } from "./ConsumerStore.ts"
import { eachWorkspacePage } from "./eachWorkspacePage.ts"
import * as ParkedEvent from "./ParkedEvent.ts"

type StorageService = Storage["Service"]

const defaultLimit = 100
const maxLimit = 1_000
const pageRecords = 100

/** Lists parked events, workspace by workspace. */
export const list = Effect.fnUntraced(function* (
  storage: StorageService,
  workspaces: Workspaces["Service"],
  name: string,
  filter: ParkedEvent.ParkedEventFilter
) {
  const refusal = wrongName(name)
  if (refusal !== null) return yield* refusal
  const { limit = defaultLimit } = filter
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= maxLimit)) {
    return yield* new InvalidConsumer({ message: `limit must be a whole number from 1 to ${maxLimit}.` })
  }
  const parked: Array<ParkedEvent.ParkedEvent> = []

  const listIn = Effect.fnUntraced(function* (workspace: Workspace, status: ParkedEvent.StoredParkedEvent["status"]) {
    if (parked.length >= limit) return
    const query = { workspace_id: workspace.id, kind: ParkedEvent.kind.name, parent: name, status } as const
    let after: string | null = null
    do {
      const atMost = Math.min(pageRecords, limit - parked.length)
      const page: RecordPage = yield* storage.page({ ...query, order: "oldest", limit: atMost, after })
      parked.push(...page.records.map((record) => ParkedEvent.view(ParkedEvent.kind.value(record), workspace)))
      after = page.next
    } while (after !== null && parked.length < limit)
  })

  yield* eachWorkspacePage(storage, (page) =>
    Effect.forEach(
      page,
      Effect.fnUntraced(function* (id) {
        if (parked.length >= limit) return
        const { workspace } = yield* workspaces.cached(id)
        const { organization_id = workspace.organization_id, environment = workspace.environment } = filter
        if (organization_id !== workspace.organization_id || environment !== workspace.environment) return
        yield* listIn(workspace, "parked")
        yield* listIn(workspace, "retrying")
        yield* listIn(workspace, "running")
      }),
      { discard: true }
    )
  )
  return parked
})

/**
 * Makes a function that marks a consumer's parked event as retrying or dropped. A retry also changes the consumer, so
 * that the process that holds the consumer notices.
 */
export const makeSetStatus = (
  storage: StorageService,
  workspaces: Workspaces["Service"],
  status: "retrying" | "dropped"
) =>
  Effect.fnUntraced(function* (name: string, place: ParkedEvent.ParkedEventPlace) {
    const organization = yield* findOrganization(storage, place.organization_id)
    const workspaceId = organization?.workspaces[place.environment]
    if (workspaceId === undefined) return yield* ApiError.make("not_found")
    const consumer = yield* loadConsumer(storage, workspaceId, name)
    const parkedEvent = yield* loadParked(storage, workspaceId, name, place.event_id)
    if (consumer === null || parkedEvent === null || !ParkedEvent.isOpen(parkedEvent.parked)) {
      return yield* ApiError.make("not_found")
    }
    if (status === "retrying" && ParkedEvent.isRetried(parkedEvent.parked)) return
    const { now } = yield* workspaces.moment(workspaceId)
    const parked = ParkedEvent.toStored({ ...parkedEvent.parked, status }, parkedEvent.version + 1, now)
    const consumerRecord = Consumer.toStored(Consumer.withRetry(consumer), yield* Clock.currentTimeMillis)
    const writes = status === "retrying" ? [parked, consumerRecord] : [parked]
    yield* commit(storage, Change.make(workspaceId, { writes }))
  }, retryOnConflict)
