import { kinds, type Storage } from "@quotewire/core"
import { Effect } from "effect"
import { int8Of, texts } from "./columns.ts"
import type { Database } from "./Database.ts"
import * as erasures from "./erasures.ts"

type Erasing = Effect.Effect<Storage.Erased, Storage.StorageUnavailable>
type Of<What extends Storage.Erasure["what"]> = Extract<Storage.Erasure, { readonly what: What }>

/** Asks for batches until as much is erased as was asked for, or a batch is not full; answers them. */
const inBatches = Effect.fnUntraced(function* <A>(
  limit: number,
  eraseBatch: (most: number) => Effect.Effect<A, Storage.StorageUnavailable>,
  sizeOf: (batch: A) => number
) {
  const batches: Array<A> = []
  for (let left = limit; left > 0; ) {
    const most = Math.min(left, erasures.max_batch)
    const batch = yield* eraseBatch(most)
    batches.push(batch)
    if (sizeOf(batch) < most) break
    left -= most
  }
  return batches
})

const eraseRecords = (database: Database, erasure: Of<"records">): Erasing => {
  const { workspace_id, kind, created_before, limit } = erasure
  return inBatches(
    limit,
    (most) =>
      Effect.map(
        database.write(erasures.recordsStatement, [
          workspace_id,
          kind,
          int8Of(created_before),
          most,
          kinds.named(kind).erases_children
        ]),
        erasures.kindRows
      ),
    (batch) => erasures.sum(batch)[kind] ?? 0
  ).pipe(Effect.map((batches) => ({ records: erasures.sum(batches.flat()), events: 0, jobs: 0 })))
}

const eraseEvents = (database: Database, { workspace_id, occurred_before, limit }: Of<"events">): Erasing =>
  inBatches(
    limit,
    (most) =>
      Effect.map(
        database.write(erasures.eventsStatement, [workspace_id, int8Of(occurred_before), most]),
        (rows) => erasures.counted(rows)[0].count
      ),
    (count) => count
  ).pipe(Effect.map((counts) => ({ records: {}, events: counts.reduce((sum, count) => sum + count, 0), jobs: 0 })))

// Whole, so that nobody ever sees half of a reset.
const eraseWorkspace = (database: Database, { workspace_id }: Of<"workspace">): Erasing =>
  Effect.map(database.write(erasures.workspaceStatement, [workspace_id, texts(erasures.surviving)]), (rows) => {
    const decoded = erasures.workspaceRows(rows)
    const countOf = (what: "events" | "jobs") => decoded.find((row) => row.what === what)?.count ?? 0
    const kinds = decoded.flatMap(({ kind, count }) => (kind === null ? [] : [{ kind, count }]))
    return { records: erasures.sum(kinds), events: countOf("events"), jobs: countOf("jobs") }
  })

/** Erases what is asked for, in batches that hold nobody up. */
export const erase = (database: Database, erasure: Storage.Erasure): Erasing => {
  switch (erasure.what) {
    case "workspace":
      return eraseWorkspace(database, erasure)
    case "records":
      return eraseRecords(database, erasure)
    case "events":
      return eraseEvents(database, erasure)
  }
}
