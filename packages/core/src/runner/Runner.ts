import { Context, Effect, Layer, type Scope } from "effect"
import { type Workspace, Workspaces } from "../access/Workspaces.ts"
import type { Signal } from "../storage/Hints.ts"
import type { ClaimedJob } from "../storage/Job.ts"
import { Storage, type StorageUnavailable } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import type { Handlers } from "./Handlers.ts"
import * as RunAhead from "./RunAhead.ts"
import * as WorkLoop from "./WorkLoop.ts"

/** The longest wait for another runner, in milliseconds. */
const maxPeerWaitMs = 250

/** The result of one run of due work. */
export interface Ran {
  readonly jobs: number
  /** When the workspace's next ordered job is due, in milliseconds of real time; null if it has no such job. */
  readonly next_due_at: number | null
}

/** The result of running the jobs with the earliest due time. */
export interface RanNext extends Ran {
  /** Whether no due job is left. */
  readonly isLast: boolean
}

/** Claims due jobs and runs them. */
export class Runner extends Context.Service<
  Runner,
  {
    /**
     * Runs every job that is due now, and the due jobs that those jobs create, until no due job is left.
     *
     * Given a workspace, runs only its ordered jobs, and waits for jobs that another runner holds. Otherwise runs the
     * jobs of all workspaces, one after another. Calls for the same workspace should not overlap: all but one of them
     * would only wait.
     */
    readonly runDue: (workspace_id?: WorkspaceId) => Effect.Effect<Ran, StorageUnavailable>
    /**
     * Runs the jobs with the earliest due time, as `runDue` does. If another runner holds these jobs, waits for the
     * signal, which that runner's commits must wake (`wokenByJobs`).
     */
    readonly runNext: (signal: Signal, workspace_id?: WorkspaceId) => Effect.Effect<RanNext, StorageUnavailable>
    /**
     * Claims up to a hundred of a workspace's ordered jobs that come due within `ahead_ms` of its clock. Runs them in
     * order, many in one change. Runs no job if another runner holds the next job, or if the next job can run only when
     * it is due.
     *
     * `readReach` returns how far the clock may be moved, in milliseconds of workspace time; no job that is due later
     * is run. `commitBatch` commits each change, and moves the workspace's clock with it.
     */
    readonly runAhead: (
      workspace: Workspace,
      ahead_ms: number,
      readReach: Effect.Effect<number, StorageUnavailable>,
      commitBatch: RunAhead.CommitBatch
    ) => Effect.Effect<RunAhead.RanAhead, StorageUnavailable>
    /**
     * Claims jobs and runs them concurrently until the scope closes. Then finishes the running jobs and releases the
     * other claimed jobs.
     */
    readonly forever: Effect.Effect<void, never, Scope.Scope>
  }
>()("@quotewire/core/Runner") {
  static readonly layer: Layer.Layer<Runner, never, Storage | Workspaces | Handlers> = Layer.effect(
    Runner,
    Effect.gen(function* () {
      const storage = yield* Storage
      const { claim, run, runSequentially } = yield* WorkLoop.makeClaimer
      const runAhead = yield* RunAhead.make
      const catchUp = yield* makeCatchUp(runAhead)
      const forever = yield* WorkLoop.make(catchUp)

      // Uninterruptible from the claim until the run begins, so that every claimed job is either run or released.
      const claimAndRun = (workspace_id?: WorkspaceId) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.tap(claim(100, workspace_id), ({ jobs }) => runSequentially(jobs, (job) => restore(run(job))))
        )
      const catchUpBehind = (jobs: ReadonlyArray<ClaimedJob>) => {
        const job = jobs.findLast(({ ordered }) => ordered)
        return job === undefined ? Effect.succeed(0) : catchUp(job)
      }

      const runNext = Effect.fnUntraced(function* (signal: Signal, workspace_id?: WorkspaceId) {
        const { busy, jobs, next_due_at } = yield* claimAndRun(workspace_id)
        // Another runner holds jobs. Look again after each commit of that runner, or once its leases may have expired,
        // in case it died.
        if (jobs.length === 0 && busy) yield* signal.next(maxPeerWaitMs)
        const result: RanNext = {
          jobs: jobs.length + (yield* catchUpBehind(jobs)),
          next_due_at,
          isLast: jobs.length === 0 && !busy
        }
        return result
      })

      const runDue = Effect.fnUntraced(function* (workspace_id?: WorkspaceId) {
        const signal = yield* WorkLoop.makeJobSignal(storage, workspace_id)
        let jobs = 0
        while (true) {
          const next = yield* runNext(signal, workspace_id)
          jobs += next.jobs
          if (!next.isLast) continue
          const result: Ran = { jobs, next_due_at: next.next_due_at }
          return result
        }
      }, Effect.scoped)

      return Runner.of({ runDue, runNext, runAhead, forever })
    })
  )

  /** Runs jobs as long as the layer exists. */
  static readonly layerForever: Layer.Layer<never, never, Runner> = Layer.effectDiscard(
    Runner.use((runner) => runner.forever)
  )
}

/** If an ordered job runs this many milliseconds late, other jobs are probably waiting behind it. */
const lateMs = 100

/**
 * Makes a function that runs the due jobs that wait behind a late ordered job, many in one change, and returns how many
 * ran. One at a time, each job would take several round trips to storage, and an overloaded sandbox could not catch up.
 */
const makeCatchUp = Effect.fnUntraced(function* (runAhead: Effect.Success<typeof RunAhead.make>) {
  const storage = yield* Storage
  const workspaces = yield* Workspaces

  return Effect.fnUntraced(function* ({ due_at, workspace_id }: ClaimedJob) {
    let jobs = 0
    while (true) {
      const { now, workspace } = yield* workspaces.moment(workspace_id)
      if (now - due_at < lateMs) return jobs
      const aheadRun = yield* runAhead(workspace, 0, Effect.succeed(now), storage.commit)
      if (aheadRun.jobs === 0) return jobs
      jobs += aheadRun.jobs
    }
  })
})
