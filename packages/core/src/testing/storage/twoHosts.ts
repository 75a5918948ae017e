import { Effect, type Scope } from "effect"
import type { Hint } from "../../storage/Change.ts"
import type { ClaimedJob } from "../../storage/Job.ts"
import { expectRefusal, expectSame, expectSoon, untilSome } from "./expect.ts"
import * as Sample from "./samples.ts"
import type { StorageService } from "./storageRule.ts"

/** A rule for hosts that share one storage, and the program that checks it for two hosts on an empty storage. */
export interface TwoHostsCase {
  readonly name: string
  /** Each host has its own connection to the storage. A storage in one process may pass the same service twice. */
  readonly run: (one: StorageService, other: StorageService) => Effect.Effect<void, unknown>
}

type Body = (one: StorageService, other: StorageService) => Effect.Effect<void, unknown, Scope.Scope>

const rule = (name: string, body: Body): TwoHostsCase => ({
  name,
  run: (one, other) => Effect.scoped(body(one, other))
})

/** Claims jobs. Waits if necessary until the host learns of another host's change. */
const claimSoon = (host: StorageService, now: number, limit = 100) =>
  untilSome(
    "a job to claim",
    Effect.map(host.claim(Sample.claimAt(now, { limit })), ({ jobs }) => jobs)
  )

const claimOne = Effect.fnUntraced(function* (
  host: StorageService,
  now: number
): Effect.fn.Return<ClaimedJob, unknown> {
  const [job] = yield* claimSoon(host, now, 1)
  return job
})

const finish = (host: StorageService, job: ClaimedJob) =>
  host.commit(Sample.change({ workspace_id: job.workspace_id, finishes: [Sample.leaseOf(job)] }))

/** The outcomes of the same step on both hosts concurrently: `done` or the failure's name. */
const raced = <E extends { readonly _tag: string }>(step: (host: StorageService) => Effect.Effect<void, E>) =>
  Effect.fnUntraced(function* (one: StorageService, other: StorageService) {
    const outcomes = yield* Effect.forEach(
      [one, other],
      (host) => Effect.match(step(host), { onSuccess: () => "done", onFailure: ({ _tag }) => _tag }),
      { concurrency: "unbounded" }
    )
    return outcomes.toSorted()
  })

