import type { WorkspaceId } from "../../Ids.ts"
import type { ClaimedJob } from "../../storage/Job.ts"
import type { Claim, ClaimQuery } from "../../storage/Storage.ts"
import { expectSame, expectTrue } from "./expect.ts"
import type { Model, ModelJob } from "./Model.ts"

const isLeased = (job: ModelJob, now: number) => job.leased_until !== null && job.leased_until > now

const dueAt = (model: Model, { job, workspace_id }: ModelJob) => job.due_at - model.clockOffset(workspace_id)

/** A job whose lease has ended can count as due since it was due, or since that end. */
const dueAtLatest = (model: Model, job: ModelJob) => Math.max(dueAt(model, job), job.leased_until ?? dueAt(model, job))

/** The ordered jobs of a workspace that nobody may claim before they are all done, in their order. */
const firstMoment = (model: Model, workspace_id: WorkspaceId, now: number): ReadonlyArray<ModelJob> => {
  const ordered = model.jobs.filter((job) => job.workspace_id === workspace_id && job.job.ordered)
  if (ordered.some((job) => isLeased(job, now))) return []
  const first = Math.min(...ordered.map(({ job }) => job.due_at))
  return ordered.filter(({ job }) => job.due_at === first)
}

const inScope = (model: Model, { workspace_id }: ClaimQuery) =>
  model.jobs.filter((job) => workspace_id === undefined || (job.job.ordered && job.workspace_id === workspace_id))

const claimable = (model: Model, query: ClaimQuery): ReadonlyArray<ModelJob> =>
  inScope(model, query)
    .filter((job) => !isLeased(job, query.now) && dueAt(model, job) <= query.now)
    .filter((job) => !job.job.ordered || firstMoment(model, job.workspace_id, query.now).includes(job))

/** When the first job comes due that was not taken. */
const nextDueAt = (model: Model, query: ClaimQuery, taken: ReadonlyArray<ModelJob>): number | null => {
  const moments = inScope(model, query)
    .filter((job) => !taken.includes(job))
    .map((job) => {
      if (job.leased_until !== null && isLeased(job, query.now)) return job.leased_until
      const before = model.jobs.filter(
        (other) => other.workspace_id === job.workspace_id && other.job.ordered && isLeased(other, query.now)
      )
      const ends = job.job.ordered ? before.map(({ leased_until }) => leased_until ?? 0) : []
      return Math.max(dueAt(model, job), ...ends)
    })
  return moments.length === 0 ? null : Math.min(...moments)
}

const find = (model: Model, claimed: ClaimedJob): ModelJob | undefined =>
  model.jobs.find(({ job, workspace_id }) => workspace_id === claimed.workspace_id && job.payload === claimed.payload)

/** Earlier jobs come first, in the claim and before what it leaves. */
const expectEarliest = (model: Model, taken: ReadonlyArray<ModelJob>, left: ReadonlyArray<ModelJob>): void => {
  taken.forEach((job, index) => {
    for (const later of [...taken.slice(index + 1), ...left]) {
      expectTrue(`${later.job.payload} comes before ${job.job.payload}`, dueAtLatest(model, later) >= dueAt(model, job))
    }
  })
}

/** Numbers count up as jobs are stored, in every workspace. */
const expectNumbersInOrder = (model: Model): void => {
  for (const one of model.jobs) {
    for (const other of model.jobs) {
      if (one.workspace_id !== other.workspace_id || one.number === null || other.number === null) continue
      expectSame("the order of job numbers", one.number < other.number, one.serial < other.serial)
    }
  }
}

/** Compares a storage's claim with what the model calls claimable, and notes it in the model. */
export const follow = (model: Model, query: ClaimQuery, claim: Claim): void => {
  const possible = claimable(model, query)
  const taken = claim.jobs.map((claimed) => {
    const job = find(model, claimed)
    if (job === undefined || !possible.includes(job)) throw new Error(`${claimed.payload} cannot be claimed now`)
    if (job.number !== null) expectSame("the number of a job that was claimed before", claimed.number, job.number)
    const { workspace_id, number } = claimed
    expectSame("a claimed job", claimed, { ...job.job, workspace_id, number, lease: job.lease + 1 })
    return job
  })
  expectSame("how many were claimed", new Set(taken).size, Math.min(query.limit, possible.length))
  for (const workspace_id of new Set(taken.map((job) => job.workspace_id))) {
    const ordered = taken.filter((job) => job.workspace_id === workspace_id && job.job.ordered)
    const expected = firstMoment(model, workspace_id, query.now).slice(0, ordered.length)
    expectSame(
      "the order of ordered jobs",
      ordered.map(({ serial }) => serial),
      expected.map(({ serial }) => serial)
    )
  }
  expectEarliest(
    model,
    taken,
    possible.filter((job) => !taken.includes(job))
  )
  claim.jobs.forEach(({ number }, index) => {
    const job = taken[index]
    if (job === undefined) return
    job.number = number
    job.lease += 1
    job.leased_until = query.now + query.lease_ms
  })
  const busy = query.workspace_id !== undefined && inScope(model, query).some((job) => isLeased(job, query.now))
  expectSame("whether ordered work is leased", claim.busy, busy)
  expectNumbersInOrder(model)
  // What is overdue says "at once", whatever moment it names.
  const soonest = (moment: number | null) => (moment === null ? null : Math.max(moment, query.now))
  expectSame("when to look again", soonest(claim.next_due_at), soonest(nextDueAt(model, query, taken)))
}
