import { Cause, Clock, Context, Effect, FiberSet, Layer, Metric, Option, type Scope } from "effect"
import { Workspaces } from "../access/Workspaces.ts"
import * as Signal from "../concurrency/Signal.ts"
import { Slot } from "../concurrency/Slot.ts"
import * as Supervise from "../concurrency/supervise.ts"
import type { ClaimedJob, JobKind } from "../storage/Job.ts"
import { retryOnConflict } from "../storage/retryOnConflict.ts"
import { type Claim, Storage, type StorageUnavailable } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import { second_ms } from "../wire/Timestamp.ts"
import * as InOrder from "./InOrder.ts"
import type { JobHandler } from "./JobHandler.ts"

/** What a runner needs to know of the jobs' meaning. */
export class Handlers extends Context.Service<
  Handlers,
  {
    readonly jobs: { readonly [K in JobKind]: JobHandler }
    /** Ends a job that has failed too often, and what hangs on it. */
    readonly abandon: JobHandler
  }
>()("@quotewire/core/Handlers") {}

/** How long a claimed job belongs to its host: what a dead host held is taken over after this. */
export const lease_ms = 30 * second_ms
/** A job that has died this often is abandoned; one that was handed back has not died. */
export const max_deaths = 5
/** How many jobs are done side by side, those aside that wait for the world outside. */
const max_running = 128
/** How many jobs are held at once, with those that wait for the world outside. */
const max_held = 2_000
/** Storage is asked for work at least this often, whatever hints say. */
const poll_ms = second_ms
/** The longest rest between claims while jobs find storage away. */
const longest_rest_ms = 15 * second_ms
/** Work that is due and was not given, as another host has it in hand or only a newer one can do it, is asked for again so soon. */
const not_given_ms = 100
/** Who waits for another runner looks again at least this often. */
const longest_turn_ms = 250
/** A stop waits so long for what is running. */
const stop_ms = 5 * second_ms

/** What a look for due work came to. */
export interface Ran {
  readonly jobs: number
  /** When the next ordered job of the workspace comes due, in milliseconds of real time; null where none waits. */
  readonly next_due_at: number | null
}

/** Claims due jobs and runs them. */
export class Runner extends Context.Service<
  Runner,
  {
    /**
     * Runs every job that is due now, and what those leave behind that is due as well, until nothing is.
     *
     * For one workspace only its ordered jobs, waiting for those that another runner holds; else all, one after another.
     * Callers that run one workspace's work at once only look at what another of them is doing: let them take turns.
     */
    readonly runDue: (workspace_id?: WorkspaceId) => Effect.Effect<Ran, StorageUnavailable>
    /** Claims and runs for ever, side by side, until its scope closes; then it finishes what runs and hands back the rest. */
    readonly forever: Effect.Effect<void, never, Scope.Scope>
  }
>()("@quotewire/core/Runner") {
  static readonly layer: Layer.Layer<Runner, never, Storage | Workspaces | Handlers> = Layer.effect(
    Runner,
    Effect.gen(function* () {
      const storage = yield* Storage
      const workspaces = yield* Workspaces
      const handlers = yield* Handlers
      const runInOrder = yield* InOrder.make(storage, { every_ms: poll_ms, lease_ms })

      const momentOf = (job: ClaimedJob) =>
        job.ordered
          ? Effect.succeed(job.due_at)
          : Effect.map(workspaces.moment(job.workspace_id), ({ now }) => Math.max(now, job.due_at))

      /**
       * Runs one job; answers whether it was done. Unless storage is away the runner goes on: a job that was not finished
       * comes due again.
       */
      const run = (job: ClaimedJob): Effect.Effect<boolean, StorageUnavailable> =>
        Effect.flatMap(momentOf(job), (at) =>
          job.expired_leases >= max_deaths ? handlers.abandon(job, at) : handlers.jobs[job.kind](job, at)
        ).pipe(
          retryOnConflict,
          Effect.as(true),
          Effect.catchCause((cause) => Effect.as(noteFailure(job, cause), false))
        )

      const claim = (limit: number, workspace_id?: WorkspaceId) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          storage.claim({ now, lease_ms, limit, ...(workspace_id !== undefined && { workspace_id }) })
        )

      // What is claimed is run or handed back: nothing comes between a claim and that.
      const claimAndRun = (workspace_id?: WorkspaceId) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.tap(claim(100, workspace_id), ({ jobs }) => runInOrder(jobs, (job) => restore(run(job))))
        )

      const runDue = Effect.fnUntraced(function* (workspace_id?: WorkspaceId) {
        const signal = yield* wokenByJobs(storage, workspace_id)
        let jobs = 0
        while (true) {
          const claimed = yield* claimAndRun(workspace_id)
          if (claimed.jobs.length > 0) {
            jobs += claimed.jobs.length
          } else if (claimed.busy) {
            // Another runner is at it: each of its commits is a reason to look; a dead one's lease has to end.
            yield* signal.next(longest_turn_ms)
          } else {
            const ran: Ran = { jobs, next_due_at: claimed.next_due_at }
            return ran
          }
        }
      }, Effect.scoped)

      return Runner.of({ runDue, forever: working({ storage, claim, run, runInOrder }) })
    })
  )

  /** Runs jobs for as long as the layer lives. */
  static readonly layerForever: Layer.Layer<never, never, Runner> = Layer.effectDiscard(
    Effect.flatMap(Runner, (runner) => runner.forever)
  )
}

