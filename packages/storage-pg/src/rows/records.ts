import type { Change } from "@quotewire/core"
import { Schema } from "effect"
import * as Columns from "./Columns.ts"

/** The columns of a record, without its workspace. */
export const recordColumns = {
  kind: Columns.text(Schema.String),
  id: Columns.text(Schema.String),
  version: Columns.int4(Schema.Int),
  parent: Columns.text(Schema.NullOr(Schema.String)),
  status: Columns.text(Schema.NullOr(Schema.String)),
  line: Columns.text(Schema.NullOr(Schema.String)),
  labels: Columns.texts(Schema.Array(Schema.String)),
  about: Columns.texts(Schema.Array(Schema.String)),
  created_at: Columns.int8(Schema.Int),
  updated_at: Columns.int8(Schema.Int),
  expires_at: Columns.int8(Schema.NullOr(Schema.Int)),
  body: Columns.text(Schema.String)
}

const RecordRow = Columns.rowSchema(recordColumns)

/** The list of record columns for queries. */
export const recordColumnList = Columns.selectListOf(recordColumns)

/** Reads the rows of records. */
export const records: (rows: unknown) => ReadonlyArray<Change.StoredRecord> = Columns.rowsReader(RecordRow)

/** Reads the rows of records that several lookups found. `place` is the position of the lookup. */
export const placedRecords = Columns.rowsReader(Schema.Struct({ ...RecordRow.fields, place: Schema.Int }))