/** Cases for the leases of jobs that two hosts claim. */
const leases: ReadonlyArray<TwoHostsCase> = [
  rule(
    "gives each job to exactly one of two hosts that claim concurrently",
    Effect.fnUntraced(function* (one, other) {
      const count = 100
      yield* one.commit(Sample.change({ jobs: Sample.range(1, count).map((place) => Sample.job(place)) }))
      const claimed: Array<number> = []
      const claimAll = Effect.fnUntraced(function* (host: StorageService) {
        for (let round = 0; round < 10 * count && claimed.length < count; round++) {
          const { jobs } = yield* host.claim(Sample.claimAt(count, { limit: 7, lease_ms: 1_000_000 }))
          claimed.push(...jobs.map(({ number }) => number))
          yield* Effect.yieldNow
        }
      })
      yield* Effect.all([claimAll(one), claimAll(other)], { concurrency: "unbounded" })
      expectSame("how many jobs were claimed", claimed.length, count)
      expectSame("how many different jobs were claimed", new Set(claimed).size, count)
    })
  ),
  rule(
    "gives a job to another host after the lease expires, and refuses the first host's result",
    Effect.fnUntraced(function* (one, other) {
      yield* one.commit(Sample.change({ jobs: [Sample.job(10)] }))
      const lost = yield* claimOne(one, 10)
      expectSame("a claim before the lease expires", (yield* other.claim(Sample.claimAt(1_009))).jobs, [])
      const held = yield* claimOne(other, 1_010)
      expectSame("the job", held, { ...lost, lease: 2, expired_leases: 1 })
      const late = Sample.change({ writes: [Sample.request(1)], finishes: [Sample.leaseOf(lost)] })
      yield* expectRefusal(one.commit(late), "LeaseLost")
      expectSame("the records", (yield* other.page(Sample.pageOf())).records, [])
      yield* finish(other, held)
    })
  ),
  rule(
    "accepts a job's result from only one host if both hosts send a result",
    Effect.fnUntraced(function* (one, other) {
      yield* one.commit(Sample.change({ jobs: [Sample.job(10)] }))
      const job = yield* claimOne(one, 10)
      expectSame("the outcomes", yield* raced((host) => finish(host, job))(one, other), ["LeaseLost", "done"])
    })
  ),
  rule(
    "gives a released job to the other host before the lease would have expired",
    Effect.fnUntraced(function* (one, other) {
      yield* one.commit(Sample.change({ jobs: [Sample.job(10)] }))
      const job = yield* claimOne(one, 10)
      yield* one.release([Sample.leaseOf(job)])
      expectSame("the job", yield* claimOne(other, 11), { ...job, lease: 2 })
    })
  ),
  rule(
    "counts both hosts' jobs toward a lane's limit",
    Effect.fnUntraced(function* (one, other) {
      const lane = { name: "lane", limit: 2, urgent: false }
      yield* one.commit(Sample.change({ jobs: [10, 20, 30].map((due) => Sample.job(due, { lane })) }))
      const first = yield* claimOne(one, 100)
      const second = yield* claimOne(other, 100)
      for (const host of [one, other]) {
        expectSame("a claim while the lane is full", (yield* host.claim(Sample.claimAt(100))).jobs, [])
      }
      yield* finish(one, first)
      const third = yield* claimOne(other, 100)
      expectSame("the jobs", Sample.dueTimes([first, second, third]), [10, 20, 30])
    })
  ),
  rule(
    "gives a workspace's ordered jobs to one host at a time",
    Effect.fnUntraced(function* (one, other) {
      yield* one.commit(Sample.change({ jobs: [Sample.timer(10), Sample.timer(20)] }))
      const first = yield* claimOne(one, 100)
      const waiting = yield* other.claim(Sample.claimAt(100, { workspace_id: Sample.home }))
      expectSame("the other host's claim", [waiting.jobs, waiting.busy], [[], true])
      yield* finish(one, first)
      expectSame("the next job", (yield* claimOne(other, 100)).due_at, 20)
    })
  )
]

