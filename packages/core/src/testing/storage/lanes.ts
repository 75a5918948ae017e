import { Effect } from "effect"
import type { ClaimedJob, NewJob } from "../../storage/Job.ts"
import type { LaneQuery } from "../../storage/Storage.ts"
import { expectRefusal, expectSame, expectTrue } from "./expect.ts"
import * as Sample from "./samples.ts"
import { type Case, rule, type StorageService } from "./storageRule.ts"

/** A job in a lane. The lane's limit is two by default. */
const inLane = (dueAt: number, name = "lane", limit = 2): NewJob =>
  Sample.job(dueAt, { kind: "deliver", lane: { name, limit, urgent: false } })

const urgent = (dueAt: number, limit = 2): NewJob =>
  Sample.job(dueAt, { kind: "deliver", lane: { name: "urgent", limit, urgent: true } })

const claimed = (storage: StorageService, now: number, limit = 100) =>
  Effect.map(storage.claim(Sample.claimAt(now, { limit })), ({ jobs }) => jobs)

const finish = (storage: StorageService, job: ClaimedJob | undefined) =>
  job === undefined
    ? Effect.die(new Error("expected a job to finish"))
    : storage.commit(Sample.change({ workspace_id: job.workspace_id, finishes: [Sample.leaseOf(job)] }))

