import { Effect } from "effect"
import { changeOf, expectationsOf, type Moment, type Workspace, type Workspaces } from "../access/Workspaces.ts"
import * as Change from "../storage/Change.ts"
import type { Kind } from "../storage/Kind.ts"
import { commit, readOne, retryOnConflict, type Storage, type StorageUnavailable } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"

/** The decision on a call. */
export interface Decision<A> {
  readonly value: A
  /**
   * The changed workspace, if the call changes it. The change that stores the decision also stores this as the
   * workspace's next version.
   */
  readonly workspace?: Workspace
  /** When the decision was made, in milliseconds of workspace time. */
  readonly at: number
}

/**
 * Accepts a call once, under an ID derived from the call. If the call runs again, on any host and at any time, it gets
 * the first decision.
 *
 * The decision is a record, whose first version can be written only once. The record outlives the call, because the
 * host may die before it stores the response, and another host may then run the same call.
 */
export const acceptOnce = <A, R>(
  { storage, workspaces }: { readonly storage: Storage["Service"]; readonly workspaces: Workspaces["Service"] },
  kind: Kind<string, A>,
  { workspace_id, id }: { readonly workspace_id: WorkspaceId; readonly id: string },
  decide: (moment: Moment) => Effect.Effect<Decision<A>, StorageUnavailable, R>
): Effect.Effect<A, StorageUnavailable, R> =>
  retryOnConflict(
    Effect.gen(function* () {
      const accepted = yield* readOne(storage, kind, workspace_id, id)
      if (accepted !== null) return accepted
      const moment = yield* workspaces.moment(workspace_id)
      const { value, workspace, at } = yield* decide(moment)
      const record = kind.record(value, { id, version: 1, created_at: at, updated_at: at })
      const change =
        workspace === undefined
          ? Change.make(workspace_id, { expects: expectationsOf(moment) })
          : changeOf({ ...workspace, version: moment.workspace.version + 1 })
      yield* commit(storage, { ...change, writes: [...change.writes, record] })
      return value
    })
  )
