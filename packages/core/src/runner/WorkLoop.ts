import { Cause, Clock, Effect, Exit, FiberSet, Metric, Option, Schedule, type Scope } from "effect"
import { Workspaces } from "../access/Workspaces.ts"
import { JobSlot } from "../concurrency/JobSlot.ts"
import * as Supervise from "../concurrency/Supervise.ts"
import { makeSignal } from "../storage/Hints.ts"
import type { ClaimedJob, JobKind } from "../storage/Job.ts"
import { type JobClaim, retryOnConflict, Storage, type StorageUnavailable } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import { secondMs } from "../wire/Timestamp.ts"
import { ConcurrentClaim } from "./ConcurrentClaim.ts"
import { Handlers } from "./Handlers.ts"
import type { JobHandler } from "./JobHandler.ts"

/*
 * The work of a runner: claims due jobs, runs them concurrently or in order, and releases those that it cannot finish.
 */

/** How long a claimed job belongs to its host. After that, another host can take over the job. */
export const leaseMs = 30 * secondMs
/** A job is abandoned after this many of its leases have expired. Releasing a job early does not count. */
export const maxExpiredLeases = 5
/**
 * How long after a storage outage an expired lease may still be blamed on the outage. This is two leases long, because
 * another host may have claimed the job in between.
 */
const outageShadowMs = 2 * leaseMs
/** The longest time between two requests to storage for work, even without hints. */
export const pollMs = secondMs
/** The maximum number of concurrently running jobs, not counting jobs that wait for a carrier or an endpoint. */
const maxRunning = 128
/** The maximum number of jobs that a host holds, including jobs that wait for a carrier or an endpoint. */
const maxClaimed = 2_000
/** The longest pause between claims while storage is unavailable. */
const maxBackoffMs = 15 * secondMs
/**
 * The pause before the next claim if due work could not be claimed: another host holds it, or only a newer version of
 * the program can do it.
 */
const contendedPauseMs = 100
/** How long a shutdown waits for running jobs. */
const stopMs = 5 * secondMs

/** Makes the functions that claim jobs, run one or several of them, and release the unfinished ones. */
export const makeClaimer = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces
  const handlers = yield* Handlers
  const release = yield* makeRelease(storage, { every_ms: pollMs, lease_ms: leaseMs })
  const outages = makeOutageWatch()

  const momentOf = (job: ClaimedJob) =>
    job.ordered
      ? Effect.succeed(job.due_at)
      : Effect.map(workspaces.moment(job.workspace_id), ({ now }) => Math.max(now, job.due_at))

  const handleBy = (handler: JobHandler, abandon: JobHandler, job: ClaimedJob, now: number): ReturnType<JobHandler> => {
    const handled = Effect.suspend(() => handler(job, now))
    if (job.expired_leases < maxExpiredLeases) return retryOnConflict(handled)
    // An outage is not the job's fault, so retry the job later. Abandon the job only if there was no recent outage.
    const abandoned = Effect.suspend(() => abandon(job, now))
    return Effect.flatMap(outages.isRecent, (isRecent) => retryOnConflict(isRecent ? handled : abandoned))
  }

  /** Runs a job ahead of the clock. For a job that is not about quoting, does nothing. */
  const handleAhead: JobHandler = (job, now) => {
    const jobs: { readonly [K in JobKind]?: JobHandler } = handlers.staged.jobs
    const handler = jobs[job.kind]
    return handler === undefined ? Effect.void : handleBy(handler, handlers.staged.abandon, job, now)
  }

  /**
   * Runs one job, and returns whether it was done. An unfinished job comes due again. The runner then continues, unless
   * storage is unavailable.
   */
  const run = (job: ClaimedJob): Effect.Effect<boolean, StorageUnavailable> =>
    Effect.matchCauseEffect(
      Effect.flatMap(momentOf(job), (now) => handleBy(handlers.jobs[job.kind], handlers.abandon, job, now)),
      {
        onSuccess: () => done,
        onFailure: (cause) => outages.noted(Effect.as(noteFailure(job, cause), false))
      }
    )

  const claim = (limit: number, workspace_id?: WorkspaceId) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      storage.claim({ now, lease_ms: leaseMs, limit, ...(workspace_id !== undefined && { workspace_id }) })
    ).pipe(outages.noted)

  return { claim, handleAhead, run, runSequentially: makeSequentialJobs(release), release }
})

