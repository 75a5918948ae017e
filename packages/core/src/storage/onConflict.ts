import { Effect } from "effect"
import { VersionConflict } from "./Storage.ts"

const max_tries = 20

/** Decides again while somebody else was faster; bounded, since a conflict for ever is a defect. */
export const deciding = <A, E, R>(decision: Effect.Effect<A, E | VersionConflict, R>): Effect.Effect<A, E, R> =>
  decision.pipe(
    Effect.retry({ times: max_tries, while: (error) => error instanceof VersionConflict }),
    Effect.catch((error) => (error instanceof VersionConflict ? Effect.die(error) : Effect.fail(error)))
  )
