import { Effect } from "effect"
import { expectSame, expectTrue } from "./expect.ts"
import * as Sample from "./samples.ts"
import { type Case, rule } from "./storageRule.ts"

/** Cases for claims: what a claim finds, in which order, and when to claim again. */
export const dueWork: ReadonlyArray<Case> = [
  rule(
    "claims a job when the job is due, and not earlier",
    Effect.fnUntraced(function* (storage) {
      expectSame("a claim without jobs", yield* storage.claim(Sample.claimAt(10)), {
        jobs: [],
        next_due_at: null,
        busy: false
      })
      yield* storage.commit(Sample.change({ jobs: [Sample.job(50)] }))
      expectSame("a claim before the job is due", yield* storage.claim(Sample.claimAt(49)), {
        jobs: [],
        next_due_at: 50,
        busy: false
      })
      expectSame("a claim when the job is due", Sample.dueTimes((yield* storage.claim(Sample.claimAt(50))).jobs), [50])
    })
  ),
  rule(
    "claims the earliest jobs of a workspace first, up to the limit",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ jobs: [50, 10, 40, 20, 60, 30].map((dueAt) => Sample.job(dueAt)) }))
      const first = yield* storage.claim(Sample.claimAt(100, { limit: 4 }))
      expectSame("the first claim", Sample.dueTimes(first.jobs), [10, 20, 30, 40])
      expectSame("next_due_at", first.next_due_at, 50)
      const second = yield* storage.claim(Sample.claimAt(100, { limit: 4 }))
      expectSame("the second claim", Sample.dueTimes(second.jobs), [50, 60])
    })
  ),
  rule(
    "claims the jobs of all workspaces, up to the limit",
    Effect.fnUntraced(function* (storage) {
      const there = Sample.range(2, 5).map(Sample.workspace)
      yield* storage.commit(Sample.change({ jobs: [10, 20].map((dueAt) => Sample.job(dueAt)) }))
      for (const workspace_id of there) {
        yield* storage.commit(Sample.change({ workspace_id, jobs: [30, 40].map((dueAt) => Sample.job(dueAt)) }))
      }
      const first = yield* storage.claim(Sample.claimAt(100, { limit: 7 }))
      expectSame("how many jobs the first claim returns", first.jobs.length, 7)
      expectTrue("next_due_at says that more jobs are due", first.next_due_at !== null && first.next_due_at <= 100)
      const second = yield* storage.claim(Sample.claimAt(100))
      const claimed = [...first.jobs, ...second.jobs]
      expectSame("the jobs of both claims", Sample.inOrder(claimed), [10, 20, 30, 30, 30, 30, 40, 40, 40, 40])
    })
  ),
  rule(
    "eventually claims a job, no matter how many later jobs come due in other workspaces",
    Effect.fnUntraced(function* (storage) {
      const otherWorkspaces = Sample.range(2, 9).map(Sample.workspace)
      yield* storage.commit(Sample.change({ jobs: [Sample.job(10)] }))
      let isClaimed = false
      for (let now = 20; !isClaimed; now++) {
        expectTrue("the job is claimed before 80 rounds of later jobs", now < 100)
        for (const workspace_id of otherWorkspaces) {
          yield* storage.commit(Sample.change({ workspace_id, jobs: [Sample.job(now)] }))
        }
        const { jobs } = yield* storage.claim(Sample.claimAt(now, { limit: 1 }))
        isClaimed = jobs.some(({ workspace_id }) => workspace_id === Sample.home)
      }
    })
  ),
  rule(
    "returns only ordered jobs from a claim for one workspace, and reports whether any are leased",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ jobs: [Sample.job(20), Sample.timer(25), Sample.timer(90)] }))
      yield* storage.commit(Sample.change({ workspace_id: Sample.elsewhere, jobs: [Sample.timer(10)] }))
      const claimHere = (now: number) => storage.claim(Sample.claimAt(now, { workspace_id: Sample.home }))
      const claim = yield* claimHere(50)
      expectSame("the workspace's ordered jobs", Sample.dueTimes(claim.jobs), [25])
      expectSame("busy after this claim's lease", claim.busy, true)
      expectSame("busy after the previous claim's lease", (yield* claimHere(51)).busy, true)
      for (const job of claim.jobs) yield* storage.commit(Sample.change({ finishes: [job] }))
      expectSame("a claim when no job is leased", yield* claimHere(52), { jobs: [], next_due_at: 90, busy: false })
      const empty = yield* storage.claim(Sample.claimAt(50, { workspace_id: Sample.workspace(3) }))
      expectSame("a claim for an unknown workspace", empty, { jobs: [], next_due_at: null, busy: false })
      expectSame(
        "a claim for all workspaces",
        Sample.inOrder((yield* storage.claim(Sample.claimAt(53))).jobs),
        [10, 20]
      )
    })
  ),
  rule(
    "numbers jobs in the order in which they are stored",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ jobs: [Sample.job(40), Sample.job(30)] }))
      yield* storage.commit(Sample.change({ jobs: [Sample.job(20), Sample.job(10)] }))
      const { jobs } = yield* storage.claim(Sample.claimAt(100))
      const byNumber = [...jobs].sort((a, b) => a.number - b.number)
      expectSame("the due times in the order of the job numbers", Sample.dueTimes(byNumber), [40, 30, 20, 10])
      expectTrue("each job has its own number", new Set(jobs.map(({ number }) => number)).size === 4)
    })
  ),
  rule(
    "reports when the next unclaimed job is due",
    Effect.fnUntraced(function* (storage) {
      const next = (now: number, limit: number) =>
        Effect.map(storage.claim(Sample.claimAt(now, { limit })), ({ next_due_at }) => next_due_at)
      yield* storage.commit(Sample.change({ jobs: [10, 20, 5_000].map((dueAt) => Sample.job(dueAt)) }))
      expectSame("next_due_at while a job is overdue", yield* next(100, 1), 20)
      expectSame("next_due_at while a job is leased until 1100", yield* next(200, 2), 1_100)
      expectSame("next_due_at while two jobs are leased", yield* next(300, 1), 1_100)
      const last = yield* storage.claim(Sample.claimAt(5_000))
      expectSame("a claim of all jobs", Sample.dueTimes(last.jobs), [10, 20, 5_000])
      expectSame("next_due_at when no job is left", last.next_due_at, null)
    })
  ),
  rule(
    "schedules jobs in workspace time",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ clock_offset_ms: 1_000 }))
      yield* storage.commit(Sample.change({ jobs: [Sample.job(5_000), Sample.job(5_500)] }))
      yield* storage.commit(Sample.change({ workspace_id: Sample.elsewhere, jobs: [Sample.job(4_100)] }))
      expectSame("a claim before the jobs are due", yield* storage.claim(Sample.claimAt(3_999)), {
        jobs: [],
        next_due_at: 4_000,
        busy: false
      })
      const claim = yield* storage.claim(Sample.claimAt(4_100))
      expectSame("the jobs that are due in real time", Sample.inOrder(claim.jobs), [4_100, 5_000])
      expectSame("next_due_at in real time", claim.next_due_at, 4_500)
    })
  ),
  rule(
    "moves a workspace's waiting jobs with the workspace's clock, and leaves other workspaces unchanged",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ jobs: [Sample.job(5_000), Sample.timer(6_000)] }))
      yield* storage.commit(Sample.change({ workspace_id: Sample.elsewhere, jobs: [Sample.job(5_000)] }))
      const next = Effect.map(storage.claim(Sample.claimAt(0)), ({ next_due_at }) => next_due_at)
      yield* storage.commit(Sample.change({ clock_offset_ms: 4_000 }))
      expectSame("forwards", yield* next, 1_000)
      yield* storage.commit(Sample.change({ clock_offset_ms: -4_000, jobs: [Sample.job(7_000)] }))
      expectSame("backwards", yield* next, 5_000)
      yield* storage.commit(Sample.change({ clock_offset_ms: 5_500 }))
      const home = yield* storage.claim(Sample.claimAt(1_500))
      expectSame("the jobs that are due after the clock moved", Sample.dueTimes(home.jobs), [5_000, 6_000, 7_000])
      expectSame("elsewhere", home.next_due_at, 5_000)
    })
  ),
  rule(
    "expires leases in real time, and moves a released job with the workspace's clock",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ jobs: [Sample.job(10), Sample.job(20)] }))
      const { jobs } = yield* storage.claim(Sample.claimAt(20))
      yield* storage.commit(Sample.change({ clock_offset_ms: 500_000 }))
      expectSame("a claim during the lease", yield* storage.claim(Sample.claimAt(1_019)), {
        jobs: [],
        next_due_at: 1_020,
        busy: false
      })
      yield* storage.commit(Sample.change({ clock_offset_ms: -5_000 }))
      yield* storage.release(jobs.map(Sample.leaseOf))
      const early = yield* storage.claim(Sample.claimAt(5_009))
      expectSame("a job that was released after the clock moved", early, { jobs: [], next_due_at: 5_010, busy: false })
      expectSame(
        "the released job when it is due again",
        Sample.dueTimes((yield* storage.claim(Sample.claimAt(5_020))).jobs),
        [10, 20]
      )
    })
  )
]
