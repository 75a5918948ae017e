import { Cause, Effect } from "effect"
import type { Workspace } from "../access/Workspaces.ts"
import * as Signal from "../concurrency/Signal.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import { second_ms } from "../wire/Timestamp.ts"
import * as Attempts from "./Attempts.ts"
import { eachWorkspaces } from "./ConsumerStore.ts"
import type { Tending } from "./Tended.ts"
import { tend } from "./tend.ts"

/** Without a hint, all workspaces are looked at this often, but at most a page of them in a second. */
const look_every_ms = 5 * second_ms
const page_pause_ms = second_ms

/** Logs what has failed, and goes on, unless it was stopped. */
export const logUnlessInterrupted = (
  message: string,
  cause: Cause.Cause<unknown>,
  consumer: string
): Effect.Effect<void> =>
  Cause.hasInterruptsOnly(cause)
    ? Effect.interrupt
    : Effect.annotateLogs(Effect.logWarning(message, cause), { consumer })

/** A workspace that is looked at. */
interface Open {
  readonly signal: Signal.Signal
  /** Counts who has asked to look at it. */
  looks: number
}

/** The workspaces that a consumer looks at. */
export interface Looking {
  /** Looks at a workspace: now, or again if it is being looked at. */
  readonly look: (id: WorkspaceId) => void
  /** Wakes whatever waits. */
  readonly wakeAll: () => void
}

/** Looks at workspaces, each in a fiber of its own, as long as there is work in it. */
export const make = (
  tending: Tending,
  start: Attempts.StartHandler,
  fork: (tend: Effect.Effect<void>) => unknown
): Looking => {
  const { isStopping, settings, workspaces } = tending
  const open = new Map<WorkspaceId, Open>()

  const isWanted = ({ organization_id, environment }: Workspace) =>
    (settings.organization_id ?? organization_id) === organization_id &&
    (settings.environment ?? environment) === environment

  const tendTo = Effect.fnUntraced(function* (id: WorkspaceId, entry: Open) {
    const { workspace } = yield* workspaces.cached(id)
    if (!isWanted(workspace)) return
    const attempts = Attempts.make(start, settings, workspace)
    yield* tend(
      { ...tending, workspace, attempts, signal: entry.signal },
      () => entry.looks,
      (looked) => entry.looks === looked && open.delete(id)
    )
  })

  const begin = (id: WorkspaceId) => {
    const entry: Open = { signal: Signal.make(), looks: 0 }
    open.set(id, entry)
    fork(
      tendTo(id, entry).pipe(
        Effect.catchCause((cause) => logUnlessInterrupted("A workspace cannot be consumed now", cause, settings.name)),
        Effect.ensuring(Effect.sync(() => (open.get(id) === entry ? open.delete(id) : false)))
      )
    )
  }

  return {
    look: (id) => {
      const found = open.get(id)
      if (found !== undefined) {
        found.looks++
        found.signal.wake()
      } else if (!isStopping()) begin(id)
    },
    wakeAll: () => {
      for (const { signal } of open.values()) signal.wake()
    }
  }
}

/** Looks at workspaces when hints say so, and at all of them from time to time, until the scope closes. */
export const forever = Effect.fnUntraced(function* ({ storage, settings }: Tending, { look }: Looking) {
  const again = Signal.make()
  yield* storage.watch((hint) => {
    if (hint.about === "events") look(hint.workspace_id)
    // Hints may have been lost, or the retry of a parked event was asked for.
    if (hint.about === "everything" || (hint.about === "record" && hint.id === settings.name)) again.wake()
  })
  let isHurried = true
  while (true) {
    yield* eachWorkspaces(storage, (page) =>
      Effect.suspend(() => {
        for (const id of page) look(id)
        return isHurried ? Effect.yieldNow : Effect.sleep(page_pause_ms)
      })
    )
    isHurried = yield* again.next(look_every_ms)
  }
})
