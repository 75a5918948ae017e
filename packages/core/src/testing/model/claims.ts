import type { ClaimedJob } from "../../storage/Job.ts"
import type { ClaimQuery, JobClaim } from "../../storage/Storage.ts"
import type { WorkspaceId } from "../../wire/Ids.ts"
import { expectSame, expectTrue } from "../storage/expect.ts"
import type { Model, ModelJob } from "./Model.ts"

const isLeased = (job: ModelJob, now: number) => job.leased_until !== null && job.leased_until > now

const dueAt = (model: Model, { job, workspace_id }: ModelJob) => job.due_at - model.clockOffset(workspace_id)

/**
 * The latest time from which a storage backend may consider a job due: its due time, or the end of its last lease if
 * that is later.
 */
const dueAtLatest = (model: Model, job: ModelJob) => Math.max(dueAt(model, job), job.leased_until ?? dueAt(model, job))

/**
 * The ordered jobs that a claim can take in a workspace, in order: the jobs with the earliest due time, or the jobs
 * that come due within `ahead_ms`. Empty while an ordered job is leased.
 */
const nextOrdered = (
  model: Model,
  workspaceId: WorkspaceId,
  { now, ahead_ms }: Pick<ClaimQuery, "now" | "ahead_ms">
): ReadonlyArray<ModelJob> => {
  const ordered = model.jobs.filter((job) => job.workspace_id === workspaceId && job.job.ordered)
  if (ordered.some((job) => isLeased(job, now))) return []
  const first = Math.min(...ordered.map(({ job }) => job.due_at))
  return ordered
    .filter((job) => (ahead_ms === undefined ? job.job.due_at === first : dueAt(model, job) <= now + ahead_ms))
    .sort((a, b) => a.job.due_at - b.job.due_at || a.serial - b.serial)
}

const inScope = (model: Model, { workspace_id }: ClaimQuery) =>
  model.jobs.filter((job) => workspace_id === undefined || (job.job.ordered && job.workspace_id === workspace_id))

const claimable = (model: Model, query: ClaimQuery): ReadonlyArray<ModelJob> =>
  inScope(model, query)
    .filter((job) => !isLeased(job, query.now) && dueAt(model, job) <= query.now + (query.ahead_ms ?? 0))
    .filter((job) => !job.job.ordered || nextOrdered(model, job.workspace_id, query).includes(job))

const isOfLane = (a: ModelJob, b: ModelJob) =>
  a.workspace_id === b.workspace_id && a.job.lane?.name === b.job.lane?.name

/** How many more jobs in a job's lane can be leased; infinity for a job without a lane. */
const roomFor = (model: Model, job: ModelJob, now: number): number =>
  job.job.lane === undefined
    ? Number.POSITIVE_INFINITY
    : job.job.lane.limit - model.jobs.filter((other) => isOfLane(other, job) && isLeased(other, now)).length

/** How many of these jobs one claim can take, given the room in their lanes. */
const fitting = (model: Model, jobs: ReadonlyArray<ModelJob>, now: number): number =>
  jobs.filter(
    (job, index) => jobs.slice(0, index).filter((other) => isOfLane(other, job)).length < roomFor(model, job, now)
  ).length

/** The leased jobs that a job must wait for. */
const inTheWayOf = (model: Model, job: ModelJob, now: number): ReadonlyArray<ModelJob> => {
  const leased = model.jobs.filter((other) => other.workspace_id === job.workspace_id && isLeased(other, now))
  if (job.job.ordered) return leased.filter((other) => other.job.ordered)
  return roomFor(model, job, now) > 0 ? [] : leased.filter((other) => isOfLane(other, job))
}

/** When the first of the remaining jobs is due. */
const nextDueAt = (model: Model, query: ClaimQuery, claimed: ReadonlyArray<ModelJob>): number | null => {
  const moments = inScope(model, query)
    .filter((job) => !claimed.includes(job))
    .map((job) => {
      if (job.leased_until !== null && isLeased(job, query.now)) return job.leased_until
      const ends = inTheWayOf(model, job, query.now).map(({ leased_until }) => leased_until ?? 0)
      if (ends.length === 0) return dueAt(model, job)
      // An ordered job waits until all earlier ordered jobs have ended. A job in a lane waits until any one job in the
      // lane has ended.
      return Math.max(dueAt(model, job), job.job.ordered ? Math.max(...ends) : Math.min(...ends))
    })
  return moments.length === 0 ? null : Math.min(...moments)
}

