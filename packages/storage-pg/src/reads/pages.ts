import { type Change, Page, type Storage } from "@quotewire/core"
import { Effect, Schema } from "effect"
import type { Database } from "../database/Database.ts"
import * as Columns from "../rows/Columns.ts"
import { recordColumnList, recordColumns, records } from "../rows/records.ts"
import { query } from "../sql/files.ts"

const maxRows = `${Page.pageScanRecords}`

/** Creates the statements for an order and a way to scan: a query and its variables. */
const statementsFor = (
  order: Page.RecordQuery["order"],
  scan: string,
  variables: Readonly<Record<string, string>> = {}
) => {
  const [after = "", direction = ""] = order === "oldest" ? [">", "asc"] : ["<", "desc"]
  const scanOf = (limit: string) => query(scan, { ...variables, after, direction, most: limit })
  return {
    page: query("page", {
      record_columns: recordColumnList,
      direction,
      page_scan_records: maxRows,
      scan: scanOf(maxRows)
    }),
    // Scans one record more than a page may scan. That record shows whether more records follow.
    end: query("page_end", { direction, page_scan_records: maxRows, scan: scanOf(`${maxRows} + 1`) })
  }
}

const statementsOf = (order: Page.RecordQuery["order"]) => ({
  ofAbout: statementsFor(order, "scan_about"),
  ofParent: statementsFor(order, "scan", { parent: "parent = $4" }),
  ofKind: statementsFor(order, "scan", { parent: "$4::text is null" })
})

const statements = { oldest: statementsOf("oldest"), newest: statementsOf("newest") }

/** Chooses which records a page scans: the records about an ID, the records of a parent, or all records of a kind. */
const scanOf = ({ about = [], parent }: Page.RecordQuery): keyof ReturnType<typeof statementsOf> => {
  if (about.length > 0) return "ofAbout"
  return parent === undefined ? "ofKind" : "ofParent"
}

// This text sorts after every ID, because it is the highest possible character.
const afterEveryId = "\u{10ffff}"

/** Where a page starts: parameters 1 to 5 of the query. */
const startOf = ({
  workspace_id,
  kind,
  about = [],
  after,
  order,
  parent
}: Page.RecordQuery): ReadonlyArray<unknown> => [
  workspace_id,
  kind,
  after ?? (order === "oldest" ? "" : afterEveryId),
  parent ?? null,
  aboutColumn.one(about.length === 0 ? null : about)
]

const { labels } = recordColumns
const aboutColumn = Columns.texts(Schema.NullOr(Schema.Array(Schema.String)))
const time = Columns.int8(Schema.NullOr(Schema.Int))

/**
 * The filters and the limit: parameters 6 to 12. The query reads one record more than the limit, to find out whether
 * there is a next page.
 */
const filtersOf = (recordQuery: Page.RecordQuery): ReadonlyArray<unknown> => [
  recordQuery.status ?? null,
  recordQuery.line ?? null,
  recordQuery.labels === undefined ? null : labels.one(recordQuery.labels),
  time.one(recordQuery.created_after ?? null),
  time.one(recordQuery.created_before ?? null),
  time.one(recordQuery.updated_since ?? null),
  recordQuery.limit + 1
]

/** Whether a page has filters other than its kind and its parent. */
export const isFiltered = (recordQuery: Page.RecordQuery): boolean =>
  (recordQuery.about ?? []).length > 0 ||
  [
    recordQuery.status,
    recordQuery.line,
    recordQuery.labels,
    recordQuery.created_after,
    recordQuery.created_before,
    recordQuery.updated_since
  ].some((filter) => filter !== undefined)

const ids = Columns.rowsReader(Schema.Struct({ id: Schema.String }))

/** Creates the page from the records found. The query asks for one record more than the limit. */
export const pageOf = (
  { after, limit }: Page.RecordQuery,
  read: ReadonlyArray<Change.StoredRecord>
): Page.RecordPage => {
  const taken = read.slice(0, limit)
  return { records: taken, next: read.length > limit ? (taken.at(-1)?.id ?? after) : null }
}

/** Reads a page with a separate statement. */
export const readPage = Effect.fnUntraced(function* (
  database: Database,
  recordQuery: Page.RecordQuery
): Effect.fn.Return<Page.RecordPage, Storage.StorageUnavailable> {
  const statement = statements[recordQuery.order][scanOf(recordQuery)]
  const start = startOf(recordQuery)
  const page = pageOf(recordQuery, records(yield* database.read(statement.page, [...start, ...filtersOf(recordQuery)])))
  if (page.next !== null || (!isFiltered(recordQuery) && recordQuery.limit < Page.pageScanRecords)) return page
  // The page is not full, so either no more records follow or the scan limit was reached.
  const [last, after] = ids(yield* database.read(statement.end, start))
  return { ...page, next: after === undefined ? null : (last?.id ?? null) }
})