/** Cases for what two hosts write and read. */
const changes: ReadonlyArray<TwoHostsCase> = [
  rule(
    "lets a host read the records and events that another host has stored",
    Effect.fnUntraced(function* (one, other) {
      for (const place of Sample.range(1, 10)) {
        const [writer, reader] = place % 2 === 0 ? [one, other] : [other, one]
        yield* writer.commit(Sample.change({ writes: [Sample.request(place)], events: [Sample.event(place)] }))
        const key = { workspace_id: Sample.home, kind: "quote_request", id: Sample.requestId(place) }
        expectSame("the record", (yield* reader.get(key))._tag, "Some")
        expectSame("the records", (yield* reader.page(Sample.pageOf())).records.length, place)
        expectSame("the events", (yield* reader.feed(Sample.feedOf())).events.length, place)
      }
    })
  ),
  rule(
    "accepts each version of a record from only one of two hosts",
    Effect.fnUntraced(function* (one, other) {
      for (const version of Sample.range(1, 10)) {
        const write = (host: StorageService) => {
          const body = `{"version":${version},"by":"${host === one ? "one" : "other"}"}`
          return host.commit(Sample.change({ writes: [Sample.request(1, { version, body })] }))
        }
        expectSame("the outcomes", yield* raced(write)(one, other), ["VersionConflict", "done"])
      }
      expectSame("the records", yield* one.page(Sample.pageOf()), yield* other.page(Sample.pageOf()))
    })
  ),
  rule(
    "refuses a change based on a record that the other host has changed in the meantime",
    Effect.fnUntraced(function* (one, other) {
      yield* one.commit(Sample.change({ writes: [Sample.request(1)] }))
      yield* other.commit(Sample.change({ writes: [Sample.request(1, { version: 2 })] }))
      const expects = [{ kind: "quote_request", id: Sample.requestId(1), version: 1 }]
      yield* expectRefusal(one.commit(Sample.change({ writes: [Sample.request(2)], expects })), "VersionConflict")
      expectSame("the records", (yield* other.page(Sample.pageOf())).records.length, 1)
    })
  ),
  rule(
    "refuses to move the clock past an ordered job that the other host has stored",
    Effect.fnUntraced(function* (one, other) {
      yield* other.commit(Sample.change({ jobs: [Sample.timer(500)] }))
      const moved = (noneDueBefore: number) =>
        one.commit(Sample.change({ clock_offset_ms: 1_000, none_due_before: noneDueBefore }))
      yield* expectRefusal(moved(501), "VersionConflict")
      yield* moved(500)
    })
  ),
  rule(
    "numbers the events of both hosts in one order, without gaps",
    Effect.fnUntraced(function* (one, other) {
      const rounds = 30
      for (const round of Sample.range(1, rounds)) {
        yield* Effect.all(
          [
            one.commit(Sample.change({ events: [Sample.event(round)] })),
            other.commit(Sample.change({ events: [Sample.event(rounds + round)] }))
          ],
          { concurrency: "unbounded" }
        )
      }
      const { events } = yield* one.feed(Sample.feedOf())
      expectSame(
        "the numbers",
        events.map(({ number }) => number),
        Sample.range(1, 2 * rounds)
      )
      expectSame("the other host's feed", (yield* other.feed(Sample.feedOf())).events, events)
    })
  ),
  rule(
    "adds up both hosts' counts",
    Effect.fnUntraced(function* (one, other) {
      const tally = { workspace_id: Sample.home, name: "calls", window_start: 0, window_ms: 60_000 }
      expectSame("the first sum", yield* one.addCounts(0, [{ ...tally, added: 2 }]), [2])
      expectSame("the second sum", yield* other.addCounts(0, [{ ...tally, added: 3 }]), [5])
      expectSame("the sum on the first host", yield* one.addCounts(0, [{ ...tally, added: 0 }]), [5])
    })
  ),
  rule(
    "removes data for both hosts when one host erases the data",
    Effect.fnUntraced(function* (one, other) {
      yield* one.commit(Sample.change({ writes: [Sample.request(1)], jobs: [Sample.job(10)] }))
      const job = yield* claimOne(other, 10)
      yield* one.erase({ what: "workspace", workspace_id: Sample.home })
      expectSame("the records", (yield* other.page(Sample.pageOf())).records, [])
      const next = Sample.change({ writes: [Sample.request(1, { version: 2 })] })
      yield* expectRefusal(other.commit(next), "VersionConflict")
      yield* expectRefusal(finish(other, job), "LeaseLost")
    })
  )
]

/** Cases for the hints that one host gets about the other host's changes. */
const hints: ReadonlyArray<TwoHostsCase> = [
  rule(
    "sends hints about one host's records, jobs and events to the other host",
    Effect.fnUntraced(function* (one, other) {
      const heard: Array<Hint["about"]> = []
      yield* other.watch(({ about }) => heard.push(about))
      yield* one.commit(Sample.change({ writes: [Sample.request(1)] }))
      yield* expectSoon("a hint of the record", () => heard.includes("record"))
      yield* one.commit(Sample.change({ jobs: [Sample.job(10)] }))
      yield* expectSoon("a hint of the job", () => heard.includes("jobs"))
      yield* one.commit(Sample.change({ events: [Sample.event(1)] }))
      yield* expectSoon("a hint of the event", () => heard.includes("events"))
    })
  )
]

/** Cases for two hosts that share one storage. */
export const twoHosts: ReadonlyArray<TwoHostsCase> = [...leases, ...changes, ...hints]
