import { Storage } from "@quotewire/core"
import { Effect, FiberSet, Metric, type Scope } from "effect"
import { type CellState, firstRetryPauseMs, unavailable } from "./CellState.ts"
import * as TimedClaim from "./TimedClaim.ts"

type Port = Storage.Storage["Service"]

/**
 * How long the health check of an unavailable cell may take, in milliseconds. If it takes longer, the cell is
 * unresponsive.
 */
const readyTimeoutMs = 3_000
/** How often an unresponsive cell is checked, in milliseconds. */
const checkEveryMs = 1_000
/**
 * The longest pause before retrying a cell that is ready but refuses calls, such as one with a full disk, in
 * milliseconds.
 */
const maxRetryPauseMs = 15_000

const unavailableCells = Metric.gauge("quotewire_cell_unavailable", {
  description: "1 if this process cannot use the cell now, 0 if it can."
})

/** Sets the gauge that shows whether this process can use the cell. */
export const measure = (cell: string, isUsable: boolean): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(unavailableCells, { cell }), isUsable ? 0 : 1)

/** Wraps a cell's storage to detect when the cell becomes unavailable and when it recovers. */
export type Guard = (cell: CellState, storage: Port) => Port

/**
 * Creates a circuit breaker for each cell, so that an unavailable cell does not delay the work of other cells.
 *
 * When a call fails because the cell's storage is unavailable, the cell becomes **unavailable**: it gets no new
 * workspaces and no claims until its health check succeeds. If the health check fails too, the cell becomes
 * **unresponsive**: all its calls fail immediately.
 *
 * Errors name the cell, unless it is the first cell, without which nothing works.
 */
export const make = Effect.fnUntraced(function* (home: string): Effect.fn.Return<Guard, never, Scope.Scope> {
  const run = yield* FiberSet.makeRuntime()
  const claimTimeoutMs = yield* TimedClaim.ClaimTimeout

  /** Waits until a cell is usable again. Pauses first if the cell is ready but refused a call. */
  const recover = Effect.fnUntraced(function* (cell: CellState, storage: Port) {
    const isReady = Effect.isSuccess(Effect.timeout(storage.ready, readyTimeoutMs))
    if (yield* isReady) {
      yield* Effect.sleep(cell.retry_pause_ms)
      cell.retry_pause_ms = Math.min(maxRetryPauseMs, 2 * cell.retry_pause_ms)
    } else {
      cell.isUnresponsive = true
      do yield* Effect.sleep(checkEveryMs)
      while (!(yield* isReady))
      cell.isUnresponsive = false
    }
    cell.isUnavailable = false
    cell.isHinted = true
    yield* measure(cell.name, true)
    yield* Effect.annotateLogs(Effect.logInfo("A cell is reachable again"), { cell: cell.name })
  })

  const markUnavailable = (cell: CellState, storage: Port, reason = "no answer") =>
    Effect.suspend(() => {
      if (cell.isUnavailable) return Effect.void
      cell.isUnavailable = true
      run(recover(cell, storage))
      return Effect.andThen(
        measure(cell.name, false),
        Effect.annotateLogs(Effect.logWarning("A cell is unreachable; its jobs wait"), { cell: cell.name, why: reason })
      )
    })

  return (cell, storage) => {
    const name = cell.name === home ? {} : { cell: cell.name }
    const guarded = <A, E>(
      call: Effect.Effect<A, E | Storage.StorageUnavailable>
    ): Effect.Effect<A, E | Storage.StorageUnavailable> =>
      Effect.suspend(() => (cell.isUnresponsive ? Effect.fail(unavailable) : call)).pipe(
        Effect.catchIf(isStorageUnavailable, ({ retry_after_seconds, why }) =>
          Effect.andThen(
            markUnavailable(cell, storage, why),
            Effect.fail(
              new Storage.StorageUnavailable({ retry_after_seconds, ...name, ...(why !== undefined && { why }) })
            )
          )
        )
      )
    const claimWithTimeout = TimedClaim.make(run, cell, storage, claimTimeoutMs)
    const written = () => {
      cell.retry_pause_ms = firstRetryPauseMs
    }
    return {
      commit: (change) => guarded(Effect.map(storage.commit(change), written)),
      get: (key) => guarded(storage.get(key)),
      page: (query) => guarded(storage.page(query)),
      feed: (query) => guarded(storage.feed(query)),
      claim: (query) => guarded(query.workspace_id === undefined ? claimWithTimeout(query) : storage.claim(query)),
      lane: (query) => guarded(storage.lane(query)),
      ...readsOfOperators(storage, guarded),
      release: (leases) => guarded(storage.release(leases)),
      erase: (erasure) => guarded(storage.erase(erasure)),
      rewrite: (workspaceId, rewrites) => guarded(storage.rewrite(workspaceId, rewrites)),
      addCounts: (now, additions) => guarded(storage.addCounts(now, additions)),
      watch: storage.watch,
      workspaces: (after, limit) => guarded(storage.workspaces(after, limit)),
      ready: guarded(storage.ready)
    }
  }
})

type GuardedCall = <A, E>(
  call: Effect.Effect<A, E | Storage.StorageUnavailable>
) => Effect.Effect<A, E | Storage.StorageUnavailable>

const readsOfOperators = (
  { backlog, moving, processes }: Port,
  guarded: GuardedCall
): Pick<Port, "backlog" | "moving" | "processes"> => ({
  ...(backlog && { backlog: (query: Storage.BacklogQuery) => guarded(backlog(query)) }),
  ...(processes && { processes: guarded(processes) }),
  ...(moving && { moving: guarded(moving) })
})

const isStorageUnavailable = (error: unknown): error is Storage.StorageUnavailable =>
  error instanceof Storage.StorageUnavailable
