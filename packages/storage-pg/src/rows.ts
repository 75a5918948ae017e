import { Change, Ids, Line } from "@quotewire/core"
import { Schema } from "effect"

/** A record as its columns say it. */
const Record = Schema.Struct({
  kind: Schema.Literals(Change.recordKinds),
  id: Schema.String,
  version: Schema.Int,
  body: Schema.String,
  parent: Schema.NullOr(Schema.String),
  status: Schema.NullOr(Schema.String),
  line: Schema.NullOr(Line.Line),
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

const WorkspaceRow = Schema.Struct({ workspace_id: Ids.WorkspaceId })

/** Reads the rows that name workspaces. */
export const workspaces: (rows: unknown) => ReadonlyArray<typeof WorkspaceRow.Type> = Schema.decodeUnknownSync(
  Schema.Array(WorkspaceRow)
)
