import { Page } from "@quotewire/core"
import { int8Of, texts } from "./columns.ts"
import { recordColumns } from "./rows.ts"

interface Walk {
  readonly order: Page.RecordQuery["order"]
  readonly of: "kind" | "parent"
}

// Looks at so many records in the order of ids, and takes those that match as it goes.
const walk = ({ order, of }: Walk) => {
  const [comparison, direction] = order === "oldest" ? [">", "asc"] : ["<", "desc"]
  return `from quotewire.record
    where workspace_id = $1 and kind = $2 and id ${comparison} $3
      ${of === "parent" ? "and parent = $4" : "and $4::text is null"}
    order by id ${direction}`
}

const matching = (how: Walk): string => `select ${recordColumns} from (
    select * ${walk(how)} limit ${Page.page_scan_records}
  ) looked
  where ($5::text is null or status = $5) and ($6::text is null or line = $6)
    and ($7::text[] is null or labels @> $7)
    and ($8::bigint is null or created_at >= $8) and ($9::bigint is null or created_at < $9)
    and ($10::bigint is null or updated_at >= $10)
  order by id ${how.order === "oldest" ? "asc" : "desc"} limit $11`

const last = (how: Walk): string => `select id ${walk(how)} limit 2 offset ${Page.page_scan_records - 1}`

const statements = (order: Walk["order"]) => ({
  kind: { matching: matching({ order, of: "kind" }), last: last({ order, of: "kind" }) },
  parent: { matching: matching({ order, of: "parent" }), last: last({ order, of: "parent" }) }
})

const all = { oldest: statements("oldest"), newest: statements("newest") }

/** The statements for one page: the records that match, and the last that may be looked at with the one behind it. */
export const statementsOf = ({ order, parent }: Page.RecordQuery) =>
  all[order][parent === undefined ? "kind" : "parent"]

// The greatest character there is.
const behindEveryId = "\u{10ffff}"

/** Where a page looks: parameters 1 to 4. */
export const place = (query: Page.RecordQuery): ReadonlyArray<unknown> => [
  query.workspace_id,
  query.kind,
  query.after ?? (query.order === "oldest" ? "" : behindEveryId),
  query.parent ?? null
]

/** What it takes: parameters 5 to 11. One more than asked for tells that there is more. */
export const filters = (query: Page.RecordQuery): ReadonlyArray<unknown> => [
  query.status ?? null,
  query.line ?? null,
  query.labels === undefined ? null : texts(query.labels),
  int8Of(query.created_after ?? null),
  int8Of(query.created_before ?? null),
  int8Of(query.updated_since ?? null),
  query.limit + 1
]