/** What the functions below work with. */
interface Means {
  readonly storage: Storage["Service"]
  readonly claim: (limit: number) => Effect.Effect<Claim, StorageUnavailable>
  readonly run: (job: ClaimedJob) => Effect.Effect<boolean, StorageUnavailable>
  readonly runInOrder: InOrder.InOrder
}

/** Claims and runs for ever, side by side. */
const working = Effect.fnUntraced(function* ({ storage, claim, run, runInOrder }: Means) {
  const signal = yield* wokenByJobs(storage, undefined)
  const running = new Set<ClaimedJob>()
  // Whether the last claim took all that there was room for: then room is a reason to look again.
  let isFull = false
  const makeRoom = () => {
    if (isFull) signal.wake()
  }
  const outside = waitingOutside(makeRoom)
  const losses = restingAfterLosses(signal.wake)
  const fibers = yield* FiberSet.make()

  const leaving = (jobs: ReadonlyArray<ClaimedJob>) =>
    Effect.ensuring(
      Effect.sync(() => {
        for (const job of jobs) running.delete(job)
        makeRoom()
      })
    )
  const runOne = (job: ClaimedJob) => losses.watching(run(job)).pipe(leaving([job]))
  const runAll = (jobs: ReadonlyArray<ClaimedJob>) => runInOrder(jobs, runOne).pipe(Effect.ignore, leaving(jobs))
  // What is claimed is known to the stop, which hands it back: nothing comes between a claim and that.
  const take = (room: number) =>
    Effect.uninterruptible(
      Effect.map(claim(room), (claimed) => {
        for (const job of claimed.jobs) running.add(job)
        return claimed
      })
    )

  const round = Effect.gen(function* () {
    yield* losses.rest
    const room = Math.min(max_running - (running.size - outside.count()), max_held - running.size)
    isFull = room <= 0
    const asked_at = yield* Clock.currentTimeMillis
    const claimed = room > 0 ? yield* take(room) : { jobs: [], next_due_at: null }
    if (room > 0) yield* measure(claimed, running.size - outside.count())
    isFull = claimed.jobs.length >= room
    for (const group of sideBySide(claimed.jobs)) yield* FiberSet.run(fibers, runAll(group))
    const next_due_at = claimed.next_due_at ?? Number.POSITIVE_INFINITY
    const isLeft = next_due_at <= asked_at
    if (isLeft && claimed.jobs.length > 0) return
    const now = yield* Clock.currentTimeMillis
    yield* signal.next(isLeft ? not_given_ms : Math.min(poll_ms, Math.max(0, next_due_at - now)))
  }).pipe(Effect.provideService(Slot, outside.slot))

  const unlessDown = Effect.catchTag(round, "StorageUnavailable", () =>
    Effect.andThen(Effect.logWarning("Storage cannot be reached; work waits"), Effect.sleep(poll_ms))
  )
  // Registered before the loop, so it runs after the loop has been interrupted: nothing new is claimed any more.
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      yield* Effect.timeoutOption(FiberSet.awaitEmpty(fibers), stop_ms)
      yield* Effect.ignore(storage.release([...running]))
    })
  )
  yield* Effect.forkScoped(Supervise.forever("The look for work", unlessDown, poll_ms))
})

