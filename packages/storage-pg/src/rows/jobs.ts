import { Ids, Job } from "@quotewire/core"
import { Schema } from "effect"
import * as Columns from "./Columns.ts"

/** The columns of a lease. Finishing or releasing a job requires its lease. */
export const leaseColumns = {
  workspace_id: Columns.text(Ids.WorkspaceId),
  number: Columns.int8(Schema.Int),
  lease: Columns.int4(Schema.Int)
}

const isKnownKind = Schema.is(Schema.Literals(Job.jobKinds))

/** Whether this program knows the kind of a job. A newer program may have stored other kinds. */
export const hasKnownKind = <A extends { readonly kind: string }>(job: A): job is A & { readonly kind: Job.JobKind } =>
  isKnownKind(job.kind)

/** The columns of a job's content and lane. */
export const jobColumns = {
  kind: Columns.text(Schema.Literals(Job.jobKinds)),
  due_at: Columns.int8(Schema.Int),
  lane: Columns.text(Schema.NullOr(Schema.String)),
  max_leased: Columns.int4(Schema.NullOr(Schema.Int)),
  urgent: Columns.bool(Schema.NullOr(Schema.Boolean)),
  payload: Columns.text(Schema.String)
}

/** A job's content and lane, as a row. */
export type JobRow = Columns.Row<typeof jobColumns>

const orderedLane = "ordered"
const lanePrefix = "lane "

/** The name under which a lane is stored. */
export const laneOf = (name: string): string => `${lanePrefix}${name}`

/** Turns a job into a row. Ordered jobs share a lane that leases one job at a time. */
export const rowOfJob = ({ kind, due_at, ordered, lane, payload }: Job.NewJob): JobRow => ({
  kind,
  due_at,
  payload,
  ...(ordered
    ? { lane: orderedLane, max_leased: 1, urgent: false }
    : {
        lane: lane === undefined ? null : laneOf(lane.name),
        max_leased: lane?.limit ?? null,
        urgent: lane?.urgent ?? null
      })
})

/** Turns a row into a job. */
export const jobOfRow = ({ kind, due_at, lane, max_leased, urgent, payload }: JobRow): Job.NewJob => ({
  kind,
  due_at,
  ordered: lane === orderedLane,
  ...(lane?.startsWith(lanePrefix) && {
    lane: { name: lane.slice(lanePrefix.length), limit: max_leased ?? 0, urgent: urgent ?? false }
  }),
  payload
})
