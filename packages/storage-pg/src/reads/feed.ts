import type { Page, Storage } from "@quotewire/core"
import { Effect, Schema } from "effect"
import type { Database } from "../database/Database.ts"
import * as Columns from "../rows/Columns.ts"
import { query } from "../sql/files.ts"

const statement = query("feed")

const numberColumn = Columns.int8(Schema.Int)

// If there are no events, the result is one row without an event.
const readRows = Columns.rowsReader(
  Schema.Struct({
    erased_through: Schema.Int,
    number: Schema.NullOr(Schema.Int),
    id: Schema.NullOr(Schema.String),
    occurred_at: Schema.NullOr(Schema.Int),
    body: Schema.NullOr(Schema.String)
  })
)

const pageOf = (answer: unknown): Page.FeedPage => {
  const rows = readRows(answer)
  return {
    events: rows.flatMap(({ number, id, occurred_at, body }) =>
      number === null || id === null || occurred_at === null || body === null ? [] : [{ number, id, occurred_at, body }]
    ),
    erased_through: rows[0]?.erased_through ?? 0
  }
}

/** Reads one page of a feed. */
export const readFeed = (
  database: Database,
  { workspace_id, after, limit }: Page.FeedQuery
): Effect.Effect<Page.FeedPage, Storage.StorageUnavailable> =>
  Effect.map(database.read(statement, [workspace_id, numberColumn.one(after), limit]), pageOf)
