import type { Page, Storage } from "@quotewire/core"
import { Effect, Schema } from "effect"
import type { Database } from "../database/Database.ts"
import * as Columns from "../rows/Columns.ts"
import { query } from "../sql/files.ts"

const statements = {
  ofAll: query("feed", { events: query("feed_of_all") }),
  ofAbout: query("feed", { events: query("feed_about") })
}

const aboutColumn = Columns.texts(Schema.Array(Schema.String))
const numberColumn = Columns.int8(Schema.Int)

// If there are no events, the result is one row without an event.
const readRows = Columns.rowsReader(
  Schema.Struct({
    erased_through: Schema.Int,
    last_event: Schema.Int,
    number: Schema.NullOr(Schema.Int),
    id: Schema.NullOr(Schema.String),
    occurred_at: Schema.NullOr(Schema.Int),
    about: Schema.NullOr(Schema.Array(Schema.String)),
    body: Schema.NullOr(Schema.String)
  })
)

const pageOf = ({ after, limit }: Page.FeedQuery, answer: unknown): Page.FeedPage => {
  const rows = readRows(answer)
  const events = rows.flatMap(({ number, id, occurred_at, about, body }) =>
    number === null || id === null || occurred_at === null || about === null || body === null
      ? []
      : [{ number, id, occurred_at, about, body }]
  )
  const last = (events.length === limit ? events.at(-1)?.number : undefined) ?? rows[0]?.last_event
  return { events, reached: Math.max(after, last ?? 0), erased_through: rows[0]?.erased_through ?? 0 }
}

/** Reads one page of a feed. */
export const readFeed = (
  database: Database,
  feed: Page.FeedQuery
): Effect.Effect<Page.FeedPage, Storage.StorageUnavailable> => {
  const { workspace_id, about = [], after, limit } = feed
  const parameters = [workspace_id, numberColumn.one(after), limit]
  const rows =
    about.length === 0
      ? database.read(statements.ofAll, parameters)
      : database.read(statements.ofAbout, [...parameters, aboutColumn.one(about)])
  return Effect.map(rows, (answer) => pageOf(feed, answer))
}
