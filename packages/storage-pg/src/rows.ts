import { Change, Ids, LineName } from "@quotewire/core"
import { Schema } from "effect"

/** A record as its columns say it. */
const Record = Schema.Struct({
  kind: Schema.Literals(Change.recordKinds),
  id: Schema.String,
  version: Schema.Int,
  body: Schema.String,
  parent: Schema.NullOr(Schema.String),
  status: Schema.NullOr(Schema.String),
  line: Schema.NullOr(LineName),
  labels: Schema.Array(Schema.String),
  created_at: Schema.Int,
  updated_at: Schema.Int,
  expires_at: Schema.NullOr(Schema.Int)
})

/** Its columns, as statements name them. */
export const recordColumns = "kind, id, version, body, parent, status, line, labels, created_at, updated_at, expires_at"

/** Reads the rows of records. */
export const records: (rows: unknown) => ReadonlyArray<Change.StoredRecord> = Schema.decodeUnknownSync(
  Schema.Array(Record)
)

/** Reads the rows of records that were asked for by their places in a list. */
export const placedRecords: (rows: unknown) => ReadonlyArray<typeof Record.Type & { readonly place: number }> =
  Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ ...Record.fields, place: Schema.Int })))

const WorkspaceRow = Schema.Struct({ workspace_id: Ids.WorkspaceId })

/** Reads the rows that name workspaces. */
export const workspaces: (rows: unknown) => ReadonlyArray<typeof WorkspaceRow.Type> = Schema.decodeUnknownSync(
  Schema.Array(WorkspaceRow)
)
