import { Effect } from "effect"
import { expectSame, expectTrue } from "./expect.ts"
import * as Sample from "./samples.ts"
import { type Case, rule, type StorageService } from "./storageRule.ts"

const payloads = (storage: StorageService, now: number, limit = 100) =>
  Effect.map(storage.claim(Sample.claimAt(now, { limit })), ({ jobs }) => jobs.map(({ payload }) => payload))

/** Cases for ordered jobs. A workspace runs all jobs with the same due time before any job with a later due time. */
export const orderedJobs: ReadonlyArray<Case> = [
  rule(
    "claims ordered jobs of the next due time only after all earlier ordered jobs are done",
    Effect.fnUntraced(function* (storage) {
      const jobs = [Sample.timer(10, "a"), Sample.timer(10, "b"), Sample.timer(20, "c"), Sample.timer(30, "d")]
      yield* storage.commit(Sample.change({ jobs }))
      const [a, b] = (yield* storage.claim(Sample.claimAt(100))).jobs
      if (a === undefined || b === undefined) throw new Error("expected both jobs of the first moment")
      expectSame("the jobs of the first due time", [a.payload, b.payload], ["a", "b"])
      expectSame("a claim while both jobs are leased", yield* payloads(storage, 100), [])
      yield* storage.commit(Sample.change({ finishes: [Sample.leaseOf(b)] }))
      expectSame("a claim while one job is leased", yield* payloads(storage, 100), [])
      yield* storage.commit(Sample.change({ finishes: [Sample.leaseOf(a)] }))
      expectSame("the jobs of the second due time", yield* payloads(storage, 100), ["c"])
    })
  ),
  rule(
    "claims ordered jobs by due time and number, whatever the order in which they were stored",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ jobs: [Sample.timer(30, "d"), Sample.timer(20, "b")] }))
      yield* storage.commit(Sample.change({ jobs: [Sample.timer(20, "c"), Sample.timer(10, "a")] }))
      const seenJobs: Array<string> = []
      for (let round = 0; round < 4; round++) {
        const [job] = (yield* storage.claim(Sample.claimAt(100, { limit: 1 }))).jobs
        if (job === undefined) throw new Error("expected a job")
        seenJobs.push(job.payload)
        yield* storage.commit(Sample.change({ finishes: [Sample.leaseOf(job)] }))
      }
      expectSame("the order", seenJobs, ["a", "b", "c", "d"])
    })
  ),
  rule(
    "makes unclaimed ordered jobs wait for claimed ordered jobs with the same due time",
    Effect.fnUntraced(function* (storage) {
      const jobs = ["a", "b", "c"].map((payload) => Sample.timer(10, payload))
      yield* storage.commit(Sample.change({ jobs: [...jobs, Sample.timer(20, "d")] }))
      const first = yield* storage.claim(Sample.claimAt(100, { limit: 2 }))
      expectSame(
        "the first",
        first.jobs.map(({ payload }) => payload),
        ["a", "b"]
      )
      expectSame("while they are leased", yield* storage.claim(Sample.claimAt(100)), {
        jobs: [],
        next_due_at: 1_100,
        busy: false
      })
      for (const job of first.jobs) yield* storage.commit(Sample.change({ finishes: [Sample.leaseOf(job)] }))
      expectSame("the rest", yield* payloads(storage, 100), ["c"])
    })
  ),
  rule(
    "does not claim an earlier ordered job that is added while a later ordered job is leased",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ jobs: [Sample.timer(50, "b"), Sample.timer(60, "c")] }))
      const [job] = (yield* storage.claim(Sample.claimAt(100))).jobs
      if (job === undefined) throw new Error("expected a job")
      yield* storage.commit(Sample.change({ jobs: [Sample.timer(10, "a")] }))
      expectSame("while the later one is leased", yield* payloads(storage, 100), [])
      yield* storage.commit(Sample.change({ finishes: [Sample.leaseOf(job)], jobs: [Sample.timer(60, "d")] }))
      const claim = yield* storage.claim(Sample.claimAt(100))
      expectSame(
        "then",
        claim.jobs.map(({ payload }) => payload),
        ["a"]
      )
    })
  ),
  rule(
    "reclaims an ordered job before later jobs when the job's lease has expired or was released",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ jobs: [Sample.timer(10, "a"), Sample.timer(20, "b")] }))
      expectSame("first", yield* payloads(storage, 100), ["a"])
      expectSame("before its lease ends", yield* payloads(storage, 1_099), [])
      const { jobs } = yield* storage.claim(Sample.claimAt(1_100))
      expectSame(
        "after its lease",
        jobs.map(({ payload, lease }) => [payload, lease]),
        [["a", 2]]
      )
      yield* storage.release(jobs.map(Sample.leaseOf))
      const again = yield* storage.claim(Sample.claimAt(1_100))
      expectSame(
        "a claim after the job was released",
        again.jobs.map(({ payload, lease }) => [payload, lease]),
        [["a", 3]]
      )
    })
  ),
  rule(
    "ignores how far ahead a claim looks if it is not for one workspace",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ jobs: [Sample.timer(50), Sample.timer(60), Sample.job(70)] }))
      const early = yield* storage.claim(Sample.claimAt(49, { ahead_ms: 100 }))
      expectSame("before any job is due", early, { jobs: [], next_due_at: 50, busy: false })
      const due = yield* storage.claim(Sample.claimAt(60, { ahead_ms: 100 }))
      expectSame("the first ordered job", Sample.dueTimes(due.jobs), [50])
    })
  ),
  rule(
    "does not let ordered jobs block other jobs or other workspaces",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ jobs: [Sample.timer(10, "a"), Sample.timer(20, "b")] }))
      yield* payloads(storage, 100)
      const there = [Sample.timer(30, "elsewhere")]
      yield* storage.commit(Sample.change({ jobs: [Sample.job(40, { payload: "unordered" })] }))
      yield* storage.commit(Sample.change({ workspace_id: Sample.elsewhere, jobs: there }))
      expectSame("the jobs that are not blocked", [...(yield* payloads(storage, 100))].sort(), [
        "elsewhere",
        "unordered"
      ])
    })
  ),
  rule(
    "reports an ordered job as due no earlier than the expiry of an earlier job's lease",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ jobs: [Sample.timer(10), Sample.timer(20), Sample.timer(9_000)] }))
      const claim = yield* storage.claim(Sample.claimAt(100))
      expectSame("next_due_at behind this claim's lease", claim.next_due_at, 1_100)
      expectSame(
        "next_due_at behind another claim's lease",
        (yield* storage.claim(Sample.claimAt(500))).next_due_at,
        1_100
      )
      const second = yield* storage.claim(Sample.claimAt(1_100))
      expectSame("the first job, claimed again", Sample.dueTimes(second.jobs), [10])
      for (const job of second.jobs) yield* storage.commit(Sample.change({ finishes: [Sample.leaseOf(job)] }))
      const third = yield* storage.claim(Sample.claimAt(1_100))
      expectSame("the second job", Sample.dueTimes(third.jobs), [20])
      expectSame("the third, due after the lease", third.next_due_at, 9_000)
    })
  ),
  rule(
    "claims ordered jobs ahead of a workspace's clock, but not while earlier ordered jobs are leased",
    Effect.fnUntraced(function* (storage) {
      const jobs = [30, 10, 20, 20, 600].map((dueAt, place) => Sample.timer(dueAt, `${dueAt} ${place}`))
      yield* storage.commit(Sample.change({ jobs: [...jobs, Sample.job(15)] }))
      const ahead = { workspace_id: Sample.home, ahead_ms: 500 }
      const first = yield* storage.claim(Sample.claimAt(5, { ...ahead, limit: 3 }))
      expectSame(
        "ahead",
        first.jobs.map(({ payload }) => payload),
        ["10 1", "20 2", "20 3"]
      )
      expectSame("while they are leased", (yield* storage.claim(Sample.claimAt(5, ahead))).jobs, [])
      expectSame("a claim that does not look ahead", (yield* storage.claim(Sample.claimAt(6))).jobs.length, 0)
      yield* storage.commit(Sample.change({ finishes: first.jobs.map(Sample.leaseOf) }))
      const second = yield* storage.claim(Sample.claimAt(5, ahead))
      expectSame("then", Sample.dueTimes(second.jobs), [30])
      expectSame("the job behind the leased jobs", second.next_due_at, 1_005)
      yield* storage.release(second.jobs)
      yield* storage.commit(Sample.change({ jobs: [Sample.timer(25)] }))
      expectSame("released", Sample.dueTimes((yield* storage.claim(Sample.claimAt(5, ahead))).jobs), [25, 30])
    })
  ),
  rule(
    "refuses a change that would overtake an ordered job",
    Effect.fnUntraced(function* (storage) {
      yield* storage.commit(Sample.change({ jobs: [Sample.timer(10), Sample.timer(30)] }))
      const { jobs } = yield* storage.claim(Sample.claimAt(0, { workspace_id: Sample.home, ahead_ms: 30 }))
      yield* storage.commit(Sample.change({ jobs: [Sample.timer(20), Sample.timer(30), Sample.job(5)] }))
      const passing = Sample.change({
        finishes: jobs.map(Sample.leaseOf),
        events: [Sample.event(1)],
        none_due_before: 30
      })
      const refused = yield* Effect.flip(storage.commit(passing))
      expectSame("the refusal", refused._tag === "VersionConflict" && [refused.kind, refused.id], [
        "workspace",
        Sample.home
      ])
      expectSame("its events", (yield* storage.feed(Sample.feedOf())).events.length, 0)
      yield* storage.commit({ ...passing, none_due_before: 20 })
      const remaining = yield* storage.claim(Sample.claimAt(0, { workspace_id: Sample.home, ahead_ms: 30 }))
      expectSame("what is left", Sample.dueTimes(remaining.jobs), [20, 30])
      yield* storage.commit(Sample.change({ none_due_before: 20 }))
      expectSame(
        "the refusal without a job of its own",
        (yield* Effect.flip(storage.commit(Sample.change({ none_due_before: 21 }))))._tag,
        "VersionConflict"
      )
    })
  ),
  rule(
    "lets no concurrent change overtake an ordered job",
    Effect.fnUntraced(function* (storage) {
      const stored = { jobs: [Sample.timer(10)], events: [Sample.event(1)] }
      const passing = { none_due_before: 20, events: [Sample.event(2)] }
      yield* Effect.forEach([stored, passing, passing], (parts) => Effect.exit(storage.commit(Sample.change(parts))), {
        concurrency: "unbounded"
      })
      const feed = (yield* storage.feed(Sample.feedOf())).events.map(({ id }) => id)
      const job = feed.indexOf(Sample.event(1).id)
      expectTrue(
        "no overtaking change is stored",
        feed.slice(job + 1).every((id) => id !== Sample.event(2).id)
      )
    })
  ),
  rule(
    "keeps ordered jobs in order during many concurrent claims and finishes",
    Effect.fnUntraced(function* (storage) {
      const moments = Sample.range(1, 20)
      yield* storage.commit(Sample.change({ jobs: moments.map((dueAt) => Sample.timer(dueAt)).reverse() }))
      const order: Array<number> = []
      const host = Effect.gen(function* () {
        for (let round = 0; order.length < moments.length; round++) {
          expectTrue("all jobs run", round < 10_000)
          const { jobs } = yield* storage.claim(Sample.claimAt(100, { limit: 3 }))
          for (const job of jobs) {
            order.push(job.due_at)
            yield* Effect.yieldNow
            yield* storage.commit(Sample.change({ finishes: [Sample.leaseOf(job)] }))
          }
          yield* Effect.yieldNow
        }
      })
      yield* Effect.forEach(Sample.range(1, 4), () => host, { concurrency: "unbounded" })
      expectSame("the due times", order, moments)
    })
  )
]
