import { Clock, Effect, FiberSet, Metric } from "effect"
import { Slot } from "../concurrency/Slot.ts"
import * as Supervise from "../concurrency/supervise.ts"
import type { ClaimedJob } from "../storage/Job.ts"
import { type JobClaim, Storage } from "../storage/Storage.ts"
import { second_ms } from "../wire/Timestamp.ts"
import * as ClaimedJobs from "./ClaimedJobs.ts"

/** How many jobs run at once, without those that wait for a carrier or an endpoint. */
const max_running = 128
/** How many jobs are claimed at once, including those that wait for a carrier or an endpoint. */
const max_claimed = 2_000
/** The longest pause between claims while storage is unavailable. */
const max_backoff_ms = 15 * second_ms
/** The pause before the next claim if due work was not given: another host holds it, or only a newer version can do it. */
const contended_pause_ms = 100
/** How long a stop waits for running jobs. */
const stop_ms = 5 * second_ms

/** Claims jobs and runs them concurrently, forever. When its scope closes it finishes what runs and releases the rest. */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const { claim, run, runSequentially } = yield* ClaimedJobs.make

  return Effect.gen(function* () {
    const signal = yield* ClaimedJobs.wokenByJobs(storage, undefined)
    const running = new Set<ClaimedJob>()
    // Whether the last claim was limited by room. If so, claim again as soon as there is room.
    let isFull = false
    const makeRoom = () => {
      if (isFull) signal.wake()
    }
    const waiting = countWaiting(makeRoom)
    const backOff = backOffWhenUnavailable(signal.wake)
    const fibers = yield* FiberSet.make()

    const leaving = (jobs: ReadonlyArray<ClaimedJob>) =>
      Effect.ensuring(
        Effect.sync(() => {
          for (const job of jobs) running.delete(job)
          makeRoom()
        })
      )
    const runOne = (job: ClaimedJob) => backOff.watching(run(job)).pipe(leaving([job]))
    const runAll = (jobs: ReadonlyArray<ClaimedJob>) => runSequentially(jobs, runOne).pipe(Effect.ignore, leaving(jobs))
    // Not interruptible between a claim and its registration, so that a stop releases every claimed job.
    const take = (room: number) =>
      Effect.uninterruptible(
        Effect.map(claim(room), (claimed) => {
          for (const job of claimed.jobs) running.add(job)
          return claimed
        })
      )

    const round = Effect.gen(function* () {
      yield* backOff.pause
      const room = Math.min(max_running - (running.size - waiting.count()), max_claimed - running.size)
      isFull = room <= 0
      const asked_at = yield* Clock.currentTimeMillis
      const claimed = room > 0 ? yield* take(room) : { jobs: [], next_due_at: null }
      if (room > 0) yield* measure(claimed, running.size - waiting.count())
      isFull = claimed.jobs.length >= room
      for (const group of concurrentGroups(claimed.jobs)) yield* FiberSet.run(fibers, runAll(group))
      const next_due_at = claimed.next_due_at ?? Number.POSITIVE_INFINITY
      const isLeft = next_due_at <= asked_at
      if (isLeft && claimed.jobs.length > 0) return
      const now = yield* Clock.currentTimeMillis
      yield* signal.next(isLeft ? contended_pause_ms : Math.min(ClaimedJobs.poll_ms, Math.max(0, next_due_at - now)))
    }).pipe(Effect.provideService(Slot, waiting.slot))

    const unlessDown = Effect.catchTag(round, "StorageUnavailable", () =>
      Effect.andThen(Effect.logWarning("Storage cannot be reached; work waits"), Effect.sleep(ClaimedJobs.poll_ms))
    )
    // Registered before the loop, so it runs after the loop was interrupted and no more jobs are claimed.
    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        yield* Effect.timeoutOption(FiberSet.awaitEmpty(fibers), stop_ms)
        yield* Effect.ignore(storage.release([...running]))
      })
    )
    yield* Effect.forkScoped(Supervise.repeatForever("Claiming jobs", unlessDown, ClaimedJobs.poll_ms))
  })
})

const claimedJobs = Metric.counter("quotewire_jobs_claimed_total", {
  description: "Jobs that this process has claimed.",
  incremental: true
})
const runningJobs = Metric.gauge("quotewire_jobs_running", {
  description: "Jobs that this process is running, without those that wait for an endpoint or a carrier."
})
const oldestDueJob = Metric.gauge("quotewire_oldest_due_job_age_seconds", {
  description: "How long the oldest due job has waited to be claimed."
})

const measure = Effect.fnUntraced(function* (claimed: Pick<JobClaim, "jobs" | "next_due_at">, running: number) {
  const now = yield* Clock.currentTimeMillis
  yield* Metric.update(claimedJobs, claimed.jobs.length)
  yield* Metric.update(runningJobs, running)
  yield* Metric.update(oldestDueJob, Math.max(0, now - (claimed.next_due_at ?? now)) / second_ms)
})

/** Counts the jobs that wait for a carrier or an endpoint, and calls `left` whenever one begins to wait. */
const countWaiting = (left: () => void) => {
  let count = 0
  const leave = Effect.sync(() => {
    count++
    left()
  })
  const comeBack = Effect.sync(() => {
    count--
  })
  return {
    count: () => count,
    slot: {
      yieldDuring: <A, E, R>(call: Effect.Effect<A, E, R>) =>
        Effect.acquireUseRelease(
          leave,
          () => call,
          () => comeBack
        )
    }
  }
}

/**
 * Backs off after jobs that failed because storage is unavailable: the pause before the next claim grows until a job is
 * done again.
 *
 * Such a job is due again at once. If claims work but results cannot be stored, as on a full disk, it would run in a loop
 * and send its webhook each time. `begin` wakes the loop, so that the pause begins at once.
 */
const backOffWhenUnavailable = (begin: () => void) => {
  let isLost = false
  let pause_ms = ClaimedJobs.poll_ms
  const lost = Effect.sync(() => {
    isLost = true
    begin()
  })
  const done = Effect.sync(() => {
    pause_ms = ClaimedJobs.poll_ms
  })
  return {
    watching: <E, R>(job: Effect.Effect<boolean, E, R>) =>
      Effect.tap(
        Effect.tapError(job, () => lost),
        (isDone) => (isDone ? done : Effect.void)
      ),
    pause: Effect.suspend(() => {
      if (!isLost) return Effect.void
      isLost = false
      const this_ms = pause_ms
      pause_ms = Math.min(max_backoff_ms, 2 * pause_ms)
      return Effect.sleep(this_ms)
    })
  }
}

/** Splits jobs for concurrent runs: ordered jobs of one workspace stay together, in order; every other job is alone. */
const concurrentGroups = (jobs: ReadonlyArray<ClaimedJob>): ReadonlyArray<ReadonlyArray<ClaimedJob>> => {
  const groups = Map.groupBy(jobs, (job) => (job.ordered ? job.workspace_id : job))
  return [...groups.values()]
}
