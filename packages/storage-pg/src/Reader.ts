import { type Change, Page, type Storage } from "@quotewire/core"
import { Effect, Option, Schema, type Scope } from "effect"
import { int8Of } from "./columns.ts"
import type { Database } from "./Database.ts"
import * as Lookups from "./Lookups.ts"
import * as pages from "./pages.ts"
import { recordColumns, records, workspaces } from "./rows.ts"
import { obstacle, readStatus, statusStatement } from "./Schema.ts"
import { unavailable } from "./StatementRefused.ts"

type Port = Storage.Storage["Service"]

// The newest version is not among the older ones.
const named = `select ${recordColumns} from quotewire.record
  where workspace_id = $1 and kind = $2 and id = $3 and version = $4::bigint
  union all select ${recordColumns} from quotewire.older_version
  where workspace_id = $1 and kind = $2 and id = $3 and version = $4::bigint`

// One snapshot: no event is missing that was not erased.
const feed = `select w.erased_through, e.number, e.id, e.occurred_at, e.body
  from quotewire.workspace w left join lateral (
    select * from quotewire.event e where e.workspace_id = w.workspace_id and e.number > $2 order by e.number limit $3
  ) e on true
  where w.workspace_id = $1 order by e.number`

const workspaceIds = `select workspace_id from quotewire.workspace w
  where workspace_id > $1 and (
    exists (select from quotewire.record r where r.workspace_id = w.workspace_id)
    or exists (select from quotewire.event e where e.workspace_id = w.workspace_id)
    or exists (select from quotewire.job j where j.workspace_id = w.workspace_id)
  ) order by workspace_id limit $2`

const EventRow = Schema.Struct({
  erased_through: Schema.Int,
  number: Schema.NullOr(Schema.Int),
  id: Schema.NullOr(Schema.String),
  occurred_at: Schema.NullOr(Schema.Int),
  body: Schema.NullOr(Schema.String)
})
const decodeEvents = Schema.decodeUnknownSync(Schema.Array(EventRow))

const readFeed = (rows: unknown): Page.FeedPage => {
  const decoded = decodeEvents(rows)
  return {
    events: decoded.flatMap(({ number, id, occurred_at, body }) =>
      number === null || id === null || occurred_at === null || body === null ? [] : [{ number, id, occurred_at, body }]
    ),
    erased_through: decoded[0]?.erased_through ?? 0
  }
}

const isFiltered = (query: Page.RecordQuery): boolean =>
  [query.status, query.line, query.labels, query.created_after, query.created_before, query.updated_since].some(
    (filter) => filter !== undefined
  )

const IdRow = Schema.Struct({ id: Schema.String })
const decodeIds = Schema.decodeUnknownSync(Schema.Array(IdRow))

/** A page of what was found where one record more than asked for was looked for. */
const cut = ({ after, limit }: Page.RecordQuery, found: ReadonlyArray<Change.StoredRecord>): Page.RecordPage => {
  const taken = found.slice(0, limit)
  return { records: taken, next: found.length > limit ? (taken.at(-1)?.id ?? after) : null }
}

const readPage = Effect.fnUntraced(function* (database: Database, query: Page.RecordQuery) {
  const { matching, last } = pages.statementsOf(query)
  const page = cut(query, records(yield* database.read(matching, [...pages.place(query), ...pages.filters(query)])))
  if (page.next !== null || (!isFiltered(query) && query.limit < Page.page_scan_records)) return page
  // Short of what was asked for: because the list has ended, or because no more may be looked at?
  const [looked, behind] = decodeIds(yield* database.read(last, pages.place(query)))
  return { ...page, next: behind === undefined ? null : (looked?.id ?? null) }
})

/** What a page asks for that can be looked up together with others: nothing filters it but its parent. */
const childrenOf = (query: Page.RecordQuery): Lookups.Children | null => {
  const { workspace_id, kind, parent, after, limit, order } = query
  return parent === undefined || order !== "oldest" || isFiltered(query) || limit >= Page.page_scan_records
    ? null
    : { workspace_id, kind, parent, after: after ?? "", most: limit + 1 }
}

type Reading = Pick<Port, "get" | "page" | "feed" | "workspaces" | "ready">

/** The reading half of the port. */
export const make = (database: Database): Effect.Effect<Reading, never, Scope.Scope> =>
  Effect.map(Lookups.make(database), (lookUp) => reading(database, lookUp))

const reading = (database: Database, lookUp: Lookups.LookUp): Reading => ({
  get: ({ workspace_id, kind, id, version }) =>
    Effect.map(
      version === undefined
        ? lookUp({ workspace_id, kind, id })
        : Effect.map(database.read(named, [workspace_id, kind, id, version]), records),
      ([found]) => Option.fromUndefinedOr(found)
    ),

  page: (query) => {
    const children = childrenOf(query)
    return children === null ? readPage(database, query) : Effect.map(lookUp(children), (found) => cut(query, found))
  },

  feed: ({ workspace_id, after, limit }) =>
    Effect.map(database.read(feed, [workspace_id, int8Of(after), limit]), readFeed),

  workspaces: (after, limit) =>
    Effect.map(database.read(workspaceIds, [after ?? "", limit]), (rows) =>
      workspaces(rows).map(({ workspace_id }) => workspace_id)
    ),

  ready: Effect.flatMap(database.read(statusStatement, []), (rows) =>
    obstacle(readStatus(rows)) === null ? Effect.void : Effect.fail(unavailable)
  )
})