const done = Effect.succeed(true)

/** Notes when storage is unavailable, and tells whether an outage was recent. */
const makeOutageWatch = () => {
  let lastAt = Number.NEGATIVE_INFINITY
  const note = Effect.map(Clock.currentTimeMillis, (now) => {
    lastAt = now
  })
  return {
    noted: <A, R>(effect: Effect.Effect<A, StorageUnavailable, R>) => Effect.tapError(effect, () => note),
    isRecent: Effect.map(Clock.currentTimeMillis, (now) => now - lastAt < outageShadowMs)
  }
}

/** Runs the due jobs that wait behind a late ordered job, and returns how many ran. */
export type CatchUp = (job: ClaimedJob) => Effect.Effect<number, StorageUnavailable>

/**
 * Makes a loop that claims jobs and runs them concurrently, forever. When its scope closes, the loop finishes the
 * running jobs and releases the other claimed jobs.
 */
export const make = Effect.fnUntraced(function* (catchUp: CatchUp) {
  const storage = yield* Storage
  const work = yield* makeClaimer

  return Effect.gen(function* () {
    const signal = yield* makeJobSignal(storage, undefined)
    // Whether the last claim left no room for more jobs. If so, claim again as soon as a job ends.
    let isFull = false
    const makeRoom = () => {
      if (isFull) signal.wake()
    }
    const waiting = makeWaitCounter(makeRoom)
    const backOff = makeBackOff(signal.wake)
    const fibers = yield* FiberSet.make()
    const { runAll, running, take } = makeRunning(work, { catchUp, watch: backOff.watch, makeRoom })

    const round = Effect.gen(function* () {
      yield* backOff.pause
      const room = Math.min(maxRunning - (running.size - waiting.count()), maxClaimed - running.size)
      isFull = room <= 0
      const askedAt = yield* Clock.currentTimeMillis
      const claimed = room > 0 ? yield* take(room) : { jobs: [], next_due_at: null }
      if (room > 0) yield* measure(claimed, running.size - waiting.count())
      isFull = claimed.jobs.length >= room
      const start = Effect.forEach(concurrentGroups(claimed.jobs), (group) => FiberSet.run(fibers, runAll(group)), {
        discard: true
      })
      yield* Effect.provideService(start, ConcurrentClaim, claimed)
      const nextDueAt = claimed.next_due_at ?? Number.POSITIVE_INFINITY
      const isLeft = nextDueAt <= askedAt
      if (isLeft && claimed.jobs.length > 0) return
      const now = yield* Clock.currentTimeMillis
      yield* signal.next(isLeft ? contendedPauseMs : Math.min(pollMs, Math.max(0, nextDueAt - now)))
    }).pipe(Effect.provideService(JobSlot, waiting.slot))

    const unlessDown = Effect.catchTag(round, "StorageUnavailable", ({ why = "no answer" }) =>
      Effect.andThen(
        Effect.annotateLogs(Effect.logWarning("Storage is unreachable; jobs wait"), { why }),
        Effect.sleep(pollMs)
      )
    )
    // Finalizers run in reverse order, so this one runs after the loop is interrupted and no more jobs are claimed.
    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        yield* Effect.timeoutOption(FiberSet.awaitEmpty(fibers), stopMs)
        yield* Effect.ignore(storage.release([...running]))
      })
    )
    yield* Effect.forkScoped(Supervise.repeatForever("Claiming jobs", unlessDown, pollMs))
  })
})

