import { Effect } from "effect"
import type { Change } from "./Change.ts"
import { type Storage, type StorageUnavailable, VersionConflict } from "./Storage.ts"

/** Commits a change that finishes no job, and so cannot lose a lease. */
export const commit = (
  storage: Pick<Storage["Service"], "commit">,
  change: Change
): Effect.Effect<void, VersionConflict | StorageUnavailable> =>
  Effect.catchTag(storage.commit(change), "LeaseLost", (lost) => Effect.die(lost))

/**
 * How often a decision is retried. In every round one of the competing writers succeeds, so this is far more than any
 * crowd needs. A decision that still conflicts would conflict forever, which is a defect.
 */
const max_tries = 100

/** Runs a decision, and runs it again with the data stored by then while it conflicts. */
export const retryOnConflict = <A, E, R>(decision: Effect.Effect<A, E | VersionConflict, R>): Effect.Effect<A, E, R> =>
  // Most decisions succeed at once, so the schedule is only made for the others.
  onConflict(decision, () =>
    onConflict(Effect.retry(decision, { times: max_tries - 1, while: isConflict }), (conflict) => Effect.die(conflict))
  )

const isConflict = (error: unknown) => error instanceof VersionConflict

const onConflict = <A, E, R>(
  decision: Effect.Effect<A, E | VersionConflict, R>,
  then: (conflict: VersionConflict) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.catch(decision, (error) => (error instanceof VersionConflict ? then(error) : Effect.fail(error)))
