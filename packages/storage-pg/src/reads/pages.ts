import { type Change, Page, type Storage } from "@quotewire/core"
import { Effect, Schema } from "effect"
import type { Database } from "../database/Database.ts"
import * as Columns from "../rows/Columns.ts"
import { recordColumnList, recordColumns, records } from "../rows/records.ts"
import { query } from "../sql/files.ts"

const statementsFor = (order: Page.RecordQuery["order"], parent: string) => {
  const [after, direction] = order === "oldest" ? [">", "asc"] : ["<", "desc"]
  const variables = {
    record_columns: recordColumnList,
    after,
    direction,
    parent,
    page_scan_records: `${Page.pageScanRecords}`
  }
  return { page: query("page", variables), end: query("page_end", variables) }
}

const ofParent = "parent = $4"
const ofKind = "$4::text is null"
const statements = {
  oldest: { ofParent: statementsFor("oldest", ofParent), ofKind: statementsFor("oldest", ofKind) },
  newest: { ofParent: statementsFor("newest", ofParent), ofKind: statementsFor("newest", ofKind) }
}

// The highest possible character.
const afterEveryId = "\u{10ffff}"

/** The start of a page: parameters 1 to 4. */
const startOf = ({ workspace_id, kind, after, order, parent }: Page.RecordQuery): ReadonlyArray<unknown> => [
  workspace_id,
  kind,
  after ?? (order === "oldest" ? "" : afterEveryId),
  parent ?? null
]

const { labels } = recordColumns
const time = Columns.int8(Schema.NullOr(Schema.Int))

/**
 * The filters and the limit: parameters 5 to 11. One extra record beyond the limit shows whether there is a next page.
 */
const filtersOf = (wanted: Page.RecordQuery): ReadonlyArray<unknown> => [
  wanted.status ?? null,
  wanted.line ?? null,
  wanted.labels === undefined ? null : labels.one(wanted.labels),
  time.one(wanted.created_after ?? null),
  time.one(wanted.created_before ?? null),
  time.one(wanted.updated_since ?? null),
  wanted.limit + 1
]

/** Whether a page has more filters than its kind and its parent. */
export const isFiltered = (wanted: Page.RecordQuery): boolean =>
  [wanted.status, wanted.line, wanted.labels, wanted.created_after, wanted.created_before, wanted.updated_since].some(
    (filter) => filter !== undefined
  )

const ids = Columns.rowsReader(Schema.Struct({ id: Schema.String }))

/** Makes the page from the records found. The query asks for one record more than the limit. */
export const pageOf = (
  { after, limit }: Page.RecordQuery,
  found: ReadonlyArray<Change.StoredRecord>
): Page.RecordPage => {
  const taken = found.slice(0, limit)
  return { records: taken, next: found.length > limit ? (taken.at(-1)?.id ?? after) : null }
}

/** Reads a page with a separate statement. */
export const readPage = Effect.fnUntraced(function* (
  database: Database,
  wanted: Page.RecordQuery
): Effect.fn.Return<Page.RecordPage, Storage.StorageUnavailable> {
  const statement = statements[wanted.order][wanted.parent === undefined ? "ofKind" : "ofParent"]
  const start = startOf(wanted)
  const page = pageOf(wanted, records(yield* database.read(statement.page, [...start, ...filtersOf(wanted)])))
  if (page.next !== null || (!isFiltered(wanted) && wanted.limit < Page.pageScanRecords)) return page
  // The page is not full: either the list has ended or the scan limit was reached.
  const [last, after] = ids(yield* database.read(statement.end, start))
  return { ...page, next: after === undefined ? null : (last?.id ?? null) }
})