const claimedJobs = Metric.counter("quotewire_jobs_claimed_total", {
  description: "Jobs that this process has taken.",
  incremental: true
})
const runningJobs = Metric.gauge("quotewire_jobs_running", {
  description: "Jobs that this process is at, those aside that wait for an endpoint or a carrier."
})
const oldestDueJob = Metric.gauge("quotewire_oldest_due_job_age_seconds", {
  description: "How long the oldest job that is due and not taken has been due."
})

const measure = Effect.fnUntraced(function* (claimed: Pick<Claim, "jobs" | "next_due_at">, running: number) {
  const now = yield* Clock.currentTimeMillis
  yield* Metric.update(claimedJobs, claimed.jobs.length)
  yield* Metric.update(runningJobs, running)
  yield* Metric.update(oldestDueJob, Math.max(0, now - (claimed.next_due_at ?? now)) / second_ms)
})

/** A signal that is woken where jobs of a workspace, or of any, have been stored or done. */
const wokenByJobs = Effect.fnUntraced(function* (storage: Storage["Service"], workspace_id: WorkspaceId | undefined) {
  const signal = Signal.make()
  yield* storage.watch((hint) => {
    if (hint.about === "everything") signal.wake()
    if (hint.about === "jobs" && (workspace_id ?? hint.workspace_id) === hint.workspace_id) signal.wake()
  })
  return signal
})

/** Counts the jobs that wait for the world outside, and tells when one more does. */
const waitingOutside = (left: () => void) => {
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
      release: <A, E, R>(call: Effect.Effect<A, E, R>) =>
        Effect.acquireUseRelease(
          leave,
          () => call,
          () => comeBack
        )
    }
  }
}

/**
 * Rests before the next claim where a job has found storage away, longer from time to time until a job is done again.
 *
 * Such a job is as due as it was. Where it can be claimed and its outcome cannot be stored, on a full disk, it would go
 * round and round, and its webhook be sent each time. `begin` wakes who looks for work, so that the rest begins at once.
 */
const restingAfterLosses = (begin: () => void) => {
  let isLost = false
  let rest_ms = poll_ms
  const lost = Effect.sync(() => {
    isLost = true
    begin()
  })
  const done = Effect.sync(() => {
    rest_ms = poll_ms
  })
  return {
    watching: <E, R>(job: Effect.Effect<boolean, E, R>) =>
      Effect.tap(
        Effect.tapError(job, () => lost),
        (isDone) => (isDone ? done : Effect.void)
      ),
    rest: Effect.suspend(() => {
      if (!isLost) return Effect.void
      isLost = false
      const this_ms = rest_ms
      rest_ms = Math.min(longest_rest_ms, 2 * rest_ms)
      return Effect.sleep(this_ms)
    })
  }
}

/** Ordered jobs of one workspace stay together, in their order; every other job is on its own. */
const sideBySide = (jobs: ReadonlyArray<ClaimedJob>): ReadonlyArray<ReadonlyArray<ClaimedJob>> => {
  const groups = Map.groupBy(jobs, (job) => (job.ordered ? job.workspace_id : job))
  return [...groups.values()]
}

const noteFailure = (
  job: ClaimedJob,
  cause: Cause.Cause<Effect.Error<ReturnType<JobHandler>>>
): Effect.Effect<void, StorageUnavailable> => {
  const error = Option.getOrNull(Cause.findErrorOption(cause))
  // Another host has taken the job over, and will finish it.
  if (error?._tag === "LeaseLost") return Effect.void
  const log =
    error === null ? Effect.logError("A job has died", cause) : Effect.logWarning(`A job waits: ${error._tag}`)
  const noted = Effect.annotateLogs(log, {
    job: job.kind,
    workspace_id: job.workspace_id,
    lease: job.lease,
    expired_leases: job.expired_leases
  })
  return error?._tag === "StorageUnavailable" ? Effect.andThen(noted, Effect.fail(error)) : noted
}
