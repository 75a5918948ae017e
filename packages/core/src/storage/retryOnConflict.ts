import { Effect } from "effect"
import type { Change } from "./Change.ts"
import { type Storage, type StorageUnavailable, VersionConflict } from "./Storage.ts"

/** Stores a change that is the outcome of no job, and so has no lease to lose. */
export const commit = (
  storage: Pick<Storage["Service"], "commit">,
  change: Change
): Effect.Effect<void, VersionConflict | StorageUnavailable> =>
  Effect.catchTag(storage.commit(change), "LeaseLost", (lost) => Effect.die(lost))

/**
 * How often a decision is made again. Somebody else has written the same record each time: one of all who decide at once
 * is through in every round, so that this is more than a crowd needs, and who still fails goes round for ever: a defect.
 */
const max_tries = 100

/** Decides again, from what is stored then, while somebody else was faster in writing. */
export const retryOnConflict = <A, E, R>(decision: Effect.Effect<A, E | VersionConflict, R>): Effect.Effect<A, E, R> =>
  // Most decide once: the schedule of the tries is made for the others only.
  onConflict(decision, () =>
    onConflict(Effect.retry(decision, { times: max_tries - 1, while: isConflict }), (conflict) => Effect.die(conflict))
  )

const isConflict = (error: unknown) => error instanceof VersionConflict

const onConflict = <A, E, R>(
  decision: Effect.Effect<A, E | VersionConflict, R>,
  then: (conflict: VersionConflict) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.catch(decision, (error) => (error instanceof VersionConflict ? then(error) : Effect.fail(error)))
