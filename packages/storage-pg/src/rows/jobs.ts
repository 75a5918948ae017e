import { Ids, Job } from "@quotewire/core"
import { Schema } from "effect"
import * as Columns from "./Columns.ts"

/** The columns of a lease: what finishing a job, or giving it back, needs. */
export const leaseColumns = {
  workspace_id: Columns.text(Ids.WorkspaceId),
  number: Columns.int8(Schema.Int),
  lease: Columns.int4(Schema.Int)
}

/** The columns of a job that say what it is, with those of its lane. */
export const jobColumns = {
  kind: Columns.text(Schema.Literals(Job.jobKinds)),
  due_at: Columns.int8(Schema.Int),
  lane: Columns.text(Schema.NullOr(Schema.String)),
  max_leased: Columns.int4(Schema.NullOr(Schema.Int)),
  urgent: Columns.bool(Schema.NullOr(Schema.Boolean)),
  payload: Columns.text(Schema.String)
}

/** A job as its columns say it. */
export type JobRow = Columns.Row<typeof jobColumns>

const ordered_lane = "ordered"
const lane_prefix = "lane "

/** The row of a job. Ordered jobs share a lane in which one at a time is leased. */
export const rowOfJob = ({ kind, due_at, ordered, lane, payload }: Job.NewJob): JobRow => ({
  kind,
  due_at,
  payload,
  ...(ordered
    ? { lane: ordered_lane, max_leased: 1, urgent: false }
    : {
        lane: lane === undefined ? null : `${lane_prefix}${lane.name}`,
        max_leased: lane?.limit ?? null,
        urgent: lane?.urgent ?? null
      })
})

/** The job of a row. */
export const jobOfRow = ({ kind, due_at, lane, max_leased, urgent, payload }: JobRow): Job.NewJob => ({
  kind,
  due_at,
  ordered: lane === ordered_lane,
  ...(lane?.startsWith(lane_prefix) && {
    lane: { name: lane.slice(lane_prefix.length), limit: max_leased ?? 0, urgent: urgent ?? false }
  }),
  payload
})
