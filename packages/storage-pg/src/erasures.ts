import { kinds, type Storage } from "@quotewire/core"
import { Schema } from "effect"

/** How much is erased under one lock: writers wait for a few milliseconds at most. */
export const max_batch = 200

export const recordsStatement = "select kind, count from quotewire.erase_records_1($1, $2, $3, $4, $5)"
export const eventsStatement = "select quotewire.erase_events_1($1, $2, $3) as count"
export const workspaceStatement = "select what, kind, count from quotewire.erase_workspace_1($1, $2)"

/** The kinds that outlive a reset. */
export const surviving = kinds.all.filter(({ survives_reset }) => survives_reset).map(({ name }) => name)

const KindRow = Schema.Struct({ kind: Schema.String, count: Schema.Int })
const Count = Schema.Struct({ count: Schema.Int })
const WorkspaceRow = Schema.Struct({
  what: Schema.Literals(["records", "events", "jobs"]),
  kind: Schema.NullOr(Schema.String),
  count: Schema.Int
})

export const kindRows = Schema.decodeUnknownSync(Schema.Array(KindRow))
export const counted = Schema.decodeUnknownSync(Schema.NonEmptyArray(Count))
export const workspaceRows = Schema.decodeUnknownSync(Schema.Array(WorkspaceRow))

/** Adds up the rows of an erasure. */
export const sum = (rows: ReadonlyArray<typeof KindRow.Type>): Storage.Erased["records"] => {
  const counts: { [kind: string]: number } = {}
  for (const { kind, count } of rows) counts[kind] = (counts[kind] ?? 0) + count
  return counts
}