/** Makes the set of jobs that run in this process, and the functions that claim and run them. */
const makeRunning = (
  { claim, run, runSequentially }: Effect.Success<typeof makeClaimer>,
  {
    catchUp,
    makeRoom,
    watch
  }: {
    readonly catchUp: CatchUp
    /** Called when a job ends. */
    readonly makeRoom: () => void
    readonly watch: ReturnType<typeof makeBackOff>["watch"]
  }
) => {
  const running = new Set<ClaimedJob>()

  const leave = (jobs: ReadonlyArray<ClaimedJob>): void => {
    for (const job of jobs) running.delete(job)
    makeRoom()
  }

  const runOne = (job: ClaimedJob) =>
    Effect.onExit(run(job), (exit) =>
      Effect.sync(() => {
        watch(exit)
        leave([job])
      })
    )

  const runAll = (jobs: ReadonlyArray<ClaimedJob>) => {
    const [first] = jobs
    const result = runSequentially(jobs, runOne)
    if (first?.ordered !== true) return Effect.ignore(result)
    return result.pipe(
      Effect.andThen(catchUp(first)),
      Effect.ignore,
      Effect.ensuring(Effect.sync(() => leave(jobs))),
      // Ordered jobs run one after another, so what one job has read is too old for the next.
      Effect.provideService(ConcurrentClaim, null)
    )
  }

  // Uninterruptible from the claim until the jobs are registered, so that a shutdown releases every claimed job.
  const take = (room: number) =>
    Effect.uninterruptible(
      Effect.map(claim(room), (claimed) => {
        for (const job of claimed.jobs) running.add(job)
        return claimed
      })
    )

  return { runAll, running, take }
}

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

const measure = Effect.fnUntraced(function* (claimed: Pick<JobClaim, "jobs" | "next_due_at">, jobCount: number) {
  const now = yield* Clock.currentTimeMillis
  yield* Metric.update(claimedJobs, claimed.jobs.length)
  yield* Metric.update(runningJobs, jobCount)
  yield* Metric.update(oldestDueJob, Math.max(0, now - (claimed.next_due_at ?? now)) / secondMs)
})

/** Counts the jobs that wait for a carrier or an endpoint, and calls `onWait` whenever a job begins to wait. */
const makeWaitCounter = (onWait: () => void) => {
  let count = 0
  return {
    count: () => count,
    slot: {
      yieldDuring: <A, E, R>(call: Effect.Effect<A, E, R>) =>
        Effect.suspend(() => {
          let hasLeft = false
          const leave = Effect.suspend(() => {
            hasLeft = true
            count++
            onWait()
            return call
          })
          // A job that is interrupted before it has left its slot has nothing to undo.
          return Effect.ensuring(
            leave,
            Effect.sync(() => {
              if (hasLeft) count--
            })
          )
        })
    }
  }
}

/**
 * Backs off after jobs that failed because storage is unavailable: the pause before the next claim grows until a job
 * succeeds. Jobs of an unavailable cell do not count, because they cannot be claimed anyway.
 *
 * A failed job is due again immediately. If claims work but results cannot be stored, as on a full disk, the job would
 * otherwise run in a loop and send its webhook each time. `begin` wakes the loop, so that the pause begins immediately.
 */
const makeBackOff = (begin: () => void) => {
  let isLost = false
  let pauseMs = pollMs
  return {
    /** Notes how a job ended. */
    watch: (exit: Exit.Exit<boolean, StorageUnavailable>): void => {
      if (Exit.isSuccess(exit)) {
        if (exit.value) pauseMs = pollMs
        return
      }
      const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
      if (error === undefined || error.cell !== undefined) return
      isLost = true
      begin()
    },
    pause: Effect.suspend(() => {
      if (!isLost) return Effect.void
      isLost = false
      const thisMs = pauseMs
      pauseMs = Math.min(maxBackoffMs, 2 * pauseMs)
      return Effect.sleep(thisMs)
    })
  }
}

/**
 * Splits jobs into groups that run concurrently. The ordered jobs of one workspace form one group, in order; every
 * other job is its own group.
 */
const concurrentGroups = (jobs: ReadonlyArray<ClaimedJob>): ReadonlyArray<ReadonlyArray<ClaimedJob>> => {
  const groups = Map.groupBy(jobs, (job) => (job.ordered ? job.workspace_id : job))
  return [...groups.values()]
}

/**
 * Makes a signal that wakes when jobs are stored or finished: in the given workspace, or, if no workspace is given, in
 * any workspace.
 */
