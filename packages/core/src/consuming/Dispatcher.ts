import { Effect } from "effect"
import type { Workspace } from "../access/Workspaces.ts"
import { makeSignal, type Signal } from "../storage/Hints.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import { secondMs } from "../wire/Timestamp.ts"
import { consumeWorkspace } from "./consumeWorkspace.ts"
import { eachWorkspacePage } from "./eachWorkspacePage.ts"
import * as HandlerRuns from "./HandlerRuns.ts"
import type { ConsumerContext } from "./WorkspaceContext.ts"

/** Without hints, every workspace is checked this often, plus a pause after each page of workspaces. */
const pollEveryMs = 5 * secondMs
const pagePauseMs = secondMs

/** Runs a fiber for each workspace in which a consumer may have work. */
export interface Dispatcher {
  /** Checks a workspace for events, by starting the workspace's fiber or waking the running fiber. */
  readonly dispatch: (id: WorkspaceId) => void
  /** Wakes all fibers. */
  readonly wakeAll: () => void
}

/** The running fiber for a workspace. */
interface RunningWorkspace {
  readonly signal: Signal
  /** How many times the fiber was woken. */
  wake_ups: number
}

/** Makes a dispatcher that has no fibers yet. A fiber ends when its workspace has no more events. */
export const make = (
  context: ConsumerContext,
  start: HandlerRuns.StartHandler,
  fork: (consume: Effect.Effect<void>) => unknown
): Dispatcher => {
  const { isStopping, settings, workspaces } = context
  const running = new Map<WorkspaceId, RunningWorkspace>()

  const isWanted = ({ organization_id, environment }: Workspace) =>
    (settings.organization_id ?? organization_id) === organization_id &&
    (settings.environment ?? environment) === environment

  const consume = Effect.fnUntraced(function* (id: WorkspaceId, entry: RunningWorkspace) {
    const { workspace } = yield* workspaces.cached(id)
    if (!isWanted(workspace)) return
    const runs = HandlerRuns.make(start, settings, workspace)
    yield* consumeWorkspace(
      { ...context, workspace, runs, signal: entry.signal },
      {
        wakeUps: () => entry.wake_ups,
        leave: (wakeUps) => entry.wake_ups === wakeUps && running.delete(id)
      }
    )
  })

  const run = (id: WorkspaceId) => {
    const entry: RunningWorkspace = { signal: makeSignal(), wake_ups: 0 }
    running.set(id, entry)
    fork(
      consume(id, entry).pipe(
        Effect.catchCause((cause) =>
          Effect.annotateLogs(Effect.logWarning("Cannot consume a workspace right now", cause), {
            consumer: settings.name
          })
        ),
        Effect.ensuring(Effect.sync(() => (running.get(id) === entry ? running.delete(id) : false)))
      )
    )
  }

  return {
    dispatch: (id) => {
      const entry = running.get(id)
      if (entry !== undefined) {
        entry.wake_ups++
        entry.signal.wake()
      } else if (!isStopping()) run(id)
    },
    wakeAll: () => {
      for (const { signal } of running.values()) signal.wake()
    }
  }
}

/** Dispatches a workspace when a hint names it, and all workspaces regularly, until the scope closes. */
export const dispatchForever = Effect.fnUntraced(function* (
  { storage, settings }: ConsumerContext,
  { dispatch }: Dispatcher
) {
  const again = makeSignal()
  yield* storage.watch((hint) => {
    if (hint.about === "events") dispatch(hint.workspace_id)
    // Hints may have been lost, or a retry of a parked event was requested.
    if (hint.about === "everything" || (hint.about === "record" && hint.id === settings.name)) again.wake()
  })
  let isHurried = true
  const dispatchPage = (page: ReadonlyArray<WorkspaceId>) =>
    Effect.suspend(() => {
      for (const id of page) dispatch(id)
      return isHurried ? Effect.yieldNow : Effect.sleep(pagePauseMs)
    })
  // Workspaces in an unavailable cell are dispatched once the cell is available again.
  const dispatchAll =
    storage.cells === undefined
      ? eachWorkspacePage(storage, dispatchPage)
      : Effect.forEach(storage.cells, (cell) => Effect.ignore(eachWorkspacePage(cell, dispatchPage)), {
          concurrency: "unbounded",
          discard: true
        })
  while (true) {
    yield* dispatchAll
    isHurried = yield* again.next(pollEveryMs)
  }
})
