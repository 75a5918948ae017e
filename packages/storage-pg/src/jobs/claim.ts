import { Job, type Storage } from "@quotewire/core"
import { Effect, Predicate, Schema } from "effect"
import type { Database } from "../database/Database.ts"
import * as Columns from "../rows/Columns.ts"
import * as DatabaseFunction from "../rows/DatabaseFunction.ts"
import { jobColumns, jobOfRow, leaseColumns } from "../rows/jobs.ts"

const release = DatabaseFunction.make("release_1", {}, { leases: leaseColumns })

const values = {
  at: Columns.int8(Schema.Int),
  lease_ms: Columns.int8(Schema.Int),
  most: Columns.int4(Schema.Int),
  kinds: Columns.texts(Schema.Array(Schema.String))
}
const claimAnywhere = DatabaseFunction.make("claim_1", values, {})
const claimOrdered = DatabaseFunction.make(
  "claim_ordered_1",
  { ...values, of_workspace: leaseColumns.workspace_id, ahead_ms: Columns.int8(Schema.NullOr(Schema.Int)) },
  {}
)

// Reads the due time of the next job from any row, because every row contains it. If nothing is due, the result is one
// row without a job.
const outlook = Columns.someRowsReader(
  Schema.Struct({ next_due_at: Schema.NullOr(Schema.Int), busy: Schema.optionalKey(Schema.Boolean) })
)
const hasJob = (row: unknown): boolean => Predicate.hasProperty(row, "number") && row.number !== null
const claimedJobs = Columns.rowsReader(
  Columns.rowSchema({ ...leaseColumns, ...jobColumns, expired_leases: Columns.int4(Schema.Int) })
)

const claimOf = (rows: ReadonlyArray<unknown>): Storage.JobClaim => {
  const [{ next_due_at, busy = false }] = outlook(rows)
  const jobs = claimedJobs(rows.filter(hasJob)).map(
    ({ workspace_id, number, lease, expired_leases, ...job }): Job.ClaimedJob => ({
      workspace_id,
      number,
      lease,
      expired_leases,
      ...jobOfRow(job)
    })
  )
  return { jobs, next_due_at, busy }
}

/** Creates the function that leases due jobs whose kinds this program knows. */
export const makeClaim =
  (database: Pick<Database, "write">): Storage.Storage["Service"]["claim"] =>
  ({ now, lease_ms, limit, workspace_id, ahead_ms }) => {
    const scalars = { at: now, lease_ms, most: limit, kinds: Job.jobKinds }
    return Effect.map(
      workspace_id === undefined
        ? database.write(claimAnywhere.statement, claimAnywhere.parameters(scalars, {}))
        : database.write(
            claimOrdered.statement,
            claimOrdered.parameters({ ...scalars, of_workspace: workspace_id, ahead_ms: ahead_ms ?? null }, {})
          ),
      claimOf
    )
  }

/** Creates the function that releases leases before they end. */
export const makeRelease =
  (database: Pick<Database, "write">): Storage.Storage["Service"]["release"] =>
  (leases) =>
    leases.length === 0
      ? Effect.void
      : Effect.asVoid(database.write(release.statement, release.parameters({}, { leases })))
