import { Storage } from "@quotewire/core"
import { Cause, Effect, Exit, FiberSet, Metric, type Scope } from "effect"
import { type CellState, first_pause_ms, unavailable } from "./CellState.ts"

type Port = Storage.Storage["Service"]

/** A cell that has not answered a claim of all workspaces after this long is away. Jobs that it gives later are released. */
const claim_ms = 1_000
/** A cell that is away and does not say within this time that it is ready is silent. */
const ready_ms = 3_000
/** How often a silent cell is asked whether it is back. */
const ask_again_ms = 1_000
/** The longest pause of a cell that answers and refuses all the same, such as one whose disk is full. */
const max_pause_ms = 15_000

const unavailable_cells = Metric.gauge("quotewire_cell_unavailable", {
  description: "1 if this process cannot use the cell now, 0 if it can."
})

/** Reports whether a cell can be used. */
export const measure = (cell: string, isUsable: boolean): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(unavailable_cells, { cell }), isUsable ? 0 : 1)

/** Makes the storage of a cell notice when the cell is lost, and when it is back. */
export type Guard = (cell: CellState, storage: Port) => Port

/**
 * A cell whose call has failed as unavailable is **away**: it gets no new workspaces and is not asked for work, until it
 * says that it is ready. If it does not even say that, it is **silent**, and its calls fail at once. So a cell that is lost
 * delays nobody who waits for others.
 *
 * Errors name the cell, except those of the first cell, without which nothing works.
 */
export const make = Effect.fnUntraced(function* (home: string): Effect.fn.Return<Guard, never, Scope.Scope> {
  const run = yield* FiberSet.makeRuntime()

  /** Waits until a cell is ready again. One that was ready all the time has refused something, and rests for a while. */
  const comeBack = Effect.fnUntraced(function* (cell: CellState, storage: Port) {
    const isReady = Effect.isSuccess(Effect.timeout(storage.ready, ready_ms))
    if (yield* isReady) {
      yield* Effect.sleep(cell.pause_ms)
      cell.pause_ms = Math.min(max_pause_ms, 2 * cell.pause_ms)
    } else {
      cell.isSilent = true
      do yield* Effect.sleep(ask_again_ms)
      while (!(yield* isReady))
      cell.isSilent = false
    }
    cell.isAway = false
    cell.isHinted = true
    yield* measure(cell.name, true)
    yield* Effect.annotateLogs(Effect.logInfo("A cell answers again"), { cell: cell.name })
  })

  const lose = (cell: CellState, storage: Port) =>
    Effect.suspend(() => {
      if (cell.isAway) return Effect.void
      cell.isAway = true
      run(comeBack(cell, storage))
      return Effect.andThen(
        measure(cell.name, false),
        Effect.annotateLogs(Effect.logWarning("A cell cannot be reached; its work waits"), { cell: cell.name })
      )
    })

  /** Claims in a separate fiber, so that a cell that does not answer does not delay the others. */
  const claimPatiently = (storage: Port, query: Storage.ClaimQuery) =>
    Effect.callback<Storage.JobClaim, Storage.StorageUnavailable>((resume) => {
      let isLate = false
      const claiming = run(storage.claim(query))
      const giveUp = Effect.sync(() => {
        isLate = true
        resume(Effect.fail(unavailable))
      })
      const patience = run(Effect.delay(giveUp, claim_ms))
      claiming.addObserver((exit) => {
        patience.interruptUnsafe()
        if (!isLate) resume(answerOf(exit))
        else if (Exit.isSuccess(exit)) run(Effect.ignore(storage.release(exit.value.jobs)))
      })
    })

  return (cell, storage) => {
    const name = cell.name === home ? {} : { cell: cell.name }
    const guarded = <A, E>(
      call: Effect.Effect<A, E | Storage.StorageUnavailable>
    ): Effect.Effect<A, E | Storage.StorageUnavailable> =>
      Effect.suspend(() => (cell.isSilent ? Effect.fail(unavailable) : call)).pipe(
        Effect.catchIf(isUnavailable, ({ retry_after_seconds }) =>
          Effect.andThen(
            lose(cell, storage),
            Effect.fail(new Storage.StorageUnavailable({ retry_after_seconds, ...name }))
          )
        )
      )
    const written = () => {
      cell.pause_ms = first_pause_ms
    }
    return {
      commit: (change) => guarded(Effect.map(storage.commit(change), written)),
      get: (key) => guarded(storage.get(key)),
      page: (query) => guarded(storage.page(query)),
      feed: (query) => guarded(storage.feed(query)),
      claim: (query) =>
        guarded(query.workspace_id === undefined ? claimPatiently(storage, query) : storage.claim(query)),
      release: (leases) => guarded(storage.release(leases)),
      erase: (erasure) => guarded(storage.erase(erasure)),
      addCounts: (now, tallies) => guarded(storage.addCounts(now, tallies)),
      watch: storage.watch,
      workspaces: (after, limit) => guarded(storage.workspaces(after, limit)),
      ready: guarded(storage.ready)
    }
  }
})

const isUnavailable = (error: unknown): error is Storage.StorageUnavailable =>
  error instanceof Storage.StorageUnavailable

/** The answer to a claim. If it was interrupted, the storage is closed, so it is unavailable. */
const answerOf = (exit: Exit.Exit<Storage.JobClaim, Storage.StorageUnavailable>) =>
  Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? Effect.fail(unavailable) : exit
