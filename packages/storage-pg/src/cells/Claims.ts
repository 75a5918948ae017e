import type { Storage } from "@quotewire/core"
import { Cause, Effect, Exit, FiberSet, Schedule, type Scope } from "effect"
import { type CellState, unavailable } from "./CellState.ts"

/** A cell that has not answered a claim after this long is away. Jobs that it gives later are released. */
const patience_ms = 1_000
/** How often a cell that is away is asked whether it is back. */
const ask_again_ms = 1_000
/** Hints can be lost, so each cell is asked for work at least this often. */
const look_again_ms = 5_000

/** Claims from the cells in turn, up to the limit. Fails only if no cell answers. */
export type Claim = (query: Storage.ClaimQuery) => Effect.Effect<Storage.JobClaim, Storage.StorageUnavailable>

/** Whether a cell may have something to claim. */
const mayHaveWork = ({ asked_at, asking, isHinted, next_due_at }: CellState, now: number): boolean =>
  isHinted ||
  asking > 0 ||
  (next_due_at !== null && next_due_at <= now) ||
  now < asked_at ||
  now - asked_at >= look_again_ms

const earlier = (one: number | null, other: number | null): number | null =>
  one === null ? other : other === null ? one : Math.min(one, other)

/**
 * Claims from cells: each claim begins with the next cell, and skips those that have nothing due. So no cell waits forever, and
 * an idle cell costs one claim in five seconds.
 */
export const make = Effect.fnUntraced(function* (
  cells: ReadonlyArray<CellState>
): Effect.fn.Return<Claim, never, Scope.Scope> {
  const run = yield* FiberSet.makeRuntime()
  let first = 0

  /** Waits until a cell answers again. */
  const comeBack = (cell: CellState, storage: Storage.Storage["Service"]) =>
    Effect.retry(storage.ready, Schedule.spaced(ask_again_ms)).pipe(
      Effect.andThen(
        Effect.sync(() => {
          cell.isAway = false
          cell.isHinted = true
        })
      ),
      Effect.andThen(Effect.logInfo("A cell answers again")),
      Effect.annotateLogs({ cell: cell.name }),
      Effect.delay(ask_again_ms)
    )

  const lose = (cell: CellState, storage: Storage.Storage["Service"]) =>
    Effect.suspend(() => {
      if (cell.isAway) return Effect.void
      cell.isAway = true
      run(comeBack(cell, storage))
      return Effect.annotateLogs(Effect.logWarning("A cell cannot be reached; its work waits"), { cell: cell.name })
    })

  /** Claims in a separate fiber, so that a cell that does not answer does not delay the others. */
  const ask = (storage: Storage.Storage["Service"], query: Storage.ClaimQuery) =>
    Effect.callback<Storage.JobClaim, Storage.StorageUnavailable>((resume) => {
      let isLate = false
      const claiming = run(storage.claim(query))
      const giveUp = Effect.sync(() => {
        isLate = true
        resume(Effect.fail(unavailable))
      })
      const patience = run(Effect.delay(giveUp, patience_ms))
      claiming.addObserver((exit) => {
        patience.interruptUnsafe()
        if (!isLate) resume(answerOf(exit))
        else if (Exit.isSuccess(exit)) run(Effect.ignore(storage.release(exit.value.jobs)))
      })
    })

  const claimFrom = Effect.fnUntraced(function* (cell: CellState, query: Storage.ClaimQuery) {
    const { storage } = cell
    if (storage === null || cell.isAway) return null
    cell.isHinted = false
    cell.asking += 1
    cell.asked_at = query.now
    const claimed = yield* ask(storage, query).pipe(
      Effect.catchTag("StorageUnavailable", () => Effect.as(lose(cell, storage), null)),
      Effect.ensuring(
        Effect.sync(() => {
          cell.asking -= 1
        })
      )
    )
    if (claimed === null) return null
    // If a host dies, its jobs can be claimed again when their leases end.
    const ends_at = claimed.jobs.length > 0 ? query.now + query.lease_ms : null
    cell.next_due_at = earlier(claimed.next_due_at, ends_at)
    return claimed
  })

  return Effect.fnUntraced(function* (query: Storage.ClaimQuery) {
    const order = [...cells.slice(first), ...cells.slice(0, first)]
    first = (first + 1) % cells.length
    let jobs: Storage.JobClaim["jobs"] = []
    let next_due_at: number | null = null
    for (const cell of order) {
      if (cell.storage === null || cell.isAway) continue
      if (!mayHaveWork(cell, query.now)) next_due_at = earlier(next_due_at, cell.next_due_at)
      else if (query.limit > 0 && jobs.length === query.limit) next_due_at = earlier(next_due_at, query.now)
      else {
        const claimed = yield* claimFrom(cell, { ...query, limit: query.limit - jobs.length })
        if (claimed === null) continue
        jobs = [...jobs, ...claimed.jobs]
        next_due_at = earlier(next_due_at, claimed.next_due_at)
      }
    }
    if (cells.every(({ isAway, storage }) => storage === null || isAway)) return yield* unavailable
    return { jobs, next_due_at, busy: false }
  })
})

/** The answer to a claim. If it was interrupted, the storage is closed, so it is unavailable. */
const answerOf = (exit: Exit.Exit<Storage.JobClaim, Storage.StorageUnavailable>) =>
  Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? Effect.fail(unavailable) : exit
