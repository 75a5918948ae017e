import type { Ids, Storage } from "@quotewire/core"
import { Array as Arr, Effect, Schema } from "effect"
import type { Database } from "../database/Database.ts"
import * as Columns from "../rows/Columns.ts"
import { recordColumns } from "../rows/records.ts"
import { query } from "../sql/files.ts"

/** How many bodies are rewritten under one lock of the workspace, so that writers wait at most a few milliseconds. */
const maxBatch = 200

const statement = query("rewrite")
const { kind, id, version, body } = recordColumns
const columns = { kind, id, version, before: body, body }
const counts = Columns.someRowsReader(Schema.Struct({ rewritten: Schema.Int }))

/** Replaces, in batches, bodies that have not changed since they were read. Returns how many were replaced. */
export const rewrite = Effect.fnUntraced(function* (
  database: Database,
  workspaceId: Ids.WorkspaceId,
  rewrites: ReadonlyArray<Storage.Rewrite>
): Effect.fn.Return<number, Storage.StorageUnavailable> {
  let rewritten = 0
  for (const batch of Arr.chunksOf(rewrites, maxBatch)) {
    const rows = yield* database.write(statement, [workspaceId, ...Columns.arraysOf(columns, batch)])
    rewritten += counts(rows)[0].rewritten
  }
  return rewritten
})
