import { Ids, Page, type Storage } from "@quotewire/core"
import { Effect, Option, Schema, type Scope } from "effect"
import { unavailable } from "../connection/StatementRefused.ts"
import type { Database } from "../database/Database.ts"
import { KnownMigrations } from "../migrations/migrations.ts"
import { incompatibility, readStatus, statusStatement } from "../migrations/Schema.ts"
import * as Columns from "../rows/Columns.ts"
import { hasKnownKind, laneOf } from "../rows/jobs.ts"
import { recordColumnList, records } from "../rows/records.ts"
import { query } from "../sql/files.ts"
import { readFeed } from "./feed.ts"
import * as Lookups from "./Lookups.ts"
import { isFiltered, pageOf, readPage } from "./pages.ts"

const readVersion = query("read_version", { record_columns: recordColumnList })
const listWorkspaces = query("workspaces")
const workspaces = Columns.rowsReader(Schema.Struct({ workspace_id: Ids.WorkspaceId }))
const listLane = query("lane")
const listLanes = query("lanes")
const listProcesses = query("processes")
const processes = Columns.rowsReader(Schema.Struct({ name: Schema.String, since: Schema.Int }))
// Only a cell that has moved has a `place` table.
const placeFound = query("places/found")
const foundPlaces = Columns.rowsReader(Schema.Struct({ has_place: Schema.Boolean }))
const placeState = query("places/place")
const movingPlaces = Columns.rowsReader(Schema.Struct({ state: Schema.String }))
const isLeaving = ({ state }: { readonly state: string }): boolean => state === "leaving" || state === "held"
const countBacklog = query("backlog")
const backlogs = Columns.rowsReader(Schema.Struct({ kind: Schema.String, due: Schema.Int, oldest_due_at: Schema.Int }))
const laneJobs = Columns.rowsReader(
  Schema.Struct({ kind: Schema.String, due_at: Schema.Int, lease: Schema.Int, payload: Schema.String })
)

/** Reads the first jobs of one lane or of all lanes. */
const readLane = (
  database: Database,
  { workspace_id, lane, limit }: Storage.LaneQuery
): Effect.Effect<ReadonlyArray<Storage.LaneJob>, Storage.StorageUnavailable> =>
  Effect.map(
    lane === undefined
      ? database.read(listLanes, [workspace_id, limit])
      : database.read(listLane, [workspace_id, laneOf(lane), limit]),
    (rows) => laneJobs(rows).filter(hasKnownKind)
  )

const numberColumn = Columns.int8(Schema.Int)

/**
 * Turns a page into a lookup of children, so that it can share a statement. The parent must be the page's only filter;
 * otherwise null.
 */
const childrenOf = (page: Page.RecordQuery): Lookups.Children | null => {
  const { workspace_id, kind, parent, after, limit, order } = page
  return parent === undefined || order !== "oldest" || isFiltered(page) || limit >= Page.pageScanRecords
    ? null
    : { workspace_id, kind, parent, after: after ?? "", most: limit + 1 }
}

type ReadOperations = Omit<
  Storage.Storage["Service"],
  "commit" | "claim" | "release" | "erase" | "rewrite" | "addCounts" | "watch" | "cells"
>

/** Creates the functions of the storage port that read. */
export const make = Effect.fnUntraced(function* (
  database: Database
): Effect.fn.Return<ReadOperations, never, Scope.Scope> {
  const lookUp = yield* Lookups.make(database)
  const knownMigrations = yield* KnownMigrations
  const reading: ReadOperations = {
    get: ({ workspace_id, kind, id, version }) =>
      Effect.map(
        version === undefined
          ? lookUp({ workspace_id, kind, id })
          : Effect.map(database.read(readVersion, [workspace_id, kind, id, version]), records),
        ([record]) => Option.fromUndefinedOr(record)
      ),

    page: (page) => {
      const children = childrenOf(page)
      return children === null ? readPage(database, page) : Effect.map(lookUp(children), (found) => pageOf(page, found))
    },

    feed: (feed) => readFeed(database, feed),
    lane: (lane) => readLane(database, lane),
    backlog: ({ limit, now }) =>
      Effect.map(database.read(countBacklog, [numberColumn.one(now), limit]), (rows) =>
        backlogs(rows).filter(hasKnownKind)
      ),

    processes: Effect.map(database.read(listProcesses, []), (rows) =>
      processes(rows).map(({ name, since }) => ({ name: name.slice("quotewire ".length), since }))
    ),
    moving: Effect.flatMap(database.read(placeFound, []), (rows) =>
      foundPlaces(rows).some(({ has_place }) => has_place)
        ? Effect.map(database.read(placeState, []), (places) => movingPlaces(places).some(isLeaving))
        : Effect.succeed(false)
    ),

    workspaces: (after, limit) =>
      Effect.map(database.read(listWorkspaces, [after ?? "", limit]), (rows) =>
        workspaces(rows).map(({ workspace_id }) => workspace_id)
      ),

    ready: Effect.flatMap(database.read(statusStatement, []), (rows) =>
      incompatibility(readStatus(rows, knownMigrations)) === null ? Effect.void : Effect.fail(unavailable)
    )
  }
  return reading
})
