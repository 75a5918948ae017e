import { Checks, type Storage } from "@quotewire/core"
import { Effect, Schema } from "effect"
import type { Database } from "../database/Database.ts"
import * as Columns from "../rows/Columns.ts"
import * as DatabaseFunction from "../rows/DatabaseFunction.ts"
import { leaseColumns } from "../rows/jobs.ts"
import { query } from "../sql/files.ts"

const time = Columns.int8(Schema.Int)
const additionColumns = {
  workspace_id: leaseColumns.workspace_id,
  name: Columns.text(Schema.String),
  window_start: time,
  window_ms: time,
  added: time
}
const { statement, parameters } = DatabaseFunction.make("tally_1", { at: time }, { tallies: additionColumns })
const totals = Columns.rowsReader(Schema.Struct({ total: Schema.Int }))

const sweep = query("sweep_tallies")
/** How often a host deletes old counts, in milliseconds, by the clock that the counts use. */
const sweepEveryMs = 10_000

/** Creates the function that adds to counts and periodically deletes counts whose time windows have ended. */
export const makeAddCounts = (database: Database): Storage.Storage["Service"]["addCounts"] => {
  let sweptAt = Number.NEGATIVE_INFINITY
  return Effect.fnUntraced(function* (now, additions) {
    if (additions.length === 0) return []
    Checks.counts(additions)
    if (now - sweptAt >= sweepEveryMs) {
      sweptAt = now
      yield* Effect.ignore(database.write(sweep, [time.one(now)]))
    }
    return totals(yield* database.write(statement, parameters({ at: now }, { tallies: additions }))).map(
      ({ total }) => total
    )
  })
}
