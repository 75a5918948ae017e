import { kinds, Storage } from "@quotewire/core"
import { Effect, Schema } from "effect"
import type { Database } from "../database/Database.ts"
import * as Columns from "../rows/Columns.ts"
import * as DatabaseFunction from "../rows/DatabaseFunction.ts"
import { leaseColumns } from "../rows/jobs.ts"
import { recordColumns } from "../rows/records.ts"

/** How many rows are erased under one lock of the workspace, so that writers wait at most a few milliseconds. */
const maxBatch = 200

const ofWorkspace = leaseColumns.workspace_id
const time = Columns.int8(Schema.Int)
const mostColumn = Columns.int4(Schema.Int)

const recordsFunction = DatabaseFunction.make(
  "erase_records_1",
  {
    of_workspace: ofWorkspace,
    of_kind: recordColumns.kind,
    before: time,
    most: mostColumn,
    with_children: Columns.bool(Schema.Boolean)
  },
  {}
)
const childrenFunction = DatabaseFunction.make(
  "erase_children_1",
  {
    of_workspace: ofWorkspace,
    of_kind: recordColumns.kind,
    of_parent: recordColumns.id,
    only_older: Columns.bool(Schema.Boolean),
    most: mostColumn
  },
  {}
)
const eventsFunction = DatabaseFunction.make(
  "erase_events_1",
  { of_workspace: ofWorkspace, before: time, most: mostColumn },
  {}
)
const workspaceFunction = DatabaseFunction.make(
  "erase_workspace_1",
  { of_workspace: ofWorkspace, surviving: Columns.texts(Schema.Array(Schema.String)) },
  { expected: { kind: recordColumns.kind, id: recordColumns.id, version: recordColumns.version } }
)

const KindRow = Schema.Struct({ kind: recordColumns.kind.schema, count: Schema.Int })
const countsByKind = Columns.rowsReader(KindRow)
const childCounts = Columns.someRowsReader(Schema.Struct({ erase_children_1: Schema.Int }))
const eventCounts = Columns.someRowsReader(Schema.Struct({ erase_events_1: Schema.Int }))
const whats = Columns.rowsReader(
  Schema.Union([
    Schema.Struct({ what: Schema.Literal("changed"), kind: recordColumns.kind.schema, id: recordColumns.id.schema }),
    Schema.Struct({ what: Schema.Literal("records"), ...KindRow.fields }),
    Schema.Struct({ what: Schema.Literals(["events", "jobs"]), count: Schema.Int })
  ])
)

const surviving = kinds.all.filter(({ survives_reset }) => survives_reset).map(({ name }) => name)

type Erasing = Effect.Effect<Storage.Erased, Storage.StorageUnavailable>
type Of<What extends Storage.Erasure["what"]> = Extract<Storage.Erasure, { readonly what: What }>

const sumByKind = (rows: ReadonlyArray<typeof KindRow.Type>): Storage.Erased["records"] => {
  const sums: { [kind: string]: number } = {}
  for (const { kind, count } of rows) sums[kind] = (sums[kind] ?? 0) + count
  return sums
}

/** Erases batches until the limit is reached or a batch is not full. Returns the results of the batches. */
const inBatches = Effect.fnUntraced(function* <A>(
  limit: number,
  eraseBatch: (batchSize: number) => Effect.Effect<A, Storage.StorageUnavailable>,
  sizeOf: (batch: A) => number
) {
  const batches: Array<A> = []
  for (let remaining = limit; remaining > 0; ) {
    const batchSize = Math.min(remaining, maxBatch)
    const batch = yield* eraseBatch(batchSize)
    batches.push(batch)
    if (sizeOf(batch) < batchSize) break
    remaining -= batchSize
  }
  return batches
})

const eraseRecords = (database: Database, { workspace_id, kind, created_before, limit }: Of<"records">): Erasing => {
  const filter = { of_workspace: workspace_id, of_kind: kind, before: created_before }
  return inBatches(
    limit,
    (batchSize) => {
      const parameters = recordsFunction.parameters(
        { ...filter, most: batchSize, with_children: kinds.byName(kind).erases_children },
        {}
      )
      return Effect.map(database.write(recordsFunction.statement, parameters), countsByKind)
    },
    (batch) => sumByKind(batch)[kind] ?? 0
  ).pipe(Effect.map((batches) => ({ records: sumByKind(batches.flat()), events: 0, jobs: 0 })))
}

const eraseChildren = (database: Database, { workspace_id, kind, parent, versions }: Of<"children">): Erasing => {
  const filter = { of_workspace: workspace_id, of_kind: kind, of_parent: parent, only_older: versions === "older" }
  return inBatches(
    Number.POSITIVE_INFINITY,
    (batchSize) =>
      Effect.map(
        database.write(childrenFunction.statement, childrenFunction.parameters({ ...filter, most: batchSize }, {})),
        (rows) => childCounts(rows)[0].erase_children_1
      ),
    (count) => count
  ).pipe(Effect.map((batches) => ({ records: { [kind]: sum(batches) }, events: 0, jobs: 0 })))
}

const sum = (counts: ReadonlyArray<number>): number => counts.reduce((total, count) => total + count, 0)

const eraseEvents = (database: Database, { workspace_id, occurred_before, limit }: Of<"events">): Erasing =>
  inBatches(
    limit,
    (batchSize) => {
      const parameters = eventsFunction.parameters(
        { of_workspace: workspace_id, before: occurred_before, most: batchSize },
        {}
      )
      return Effect.map(
        database.write(eventsFunction.statement, parameters),
        (rows) => eventCounts(rows)[0].erase_events_1
      )
    },
    (count) => count
  ).pipe(Effect.map((batches) => ({ records: {}, events: sum(batches), jobs: 0 })))

// Uses a single statement, so that resetting a workspace is atomic.
const eraseWorkspace = Effect.fnUntraced(function* (
  database: Database,
  { workspace_id, expects = [] }: Of<"workspace">
) {
  const parameters = workspaceFunction.parameters({ of_workspace: workspace_id, surviving }, { expected: expects })
  const rows = whats(yield* database.write(workspaceFunction.statement, parameters))
  let records: ReadonlyArray<typeof KindRow.Type> = []
  const counted = { events: 0, jobs: 0 }
  for (const row of rows) {
    if (row.what === "changed") return yield* new Storage.VersionConflict({ kind: row.kind, id: row.id })
    if (row.what === "records") records = [...records, row]
    else counted[row.what] += row.count
  }
  const erased: Storage.Erased = { records: sumByKind(records), ...counted }
  return erased
})

/** Runs an erasure, in batches if it may be large. */
export const erase = (
  database: Database,
  erasure: Storage.Erasure
): Effect.Effect<Storage.Erased, Storage.VersionConflict | Storage.StorageUnavailable> => {
  switch (erasure.what) {
    case "workspace":
      return eraseWorkspace(database, erasure)
    case "records":
      return eraseRecords(database, erasure)
    case "children":
      return eraseChildren(database, erasure)
    case "events":
      return eraseEvents(database, erasure)
  }
}