export const makeJobSignal = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  workspace_id: WorkspaceId | undefined
) {
  const signal = makeSignal()
  yield* storage.watch((hint) => {
    if (hint.about === "everything") signal.wake()
    if (hint.about === "jobs" && (workspace_id ?? hint.workspace_id) === hint.workspace_id) signal.wake()
  })
  return signal
})

/** Why a job was not done. */
export type JobCause = Cause.Cause<Effect.Error<ReturnType<JobHandler>>>

/** Logs why a job was not done. Fails if storage is unavailable. */
export const noteFailure = (job: ClaimedJob, cause: JobCause): Effect.Effect<void, StorageUnavailable> => {
  const error = Option.getOrNull(Cause.findErrorOption(cause))
  // Another host has taken over the job and will finish it.
  if (error?._tag === "LeaseLost") return Effect.void
  const log =
    error === null ? Effect.logError("A job failed", cause) : Effect.logWarning(`Retrying a job: ${error._tag}`)
  const logged = Effect.annotateLogs(log, {
    job: job.kind,
    workspace_id: job.workspace_id,
    lease: job.lease,
    expired_leases: job.expired_leases
  })
  return error?._tag === "StorageUnavailable" ? Effect.andThen(logged, Effect.fail(error)) : logged
}

/** How releasing jobs is retried. */
interface ReleaseRetry {
  /** The time between attempts to release jobs while storage is unavailable, in milliseconds. */
  readonly every_ms: number
  /** How long to keep retrying, in milliseconds. After that, the leases have expired anyway. */
  readonly lease_ms: number
}

/** Releases unfinished jobs, immediately or once storage is available again. */
type Release = (jobs: ReadonlyArray<ClaimedJob>) => Effect.Effect<void>

/**
 * Makes a function that keeps trying to release jobs as long as the scope is open. Therefore, only the jobs of a
 * process that died must wait until their leases expire.
 */
const makeRelease = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  retry: ReleaseRetry
): Effect.fn.Return<Release, never, Scope.Scope> {
  const later = yield* FiberSet.make()
  return (jobs) => {
    const releaseOnce = storage.release(jobs)
    const again = Effect.retry(releaseOnce, {
      schedule: Schedule.spaced(retry.every_ms),
      times: Math.ceil(retry.lease_ms / retry.every_ms)
    })
    return Effect.catch(releaseOnce, () => Effect.asVoid(FiberSet.run(later, Effect.ignore(again))))
  }
})

/** Runs claimed jobs one after another. `runOne` returns whether the job was done. */
type SequentialJobs = <R>(
  jobs: ReadonlyArray<ClaimedJob>,
  runOne: (job: ClaimedJob) => Effect.Effect<boolean, StorageUnavailable, R>
) => Effect.Effect<unknown, StorageUnavailable, R>

/**
 * Runs claimed jobs one after another. If it is interrupted or storage is unavailable, it releases the jobs that were
 * not done. If an ordered job was not done, it also releases the ordered jobs behind it, which must wait for that job.
 */
const makeSequentialJobs =
  (release: Release): SequentialJobs =>
  (jobs, runOne) => {
    const [first] = jobs
    // The common case: a single job.
    if (first !== undefined && jobs.length === 1) return Effect.onError(runOne(first), () => release(jobs))
    return Effect.suspend(() => {
      const remaining = new Set(jobs)
      const skipBehind = (job: ClaimedJob, isDone: boolean) => {
        remaining.delete(job)
        if (isDone || !job.ordered) return Effect.void
        const behind = [...remaining].filter((other) => other.ordered && other.workspace_id === job.workspace_id)
        return Effect.map(release(behind), () => {
          for (const orderedJob of behind) remaining.delete(orderedJob)
        })
      }
      const run = (job: ClaimedJob) =>
        remaining.has(job) ? Effect.flatMap(runOne(job), (isDone) => skipBehind(job, isDone)) : Effect.void
      return Effect.onError(Effect.forEach(jobs, run, { discard: true }), () => release([...remaining]))
    })
  }
