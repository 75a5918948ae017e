import { Context, Effect, Layer, type Scope } from "effect"
import type { Workspaces } from "../access/Workspaces.ts"
import { Storage, type StorageUnavailable } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import * as ClaimedJobs from "./ClaimedJobs.ts"
import type { Handlers } from "./Handlers.ts"
import * as WorkLoop from "./WorkLoop.ts"

/** A wait for another runner ends after this at the latest, and looks again. */
const longest_turn_ms = 250

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
      const { claim, run, runInOrder } = yield* ClaimedJobs.make
      const forever = yield* WorkLoop.make

      // What is claimed is run or handed back: nothing comes between a claim and that.
      const claimAndRun = (workspace_id?: WorkspaceId) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.tap(claim(100, workspace_id), ({ jobs }) => runInOrder(jobs, (job) => restore(run(job))))
        )

      const runDue = Effect.fnUntraced(function* (workspace_id?: WorkspaceId) {
        const signal = yield* ClaimedJobs.wokenByJobs(storage, workspace_id)
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

      return Runner.of({ runDue, forever })
    })
  )

  /** Runs jobs for as long as the layer lives. */
  static readonly layerForever: Layer.Layer<never, never, Runner> = Layer.effectDiscard(
    Effect.flatMap(Runner, (runner) => runner.forever)
  )
}
