import { Clock, Effect, Ref } from "effect"
import { Workspaces } from "../access/Workspaces.ts"
import { makeKeyedMutex } from "../concurrency/KeyedMutex.ts"
import * as Monotonic from "../concurrency/Monotonic.ts"
import { Retention } from "../runner/Retention.ts"
import { makeJobSignal } from "../runner/WorkLoop.ts"
import { Storage } from "../storage/Storage.ts"
import * as ApiError from "../wire/ApiError.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import { secondMs } from "../wire/Timestamp.ts"
import * as AdvanceProgress from "./AdvanceProgress.ts"
import * as AdvanceSteps from "./AdvanceSteps.ts"

/** Makes the function that advances a sandbox's clock to its target and reports the progress. */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces
  const retention = yield* Retention
  const advance = yield* AdvanceSteps.make
  // Concurrent advances in a process take turns. Otherwise one advance would read a clock that another advance is
  // moving.
  const inTurn = yield* makeKeyedMutex<WorkspaceId>()

  /** Logs an advance's progress, for the first time after `firstMs` and then at most every ten seconds. */
  const logging = Effect.fnUntraced(function* (
    workspace_id: WorkspaceId,
    progress: Ref.Ref<AdvanceProgress.Progress>,
    message: string,
    firstMs: number
  ) {
    let dueAt = (yield* Clock.currentTimeMillis) + firstMs
    return Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      if (now < dueAt) return
      dueAt = now + logEveryMs
      const fields = AdvanceProgress.fields(yield* Ref.get(progress), yield* Monotonic.millis)
      yield* Effect.annotateLogs(Effect.logInfo(message), { workspace_id, ...fields })
    })
  })

  const toTarget = Effect.fnUntraced(function* (
    workspace_id: WorkspaceId,
    target: AdvanceSteps.AdvanceTarget,
    progress: Ref.Ref<AdvanceProgress.Progress>
  ) {
    const signal = yield* makeJobSignal(storage, workspace_id)
    const run: AdvanceSteps.AdvanceRun = { workspace_id, target, progress }
    const step = inTurn(workspace_id, advance.step(run, signal))
    const log = yield* logging(workspace_id, progress, "A sandbox's clock is still advancing", logEveryMs)
    const waiting = "A sandbox's clock waits for carriers, which answer in real time"
    const logWait = yield* logging(workspace_id, progress, waiting, logWaitAfterMs)
    for (let done = yield* step; done !== "reached"; done = yield* step) {
      if (done === "held") yield* advance.whileHeld(run, signal, logWait)
      yield* log
    }
  }, Effect.scoped)

  /**
   * Advances the clock, and returns when the clock has reached the target. A retry with the same idempotency key keeps
   * the target of the first call.
   *
   * Refuses with `conflict` (`wait`) if the advance takes too long. The error reports the progress.
   */
  return Effect.fnUntraced(function* (workspace_id: WorkspaceId, key: string | null, seconds: number) {
    const progress = yield* Ref.make(AdvanceProgress.begin(yield* Monotonic.millis))
    const advanceAll = Effect.gen(function* () {
      const target = yield* advance.accept(workspace_id, key, seconds)
      yield* toTarget(workspace_id, target, progress)
      yield* retention.sweep(workspace_id)
      return (yield* workspaces.moment(workspace_id)).workspace
    })
    return yield* Effect.timeoutOrElse(advanceAll, {
      duration: longestAdvanceMs,
      orElse: () => stillAdvancing(progress)
    })
  })
})

/**
 * How long an advance may take before it is refused. This is longer than a lease, so that an advance can take over a
 * dead host's work. It is shorter than the timeouts of callers and proxies.
 */
const longestAdvanceMs = 45 * secondMs

/** How often the progress of a long advance is logged. */
const logEveryMs = 10 * secondMs

/**
 * If carriers delay an advance by less than this, the delay is not logged. Tests whose clock stands still therefore log
 * nothing.
 */
const logWaitAfterMs = secondMs

const stillAdvancing = Effect.fnUntraced(function* (progress: Ref.Ref<AdvanceProgress.Progress>) {
  const sentences = AdvanceProgress.sentences(yield* Ref.get(progress), yield* Monotonic.millis)
  return yield* ApiError.make("conflict", {
    message: `${sentences} Send the call again, with the same Idempotency-Key.`,
    retry_action: "wait"
  })
})
