import { Effect } from "effect"
import { VersionConflict } from "./Storage.ts"

const max_tries = 20

/** Decides again while somebody else was faster; bounded, since a conflict for ever is a defect. */
export const deciding = <A, E, R>(
  decision: Effect.Effect<A, E | VersionConflict, R>,
  tries = max_tries
): Effect.Effect<A, E, R> =>
  Effect.catch(decision, (error) => {
    if (!(error instanceof VersionConflict)) return Effect.fail(error)
    return tries > 0 ? deciding(decision, tries - 1) : Effect.die(error)
  })