const find = (model: Model, claimed: ClaimedJob): ModelJob | undefined =>
  model.jobs.find(({ job, workspace_id }) => workspace_id === claimed.workspace_id && job.payload === claimed.payload)

const isUrgent = ({ job }: ModelJob): boolean => job.lane?.urgent === true

/**
 * Checks the order of jobs in each workspace: urgent jobs come first, then jobs with earlier due times. No job that the
 * claim left may come before a job that the claim took. Jobs of different workspaces may come in any order.
 */
const expectFirst = (model: Model, claimed: ReadonlyArray<ModelJob>, remaining: ReadonlyArray<ModelJob>): void => {
  claimed.forEach((job, index) => {
    for (const later of [...claimed.slice(index + 1), ...remaining]) {
      if (later.workspace_id !== job.workspace_id) continue
      const inOrder = isUrgent(later) === isUrgent(job) ? dueAtLatest(model, later) >= dueAt(model, job) : isUrgent(job)
      expectTrue(`${later.job.payload} comes before ${job.job.payload}`, inOrder)
    }
  })
}

/**
 * Checks the jobs that a claim leaves: each is waiting for room in its lane, or comes after the jobs that the claim
 * took.
 */
const expectInOrder = (
  model: Model,
  now: number,
  claimed: ReadonlyArray<ModelJob>,
  remaining: ReadonlyArray<ModelJob>
): void => {
  const hasRoom = (job: ModelJob) => claimed.filter((other) => isOfLane(other, job)).length < roomFor(model, job, now)
  expectFirst(model, claimed, remaining.filter(hasRoom))
  for (const job of remaining) {
    const claimedInLane = claimed.filter((other) => job.job.lane !== undefined && isOfLane(other, job))
    expectFirst(model, claimedInLane, [job])
  }
}

/** Checks that within each workspace, job numbers increase in the order in which the jobs were stored. */
const expectNumbersInOrder = (model: Model): void => {
  for (const oneJob of model.jobs) {
    for (const otherJob of model.jobs) {
      if (oneJob.workspace_id !== otherJob.workspace_id || oneJob.number === null || otherJob.number === null) continue
      expectSame("the order of job numbers", oneJob.number < otherJob.number, oneJob.serial < otherJob.serial)
    }
  }
}

/** Compares a claim with what the model allows, and applies the claim to the model. */
export const follow = (model: Model, query: ClaimQuery, claim: JobClaim): void => {
  const possible = claimable(model, query)
  const taken = claim.jobs.map((claimed) => {
    const job = find(model, claimed)
    if (job === undefined || !possible.includes(job)) throw new Error(`${claimed.payload} cannot be claimed now`)
    if (job.number !== null) expectSame("the number of a job that was claimed before", claimed.number, job.number)
    const { workspace_id, number } = claimed
    const expired_leases = job.expired_leases + (job.leased_until === null ? 0 : 1)
    expectSame("a claimed job", claimed, { ...job.job, workspace_id, number, lease: job.lease + 1, expired_leases })
    return job
  })
  expectSame(
    "how many jobs were claimed",
    new Set(taken).size,
    Math.min(query.limit, fitting(model, possible, query.now))
  )
  for (const workspaceId of new Set(taken.map((job) => job.workspace_id))) {
    const ordered = taken.filter((job) => job.workspace_id === workspaceId && job.job.ordered)
    const expected = nextOrdered(model, workspaceId, query).slice(0, ordered.length)
    expectSame(
      "the order of ordered jobs",
      ordered.map(({ serial }) => serial),
      expected.map(({ serial }) => serial)
    )
  }
  expectInOrder(
    model,
    query.now,
    taken,
    possible.filter((job) => !taken.includes(job))
  )
  claim.jobs.forEach(({ number, expired_leases }, index) => {
    const job = taken[index]
    if (job === undefined) return
    job.number = number
    job.lease += 1
    job.expired_leases = expired_leases
    job.leased_until = query.now + query.lease_ms
  })
  const busy = query.workspace_id !== undefined && inScope(model, query).some((job) => isLeased(job, query.now))
  expectSame("whether ordered work is leased", claim.busy, busy)
  expectNumbersInOrder(model)
  // All past times are equivalent here: they mean "immediately".
  const soonest = (moment: number | null) => (moment === null ? null : Math.max(moment, query.now))
  const expected = soonest(nextDueAt(model, query, taken))
  const reported = soonest(claim.next_due_at)
  const mayBeEarlier = query.limit > 0 && taken.length === query.limit
  const isEarlier = reported !== null && (expected === null || reported < expected)
  if (!(mayBeEarlier && isEarlier)) expectSame("when to look again", reported, expected)
}
