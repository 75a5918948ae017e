import { Schema } from "effect"
import * as Columns from "./Columns.ts"

/** The columns of an event, except its workspace and its number. */
export const eventColumns = {
  id: Columns.text(Schema.String),
  occurred_at: Columns.int8(Schema.Int),
  body: Columns.text(Schema.String)
}
