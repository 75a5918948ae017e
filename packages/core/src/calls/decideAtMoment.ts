import { Effect } from "effect"
import type { Workspaces } from "../access/Workspaces.ts"
import { retryOnConflict, type StorageUnavailable, VersionConflict } from "../storage/Storage.ts"
import type { Call } from "./Call.ts"

/** Decides a call at the moment when the call arrived. If that conflicts, decides again at the current moment. */
export const decideAtMoment = <A, E, R>(
  workspaces: Workspaces["Service"],
  call: Call,
  decide: (call: Call) => Effect.Effect<A, E | VersionConflict, R>
): Effect.Effect<A, E | StorageUnavailable, R> =>
  Effect.catch(decide(call), (error) =>
    error instanceof VersionConflict
      ? retryOnConflict(
          Effect.flatMap(workspaces.moment(call.caller.workspace_id), (moment) => decide({ ...call, moment }))
        )
      : Effect.fail(error)
  )