/** Cases for lanes, which limit how many of their jobs run concurrently. */
export const lanes: ReadonlyArray<Case> = [
  rule(
    "leases at most as many jobs from a lane as its limit allows, earliest first",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ jobs: [40, 10, 30, 20].map((dueAt) => inLane(dueAt)) }))
      const first = yield* storage.claim(Sample.claimAt(100))
      expectSame("the jobs of the first claim", Sample.dueTimes(first.jobs), [10, 20])
      expectSame("the lane", first.jobs[0]?.lane, { name: "lane", limit: 2, urgent: false })
      expectSame("next_due_at", first.next_due_at, 1_100)
      expectSame("a claim while the lane is full", yield* storage.claim(Sample.claimAt(200)), {
        jobs: [],
        next_due_at: 1_100,
        busy: false
      })
      yield* finish(storage, first.jobs[1])
      const second = yield* claimed(storage, 200)
      expectSame("a claim after one job is finished", Sample.dueTimes(second), [30])
      yield* finish(storage, first.jobs[0])
      yield* finish(storage, second[0])
      expectSame("a claim after all leased jobs are finished", Sample.dueTimes(yield* claimed(storage, 300)), [40])
    })
  ),
  rule(
    "lists a lane's first unfinished jobs by due time, whether waiting or leased",
    Effect.fnUntraced(function* (storage) {
      const listed = (parts: Partial<LaneQuery> = {}) =>
        Effect.map(storage.lane({ workspace_id: Sample.home, lane: "lane", limit: 100, ...parts }), (jobs) =>
          jobs.map(({ due_at }) => due_at)
        )
      expectSame("an empty lane", yield* listed(), [])
      const otherJobs = [inLane(5, "other"), Sample.job(6), Sample.timer(7)]
      yield* storage.commit(Sample.change({ jobs: [...[40, 10, 30, 20].map((dueAt) => inLane(dueAt)), ...otherJobs] }))
      yield* storage.commit(Sample.change({ workspace_id: Sample.elsewhere, jobs: [inLane(1)] }))
      expectSame("the lane's jobs", yield* listed(), [10, 20, 30, 40])
      const ofAll = (limit: number) =>
        Effect.map(storage.lane({ workspace_id: Sample.home, limit }), (jobs) => jobs.map(({ due_at }) => due_at))
      expectSame("the jobs of all lanes, and the ordered jobs", yield* ofAll(100), [5, 7, 10, 20, 30, 40])
      expectSame("the first jobs of all lanes", yield* ofAll(2), [5, 7])
      const [job] = yield* storage.lane({ workspace_id: Sample.home, lane: "lane", limit: 1 })
      expectSame("a job", job, { kind: "deliver", due_at: 10, lease: 0, payload: `{"due":10}` })
      const { jobs: leased } = yield* storage.claim(Sample.claimAt(12))
      expectSame("the lane's jobs, including leased jobs", yield* listed({ limit: 3 }), [10, 20, 30])
      expectSame("the jobs of all lanes, including leased jobs", yield* ofAll(4), [5, 7, 10, 20])
      const leases = Effect.map(storage.lane({ workspace_id: Sample.home, lane: "lane", limit: 2 }), (page) =>
        page.map(({ lease }) => lease)
      )
      expectSame("how often each job was claimed", yield* leases, [1, 0])
      yield* finish(
        storage,
        leased.find(({ due_at, lane }) => due_at === 10 && lane?.name === "lane")
      )
      expectSame("the lane's jobs after one is finished", yield* listed(), [20, 30, 40])
      yield* storage.release((yield* storage.claim(Sample.claimAt(22))).jobs.map(Sample.leaseOf))
      expectSame("how often each job was claimed, including released claims", yield* leases, [1, 0])
    })
  ),
  rule(
    "lets the next claim fill a lane that a limited claim has left partly empty",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ jobs: [10, 20, 30, 40].map((dueAt) => inLane(dueAt, "wide", 3)) }))
      const first = yield* storage.claim(Sample.claimAt(100, { limit: 1 }))
      expectSame("the first claim", [...Sample.dueTimes(first.jobs), first.next_due_at], [10, 20])
      expectSame("a claim that fills the lane", Sample.dueTimes(yield* claimed(storage, 100)), [20, 30])
      expectSame("a claim while the lane is full", yield* claimed(storage, 100), [])
    })
  ),
  rule(
    "makes room in a lane when a lease expires, and returns the expired job before later jobs",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ jobs: [10, 20, 30].map((dueAt) => inLane(dueAt)) }))
      const [first] = yield* claimed(storage, 100, 1)
      const [second] = yield* claimed(storage, 600, 1)
      expectSame("a claim while the lane is full", yield* claimed(storage, 1_099), [])
      const again = yield* claimed(storage, 1_100)
      expectSame(
        "the job whose lease has expired",
        again,
        first === undefined ? [] : [{ ...first, lease: 2, expired_leases: 1 }]
      )
      expectSame("the lane is full again", yield* claimed(storage, 1_599), [])
      expectSame("the other job", Sample.dueTimes(yield* claimed(storage, 1_600)), [20])
      const finished = second === undefined ? [] : [Sample.leaseOf(second)]
      yield* expectRefusal(storage.commit(Sample.change({ finishes: finished })), "LeaseLost")
    })
  ),
  rule(
    "makes room in a lane only once if a job's lease expires before the job is finished",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ jobs: [10, 20, 30].map((dueAt) => inLane(dueAt, "narrow", 1)) }))
      const [late] = yield* claimed(storage, 100)
      yield* storage.claim(Sample.claimAt(5_000, { limit: 0 }))
      yield* finish(storage, late)
      expectSame("one more", Sample.dueTimes(yield* claimed(storage, 5_000)), [20])
      expectSame("no other", yield* claimed(storage, 5_000), [])
    })
  ),
  rule(
    "makes room in a lane when a job is released",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ jobs: [10, 20, 30].map((dueAt) => inLane(dueAt)) }))
      const jobs = yield* claimed(storage, 100)
      yield* storage.release(jobs.map(Sample.leaseOf))
      const again = yield* claimed(storage, 100)
      expectSame(
        "both released jobs",
        again,
        jobs.map((job) => ({ ...job, lease: 2 }))
      )
      expectSame("no other", yield* claimed(storage, 100), [])
    })
  ),
  rule(
    "claims a workspace's urgent jobs before its other due jobs, even if the urgent jobs are due later",
    Effect.fnUntraced(function* (storage) {
      const urgentJobs = [50, 40, 200].map((dueAt) => urgent(dueAt, 3))
      yield* storage.commit(Sample.change({ jobs: [Sample.timer(10), Sample.job(20), inLane(30), ...urgentJobs] }))
      const first = yield* storage.claim(Sample.claimAt(100, { limit: 3 }))
      expectSame("the urgent jobs, claimed first", Sample.dueTimes(first.jobs), [40, 50, 10])
      expectSame("the next due job", first.next_due_at, 20)
      const second = yield* storage.claim(Sample.claimAt(100))
      expectSame("then the others", Sample.dueTimes(second.jobs), [20, 30])
      expectSame("an urgent one that is not due yet", second.next_due_at, 200)
      for (const job of [...first.jobs, ...second.jobs]) yield* finish(storage, job)
      yield* storage.commit(Sample.change({ jobs: [Sample.job(150)] }))
      expectSame("before it is due", Sample.dueTimes(yield* claimed(storage, 199)), [150])
      expectSame("when it is due", Sample.dueTimes(yield* claimed(storage, 200)), [200])
    })
  ),
  rule(
    "claims due jobs even if earlier due jobs wait for a full lane",
    Effect.fnUntraced(function* (storage) {
      const full = [
        ...Sample.range(1, 20).map((dueAt) => inLane(dueAt)),
        ...Sample.range(1, 20).map((dueAt) => urgent(dueAt))
      ]
      yield* storage.commit(Sample.change({ jobs: full }))
      expectSame("the lanes are filled", (yield* claimed(storage, 100)).length, 4)
      yield* storage.commit(
        Sample.change({ jobs: [Sample.job(30), Sample.timer(40), inLane(50, "other"), Sample.job(5_000)] })
      )
      yield* storage.commit(Sample.change({ workspace_id: Sample.elsewhere, jobs: [Sample.job(60)] }))
      const claim = yield* storage.claim(Sample.claimAt(100, { limit: 4 }))
      expectSame("all jobs outside the full lane", Sample.inOrder(claim.jobs), [30, 40, 50, 60])
      expectSame("next_due_at", claim.next_due_at, 1_100)
    })
  ),
  rule(
    "separates lanes by workspace and by name",
    Effect.fnUntraced(function* (storage) {
      const jobs = [10, 20, 30].map((dueAt) => inLane(dueAt, "a", 1))
      yield* storage.commit(Sample.change({ jobs: [...jobs, inLane(15, "b", 1), inLane(25, "b", 1)] }))
      yield* storage.commit(Sample.change({ workspace_id: Sample.elsewhere, jobs }))
      const first = yield* claimed(storage, 100)
      expectSame("one job from each lane", Sample.inOrder(first), [10, 10, 15])
      yield* finish(
        storage,
        first.find(({ workspace_id }) => workspace_id === Sample.elsewhere)
      )
      const second = yield* claimed(storage, 100)
      expectSame("the job in the lane with room", [second.length, second[0]?.workspace_id], [1, Sample.elsewhere])
    })
  ),
  rule(
    "lets a job enter a lane with room immediately, but not a full lane",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ jobs: [inLane(30)] }))
      const [first] = yield* claimed(storage, 100)
      yield* storage.commit(Sample.change({ jobs: [inLane(20), inLane(10)] }))
      expectSame("a claim that fills the lane", Sample.dueTimes(yield* claimed(storage, 100)), [10])
      yield* storage.commit(Sample.change({ jobs: [inLane(5)] }))
      expectSame("a claim while the lane is full", yield* claimed(storage, 100), [])
      yield* finish(storage, first)
      expectSame("the earliest of all", Sample.dueTimes(yield* claimed(storage, 100)), [5])
    })
  ),
  rule(
    "leaves no jobs of a refused change in any lane, even if other changes are stored concurrently",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ writes: [Sample.request(1)] }))
      const commits = Sample.range(1, 3).map((place) =>
        storage.commit(
          Sample.change({
            writes: [Sample.request(place)],
            jobs:
              place === 1
                ? [inLane(10), inLane(20, "gone"), urgent(30), Sample.timer(40)]
                : [inLane(500), Sample.timer(600)]
          })
        )
      )
      const exits = yield* Effect.forEach(commits, Effect.exit, { concurrency: "unbounded" })
      expectSame(
        "one is refused",
        exits.map(({ _tag }) => _tag),
        ["Failure", "Success", "Success"]
      )
      expectSame("a claim before the jobs are due", yield* storage.claim(Sample.claimAt(100)), {
        jobs: [],
        next_due_at: 500,
        busy: false
      })
      expectSame("the other jobs", Sample.dueTimes(yield* claimed(storage, 600)), [500, 500, 600, 600])
    })
  ),
  rule(
    "ignores lanes in a claim for one workspace's ordered jobs",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ jobs: [urgent(10), inLane(10), Sample.timer(20)] }))
      const claim = yield* storage.claim(Sample.claimAt(100, { workspace_id: Sample.home }))
      expectSame("its timers", [...Sample.dueTimes(claim.jobs), claim.next_due_at], [20, null])
    })
  ),
  rule(
    "moves waiting jobs in lanes with the workspace's clock, but does not move leases",
    Effect.fnUntraced(function* (storage) {
      const jobs = [urgent(5_000, 1), urgent(6_000, 1), inLane(7_000)]
      yield* storage.commit(Sample.change({ jobs }))
      yield* storage.commit(Sample.change({ workspace_id: Sample.elsewhere, jobs }))
      yield* storage.commit(Sample.change({ clock_offset_ms: 4_500 }))
      const first = yield* storage.claim(Sample.claimAt(1_500))
      expectSame("the first of the lane", [...Sample.dueTimes(first.jobs), first.next_due_at], [5_000, 2_500])
      yield* storage.commit(Sample.change({ clock_offset_ms: 9_000, jobs: [inLane(8_000)] }))
      const second = yield* storage.claim(Sample.claimAt(1_500))
      expectSame("the lane is still full", [...Sample.dueTimes(second.jobs), second.next_due_at], [7_000, 8_000, 2_500])
      for (const job of first.jobs) yield* finish(storage, job)
      const third = yield* storage.claim(Sample.claimAt(1_500))
      expectSame("there is room", [...Sample.dueTimes(third.jobs), third.next_due_at], [6_000, 2_500])
    })
  ),
  rule(
    "erases a workspace's jobs in lanes, and frees the room that leased jobs take",
    Effect.fnUntraced(function* (storage) {
      const jobs = [10, 20, 30].map((dueAt) => inLane(dueAt, "narrow", 1))
      yield* storage.commit(Sample.change({ jobs: [...jobs, urgent(10)] }))
      yield* storage.commit(Sample.change({ workspace_id: Sample.elsewhere, jobs }))
      const claimedBefore = yield* claimed(storage, 100)
      const erased = yield* storage.erase({ what: "workspace", workspace_id: Sample.home })
      expectSame("the counts", erased, { records: {}, events: 0, jobs: 4 })
      expectSame("a claim after the erasure", yield* storage.claim(Sample.claimAt(100)), {
        jobs: [],
        next_due_at: 1_100,
        busy: false
      })
      yield* storage.commit(Sample.change({ jobs }))
      yield* storage.release(
        claimedBefore.filter(({ workspace_id }) => workspace_id === Sample.home).map(Sample.leaseOf)
      )
      expectSame("one of the new jobs", Sample.dueTimes(yield* claimed(storage, 100)), [10])
      expectSame("no other", yield* claimed(storage, 100), [])
    })
  ),
  rule(
    "respects a lane's limit during many concurrent claims and finishes",
    Effect.fnUntraced(function* (storage) {
      const count = 60
      const limit = 3
      yield* storage.commit(
        Sample.change({ jobs: Sample.range(1, count).map((dueAt) => inLane(dueAt, "busy", limit)) })
      )
      const done: Array<number> = []
      let leased = 0
      let maxLeased = 0
      const host = Effect.gen(function* () {
        for (let round = 0; done.length < count; round++) {
          expectTrue("all jobs are finished in time", round < 10_000)
          const jobs = yield* claimed(storage, 100, 2)
          leased += jobs.length
          maxLeased = Math.max(maxLeased, leased)
          for (const job of jobs) {
            yield* Effect.yieldNow
            done.push(job.due_at)
            // Count before finishing the job, because another host may claim the next job right afterwards.
            leased -= 1
            yield* finish(storage, job)
          }
          yield* Effect.yieldNow
        }
      })
      yield* Effect.forEach(Sample.range(1, 8), () => host, { concurrency: "unbounded" })
      expectSame("how many jobs were finished", new Set(done).size, count)
      expectTrue(`no more than ${limit} at once, but ${maxLeased} were`, maxLeased <= limit)
    })
  )
]
