import { Effect } from "effect"
import type { ClaimedJob, Lease } from "../../storage/Job.ts"
import { expectError, expectRefusal, expectSame, expectTrue } from "./expect.ts"
import * as Sample from "./samples.ts"
import { type Case, rule, type StorageService } from "./storageRule.ts"

const finish = (storage: StorageService, job: ClaimedJob) =>
  storage.commit(Sample.change({ finishes: [Sample.leaseOf(job)] }))

/** Stores one job that is due at time 10, and claims it for a second. */
const claimOne = Effect.fnUntraced(function* (storage: StorageService) {
  yield* storage.commit(Sample.change({ jobs: [Sample.job(10)] }))
  return yield* claimAgain(storage, 10)
})

const claimAgain = Effect.fnUntraced(function* (storage: StorageService, now: number) {
  const [job] = (yield* storage.claim(Sample.claimAt(now))).jobs
  if (job === undefined) throw new Error(`expected a job at ${now}`)
  return job
})

/** Cases for leases: who holds a job, for how long, and what the holder may do. */
export const leases: ReadonlyArray<Case> = [
  rule(
    "returns a claimed job as stored, with its workspace and lease number 1",
    Effect.fnUntraced(function* (storage) {
      const stored = Sample.job(10, { kind: "ask_carrier", payload: '{"carrier":"é"}' })
      yield* storage.commit(Sample.change({ jobs: [stored] }))
      const job = yield* claimAgain(storage, 10)
      expectSame("the job", job, {
        ...stored,
        workspace_id: Sample.home,
        number: job.number,
        lease: 1,
        expired_leases: 0
      })
    })
  ),
  rule(
    "gives a leased job to another claimer only once the lease has expired, with the next lease number",
    Effect.fnUntraced(function* (storage) {
      const job = yield* claimOne(storage)
      expectSame("a claim before the lease expires", (yield* storage.claim(Sample.claimAt(1_009))).jobs, [])
      expectSame("a claim when the lease expires", (yield* storage.claim(Sample.claimAt(1_010))).jobs, [
        { ...job, lease: 2, expired_leases: 1 }
      ])
      expectSame("a claim after the second lease has expired", (yield* storage.claim(Sample.claimAt(9_000))).jobs, [
        { ...job, lease: 3, expired_leases: 2 }
      ])
    })
  ),
  rule(
    "never returns a finished job",
    Effect.fnUntraced(function* (storage) {
      yield* finish(storage, yield* claimOne(storage))
      expectSame("due work", yield* storage.claim(Sample.claimAt(1_000_000)), {
        jobs: [],
        next_due_at: null,
        busy: false
      })
    })
  ),
  rule(
    "refuses a change that finishes a job leased to another claimer, and writes nothing",
    Effect.fnUntraced(function* (storage) {
      const lostLease = yield* claimOne(storage)
      const heldLease = yield* claimAgain(storage, 2_000)
      const outcome = Sample.change({
        writes: [Sample.request(1)],
        events: [Sample.event(1)],
        jobs: [Sample.job(1)],
        finishes: [Sample.leaseOf(lostLease)]
      })
      const error = yield* expectRefusal(storage.commit(outcome), "LeaseLost")
      expectError(error, { _tag: "LeaseLost", lease: Sample.leaseOf(lostLease) })
      expectSame("the records", (yield* storage.page(Sample.pageOf())).records, [])
      expectSame("the events", (yield* storage.feed(Sample.feedOf())).events, [])
      expectSame("due work", (yield* storage.claim(Sample.claimAt(2_000))).jobs, [])
      yield* finish(storage, heldLease)
    })
  ),
  rule(
    "lets the holder of an expired lease finish the job until another claim takes the job",
    Effect.fnUntraced(function* (storage) {
      const job = yield* claimOne(storage)
      // A claim for another workspace gives the storage a chance to notice that the lease has expired.
      yield* storage.claim(Sample.claimAt(5_000, { workspace_id: Sample.elsewhere }))
      yield* storage.claim(Sample.claimAt(5_000, { limit: 0 }))
      yield* finish(storage, job)
      expectSame("due work", yield* storage.claim(Sample.claimAt(9_000)), { jobs: [], next_due_at: null, busy: false })
    })
  ),
  rule(
    "finishes a job only once",
    Effect.fnUntraced(function* (storage) {
      const job = yield* claimOne(storage)
      yield* finish(storage, job)
      yield* expectRefusal(finish(storage, job), "LeaseLost")
    })
  ),
  rule(
    "accepts only one of many concurrent attempts to finish a job",
    Effect.fnUntraced(function* (storage) {
      const job = yield* claimOne(storage)
      const once = finish(storage, job).pipe(
        Effect.as(1),
        Effect.catchTag("LeaseLost", () => Effect.succeed(0))
      )
      const finished = yield* Effect.forEach(Sample.range(1, 20), () => once, { concurrency: "unbounded" })
      expectSame(
        "how many attempts finished the job",
        finished.reduce((sum, count) => sum + count, 0),
        1
      )
    })
  ),
  rule(
    "refuses a lease that was never granted",
    Effect.fnUntraced(function* (storage) {
      const job = yield* claimOne(storage)
      yield* expectRefusal(finish(storage, { ...job, lease: 0 }), "LeaseLost")
      yield* expectRefusal(finish(storage, { ...job, lease: 2 }), "LeaseLost")
      yield* expectRefusal(finish(storage, { ...job, number: job.number + 1 }), "LeaseLost")
      yield* expectRefusal(finish(storage, { ...job, workspace_id: Sample.elsewhere }), "LeaseLost")
      yield* finish(storage, job)
    })
  ),
  rule(
    "finishes several jobs in one change, even if they come from different changes and lanes",
    Effect.fnUntraced(function* (storage) {
      const lane = { name: "narrow", limit: 1, urgent: false }
      yield* storage.commit(Sample.change({ jobs: [Sample.job(1), Sample.job(2, { lane }), Sample.job(9, { lane })] }))
      yield* storage.commit(Sample.change({ jobs: [Sample.timer(3)] }))
      const { jobs } = yield* storage.claim(Sample.claimAt(8))
      expectSame("the claimed jobs", Sample.dueTimes(jobs), [1, 2, 3])
      yield* storage.commit(Sample.change({ finishes: jobs.map(Sample.leaseOf), jobs: [Sample.timer(10)] }))
      const next = yield* storage.claim(Sample.claimAt(20))
      expectSame("the remaining jobs, whose lane is free", Sample.dueTimes(next.jobs), [9, 10])
    })
  ),
  rule(
    "refuses a whole change because of one lost lease, names that lease, and keeps the other leases",
    Effect.fnUntraced(function* (storage) {
      const lostLease = yield* claimOne(storage)
      const again = yield* claimAgain(storage, 1_010)
      yield* storage.commit(Sample.change({ jobs: [Sample.job(20), Sample.job(21)] }))
      const { jobs } = yield* storage.claim(Sample.claimAt(30))
      const [first, second] = jobs.map(Sample.leaseOf)
      if (first === undefined || second === undefined) throw new Error("expected two jobs")
      const outcome = (...finishes: ReadonlyArray<Lease>) =>
        storage.commit(Sample.change({ writes: [Sample.request(1)], jobs: [Sample.job(40)], finishes }))
      const error = yield* expectRefusal(outcome(first, Sample.leaseOf(lostLease), second), "LeaseLost")
      expectError(error, { _tag: "LeaseLost", lease: Sample.leaseOf(lostLease) })
      expectSame("the records", (yield* storage.page(Sample.pageOf())).records, [])
      expectSame("due work", (yield* storage.claim(Sample.claimAt(50))).jobs, [])
      yield* outcome(first, Sample.leaseOf(again), second)
      expectSame("the remaining jobs", Sample.dueTimes((yield* storage.claim(Sample.claimAt(90_000))).jobs), [40])
    })
  ),
  rule(
    "reports a lost lease rather than a version conflict",
    Effect.fnUntraced(function* (storage) {
      const job = yield* claimOne(storage)
      yield* finish(storage, job)
      const outcome = Sample.change({ writes: [Sample.request(1, { version: 7 })], finishes: [Sample.leaseOf(job)] })
      yield* expectRefusal(storage.commit(outcome), "LeaseLost")
    })
  ),
  rule(
    "keeps the due time of a released job",
    Effect.fnUntraced(function* (storage) {
      const job = yield* claimOne(storage)
      yield* storage.release([Sample.leaseOf(job)])
      yield* expectRefusal(finish(storage, job), "LeaseLost")
      expectSame("a claim before the released job is due", yield* storage.claim(Sample.claimAt(9)), {
        jobs: [],
        next_due_at: 10,
        busy: false
      })
      expectSame("a claim when the released job is due", (yield* storage.claim(Sample.claimAt(10))).jobs, [
        { ...job, lease: 2 }
      ])
    })
  ),
  rule(
    "does not count a released claim as an expired lease",
    Effect.fnUntraced(function* (storage) {
      const job = yield* claimOne(storage)
      yield* storage.release([Sample.leaseOf(job)])
      const again = yield* claimAgain(storage, 10)
      expectSame("the job after its release", again, { ...job, lease: 2 })
      expectSame("the job after its lease has expired", yield* claimAgain(storage, 1_010), {
        ...job,
        lease: 3,
        expired_leases: 1
      })
    })
  ),
  rule(
    "ignores lost leases when jobs are released",
    Effect.fnUntraced(function* (storage) {
      const lostLease = yield* claimOne(storage)
      const heldLease = yield* claimAgain(storage, 1_010)
      yield* storage.commit(Sample.change({ jobs: [Sample.job(20)] }))
      const otherClaim = yield* claimAgain(storage, 1_020)
      yield* storage.release([
        Sample.leaseOf(lostLease),
        { ...heldLease, number: otherClaim.number + 1 },
        Sample.leaseOf(otherClaim)
      ])
      expectSame("due work", (yield* storage.claim(Sample.claimAt(1_020))).jobs, [{ ...otherClaim, lease: 2 }])
      yield* finish(storage, heldLease)
      yield* storage.release([Sample.leaseOf(heldLease)])
      expectSame("a claim after the job was finished", (yield* storage.claim(Sample.claimAt(1_030))).jobs, [])
    })
  ),
  rule(
    "gives each job to exactly one of many concurrent claims",
    Effect.fnUntraced(function* (storage) {
      const count = 200
      yield* storage.commit(Sample.change({ jobs: Sample.range(1, count).map((place) => Sample.job(place)) }))
      const claim = Effect.map(storage.claim(Sample.claimAt(count, { limit: 7 })), ({ jobs }) => jobs)
      const claims = yield* Effect.forEach(Sample.range(1, 60), () => claim, { concurrency: "unbounded" })
      const numbers = claims.flat().map(({ number }) => number)
      expectSame("how many jobs were claimed", numbers.length, count)
      expectSame("how many different jobs were claimed", new Set(numbers).size, count)
      expectTrue(
        "no claim returns more jobs than its limit",
        claims.every((jobs) => jobs.length <= 7)
      )
    })
  )
]
