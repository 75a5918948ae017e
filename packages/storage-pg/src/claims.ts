import { Ids, Job, type Storage } from "@quotewire/core"
import { Option, Schema } from "effect"
import { int8Of, texts } from "./columns.ts"

/** Leases due jobs of the kinds that this program knows: a row for each, or one without a job where there is none. */
export const statement = "select * from quotewire.claim_1($1, $2, $3, $4, $5)"

/** The parameters of the statement. */
export const parameters = ({ now, lease_ms, limit, workspace_id }: Storage.ClaimQuery): ReadonlyArray<unknown> => [
  int8Of(now),
  int8Of(lease_ms),
  limit,
  texts(Job.jobKinds),
  workspace_id ?? null
]

const Outlook = Schema.Struct({ next_due_at: Schema.NullOr(Schema.Int), busy: Schema.Boolean })

const JobRow = Schema.Struct({
  workspace_id: Ids.WorkspaceId,
  number: Schema.Int,
  lease: Schema.Int,
  expired_leases: Schema.Int,
  kind: Schema.Literals(Job.jobKinds),
  due_at: Schema.Int,
  lane: Schema.NullOr(Schema.String),
  max_leased: Schema.NullOr(Schema.Int),
  urgent: Schema.NullOr(Schema.Boolean),
  payload: Schema.String
})

const decodeOutlook = Schema.decodeUnknownSync(Schema.NonEmptyArray(Outlook))
const decodeJob = Schema.decodeUnknownOption(JobRow)

const claimed = ({ lane, max_leased, urgent, ...job }: typeof JobRow.Type): Job.ClaimedJob => ({
  ...job,
  ordered: lane === "ordered",
  ...(lane?.startsWith("lane ") && {
    lane: { name: lane.slice("lane ".length), limit: max_leased ?? 0, urgent: urgent ?? false }
  })
})

/** Reads the answer. */
export const read = (rows: ReadonlyArray<unknown>): Storage.Claim => {
  const [{ next_due_at, busy }] = decodeOutlook(rows)
  return { jobs: rows.flatMap((row) => Option.toArray(Option.map(decodeJob(row), claimed))), next_due_at, busy }
}
