import { Ids, Job } from "@quotewire/core"
import { Schema } from "effect"
import * as Columns from "./Columns.ts"

/** The columns of a lease, which are needed to finish or release a job. */
export const leaseColumns = {
  workspace_id: Columns.text(Ids.WorkspaceId),
  number: Columns.int8(Schema.Int),
  lease: Columns.int4(Schema.Int)
}

/** The columns of a job's content and its lane. */
export const jobColumns = {
  kind: Columns.text(Schema.Literals(Job.jobKinds)),
  due_at: Columns.int8(Schema.Int),
  lane: Columns.text(Schema.NullOr(Schema.String)),
  max_leased: Columns.int4(Schema.NullOr(Schema.Int)),
  urgent: Columns.bool(Schema.NullOr(Schema.Boolean)),
  payload: Columns.text(Schema.String)
}

/** The content of a job and its lane, as columns. */
export type JobRow = Columns.Row<typeof jobColumns>

const orderedLane = "ordered"
const lanePrefix = "lane "

/** The name of a lane in storage. */
export const laneOf = (name: string): string => `${lanePrefix}${name}`

/** The row of a job. Ordered jobs share a lane that leases one at a time. */
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

/** The job of a row. */
export const jobOfRow = ({ kind, due_at, lane, max_leased, urgent, payload }: JobRow): Job.NewJob => ({
  kind,
  due_at,
  ordered: lane === orderedLane,
  ...(lane?.startsWith(lanePrefix) && {
    lane: { name: lane.slice(lanePrefix.length), limit: max_leased ?? 0, urgent: urgent ?? false }
  }),
  payload
})
