import { Effect, Exit, FiberSet, type Scope } from "effect"
import * as Change from "../storage/Change.ts"
import type { ClaimedJob } from "../storage/Job.ts"
import type { LeaseLost, Storage, StorageUnavailable, VersionConflict } from "../storage/Storage.ts"
import * as Conclusion from "./Conclusion.ts"
import type { KeptSubscription } from "./EventSubscription.ts"
import { loadDelivery, loadHealth, loadSubscription } from "./SubscriptionStore.ts"

type StorageService = Storage["Service"]

/** An attempt that is over and is to be written, together with the end of its job. */
export interface Outcome extends Conclusion.Ended {
  readonly job: ClaimedJob
  /** The endpoint as the attempt has found it. */
  readonly subscription: KeptSubscription
}

/** Writes what came of an attempt; back when it is stored. */
export type Write = (outcome: Outcome) => Effect.Effect<void, Refused>

type Refused = VersionConflict | LeaseLost | StorageUnavailable

interface Waiting {
  readonly outcome: Outcome
  readonly resume: (written: Effect.Effect<void, Refused>) => void
}

/** So many outcomes go into one change. */
const max_together = 32

/**
 * Writes outcomes: one at a time while an endpoint has one at a time, and else those together that came while another
 * write of the same endpoint was under way. Nobody ever waits for company.
 *
 * Each writes into the health of its endpoint, which is one record: side by side, all but one would lose the race. How many
 * wait is bounded by the lanes of the endpoint. An outcome whose caller gives up before it is sent is forgotten: its job
 * comes due again.
 */
export const make = Effect.fnUntraced(function* (storage: StorageService): Effect.fn.Return<Write, never, Scope.Scope> {
  // Writers are fibers of their own, so that nobody's end takes the outcomes of others with it.
  const run = yield* FiberSet.makeRuntime()
  const lines = new Map<string, Array<Waiting>>()

  const drain = (name: string, line: Array<Waiting>): Effect.Effect<void> =>
    Effect.gen(function* () {
      while (line.length > 0) {
        const batch = line.splice(0, max_together)
        yield* Effect.onInterrupt(writeAll(storage, batch), () => Effect.sync(() => answer(batch, Effect.interrupt)))
      }
    }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          lines.delete(name)
          answer(line, Effect.interrupt)
        })
      )
    )

  return (outcome) =>
    Effect.callback((resume) => {
      const name = `${outcome.job.workspace_id} ${outcome.subscription.id}`
      const waiting: Waiting = { outcome, resume }
      const line = lines.get(name)
      if (line === undefined) {
        const begun = [waiting]
        lines.set(name, begun)
        run(drain(name, begun))
      } else line.push(waiting)
      return Effect.sync(() => {
        const waits = lines.get(name) ?? []
        const place = waits.indexOf(waiting)
        if (place >= 0) waits.splice(place, 1)
      })
    })
})

const answer = (batch: ReadonlyArray<Waiting>, written: Effect.Effect<void, Refused>): void => {
  for (const { resume } of batch) resume(written)
}

/** Writes a batch as one change; where that is refused, each by itself, so that one does not fail its neighbours. */
const writeAll = Effect.fnUntraced(function* (storage: StorageService, batch: ReadonlyArray<Waiting>) {
  const together = yield* Effect.exit(
    conclude(
      storage,
      batch.map(({ outcome }) => outcome)
    )
  )
  if (!isWorthAnother(together, batch.length)) return answer(batch, together)
  for (const waiting of batch) answer([waiting], yield* Effect.exit(writeAlone(storage, waiting.outcome)))
})

/** A single outcome has only a conflict to gain from, several all that may be the fault of one. */
const isWorthAnother = (written: Exit.Exit<void, Refused>, together: number): boolean => {
  if (Exit.isSuccess(written)) return false
  const error = Exit.findErrorOption(written)
  if (error._tag === "None") return together > 1
  return error.value._tag === "VersionConflict" || (together > 1 && error.value._tag === "LeaseLost")
}

const again = { times: 100, while: (error: Refused) => error._tag === "VersionConflict" }

/** Writes an outcome over whatever stands there now: what has been sent is never sent again for somebody else's haste. */
const writeAlone = (storage: StorageService, outcome: Outcome): Effect.Effect<void, Refused> => {
  const { job, subscription, delivery } = outcome
  const once = Effect.gen(function* () {
    const found = yield* loadDelivery(storage, job.workspace_id, subscription.id, delivery.event_id)
    if (found !== null) return yield* conclude(storage, [{ ...outcome, delivery: found }])
    // A reset has erased it.
    yield* storage.commit(Change.make(job.workspace_id, { finishes: [job] }))
  })
  return Effect.retry(once, again)
}

/**
 * Writes outcomes of one endpoint as one change.
 *
 * Their deliveries are taken as the attempts have found them: the version rule tells if one is not so any more. Whether the
 * endpoint still receives is read anew, since no write says so.
 */
const conclude = Effect.fnUntraced(function* (storage: StorageService, outcomes: ReadonlyArray<Outcome>) {
  const [first] = outcomes
  if (first === undefined) return
  const { workspace_id } = first.job
  const { id } = first.subscription
  const [subscription, health] = yield* Effect.all(
    [loadSubscription(storage, workspace_id, id), loadHealth(storage, workspace_id, id)],
    { concurrency: 2 }
  )
  const endpoint = { subscription: subscription ?? first.subscription, health }
  const finishes = outcomes.map(({ job }) => job)
  yield* storage.commit(Change.make(workspace_id, { ...Conclusion.conclude(endpoint, outcomes), finishes }))
})
