import { Context, Effect, Layer, Option, Schema } from "effect"
import * as ApiKey from "../access/ApiKey.ts"
import * as Cursor from "../access/Cursor.ts"
import { Seal } from "../access/sealing/Seal.ts"
import { type Workspace, Workspaces } from "../access/Workspaces.ts"
import * as QuoteRequest from "../quoting/QuoteRequest.ts"
import type { StoredRecord } from "../storage/Change.ts"
import { directoryWorkspace, Storage, type StorageUnavailable } from "../storage/Storage.ts"
import * as ApiError from "../wire/ApiError.ts"
import { QuoteRequestId, WorkspaceId } from "../wire/Ids.ts"
import { defaultLimit } from "../wire/Pagination.ts"
import { toMillis } from "../wire/Timestamp.ts"
import { type FoundRequest, isInBody, matches, type SearchInput, toFound } from "./FoundRequest.ts"

/** A page of found requests. */
export interface FoundPage {
  readonly quote_requests: ReadonlyArray<FoundRequest>
  readonly next_cursor: string | null
}

/** Finds quote requests across organizations, for operators. */
export class QuoteRequestSearch extends Context.Service<
  QuoteRequestSearch,
  {
    /**
     * Returns a page of the matching requests. Within each hundred workspaces, the newest requests come first.
     *
     * A page covers a hundred workspaces, and reads at most a hundred records in each. It can therefore be short or
     * even empty although another page follows.
     */
    readonly find: (
      input: SearchInput
    ) => Effect.Effect<
      FoundPage,
      ApiError.ApiError<"invalid_cursor"> | ApiError.ApiError<"not_found"> | StorageUnavailable
    >
  }
>()("@quotewire/core/QuoteRequestSearch") {
  static readonly layer: Layer.Layer<QuoteRequestSearch, never, Storage | Seal | Workspaces> = Layer.effect(
    QuoteRequestSearch,
    Effect.gen(function* () {
      const seal = yield* Seal
      const candidates = yield* makeCandidates
      const scan = yield* makeScan

      const find = Effect.fn("QuoteRequestSearch.find")(function* (input: SearchInput) {
        const { limit = defaultLimit, cursor, ...filters } = input
        const scope = { list: "found_quote_requests", workspace_id: directoryWorkspace, filters }
        const start = cursor === undefined ? beginning : positionIn(yield* Cursor.read(seal, scope, cursor))
        const { ids, next } = yield* candidates(filters, start.after)
        const from = { before: start.before, limit: isInBody(filters) ? maxRecords : limit }
        const scans = yield* Effect.forEach(ids, (id) => scan(id, filters, from), { concurrency: readAtOnce })
        const { found, before } = merged(scans, limit)
        const position: Position | null =
          before !== null ? { after: start.after, before } : next === null ? null : { after: next, before: null }
        const next_cursor = position === null ? null : yield* Cursor.write(seal, scope, JSON.stringify(position))
        return { quote_requests: found, next_cursor }
      })

      return QuoteRequestSearch.of({ find })
    })
  )
}

/** The maximum number of workspaces on a page. */
const maxWorkspaces = 100
/** The maximum number of records that a page reads in a workspace. */
const maxRecords = 100
const readAtOnce = 8

type Filters = Omit<SearchInput, "limit" | "cursor">

/**
 * Where a page begins. The page covers the hundred workspaces after `after`, and their requests that are older than
 * `before`.
 */
const Position = Schema.Struct({ after: Schema.NullOr(WorkspaceId), before: Schema.NullOr(QuoteRequestId) })
type Position = typeof Position.Type

const beginning: Position = { after: null, before: null }

/** Decodes a cursor's position. The cursor's signature was already verified, so the position is valid. */
const positionIn = Schema.decodeSync(Schema.fromJsonString(Position))

/**
 * The result of searching one workspace: the matching requests, newest first, and the ID down to which the workspace
 * was searched, or null if it was searched completely.
 */
interface Scan {
  readonly found: ReadonlyArray<FoundRequest>
  readonly reached: string | null
}

/** Where the search of a workspace begins, and how many records it may read. */
interface From {
  readonly before: string | null
  readonly limit: number
}

const makeCandidates = Effect.gen(function* () {
  const storage = yield* Storage

  return Effect.fnUntraced(function* ({ environment, organization_id }: Filters, after: WorkspaceId | null) {
    if (organization_id === undefined) {
      const ids = yield* storage.workspaces(after, maxWorkspaces)
      const next = ids.length < maxWorkspaces ? null : (ids.at(-1) ?? null)
      return { ids: ids.filter((id) => id !== directoryWorkspace), next }
    }
    const organization = yield* ApiKey.findOrganization(storage, organization_id)
    if (organization === null) return yield* ApiError.make("not_found")
    const { live, sandbox } = organization.workspaces
    return { ids: environment === undefined ? [sandbox, live] : [organization.workspaces[environment]], next: null }
  })
})

const makeScan = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces

  const readRequest = (workspace_id: WorkspaceId, id: QuoteRequestId) =>
    Effect.map(storage.get({ workspace_id, kind: QuoteRequest.kind.name, id }), (record) => ({
      records: Option.toArray(record),
      reached: null
    }))

  const newest = (
    workspace_id: WorkspaceId,
    { created_after, created_before, line, status }: Filters,
    position: From
  ) =>
    Effect.map(
      storage.page({
        workspace_id,
        kind: QuoteRequest.kind.name,
        order: "newest",
        after: position.before,
        limit: position.limit,
        ...(status !== undefined && { status }),
        ...(line !== undefined && { line }),
        ...(created_after !== undefined && { created_after: toMillis(created_after) }),
        ...(created_before !== undefined && { created_before: toMillis(created_before) })
      }),
      ({ next, records }) => ({ records, reached: next })
    )

  return Effect.fnUntraced(function* (workspace_id: WorkspaceId, filters: Filters, position: From) {
    const { workspace } = yield* workspaces.cached(workspace_id)
    if (filters.environment !== undefined && filters.environment !== workspace.environment) return nothing
    const { records, reached } = yield* isWholeId(filters.id)
      ? readRequest(workspace_id, filters.id)
      : newest(workspace_id, filters, position)
    return { found: records.flatMap((record) => foundIn(record, workspace, filters)), reached } satisfies Scan
  })
})

const nothing: Scan = { found: [], reached: null }

const isWholeId = Schema.is(QuoteRequestId)

const foundIn = (record: StoredRecord, workspace: Workspace, filters: Filters): ReadonlyArray<FoundRequest> => {
  const request = QuoteRequest.kind.value(record)
  return matches(request, filters) ? [toFound(request, workspace.organization_id)] : []
}

/**
 * Merges the results, newest first. A request is included only if every workspace was searched back to the request's
 * time; otherwise a later page could contain a newer request. `before` is where the next page for the same workspaces
 * begins.
 */
const merged = (scans: ReadonlyArray<Scan>, limit: number) => {
  const horizon =
    scans
      .flatMap(({ reached }) => reached ?? [])
      .toSorted()
      .at(-1) ?? ""
  const requests = scans
    .flatMap(({ found }) => found)
    .filter(({ id }) => id >= horizon)
    .toSorted((a, b) => (a.id > b.id ? -1 : 1))
  const page = requests.slice(0, limit)
  if (requests.length > limit) return { found: page, before: page.at(-1)?.id ?? null }
  return { found: page, before: isWholeId(horizon) ? horizon : null }
}
