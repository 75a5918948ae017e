import { Effect, Option } from "effect"
import type { Workspace } from "../access/Workspace.ts"
import { changeOf, type Moment, type Workspaces } from "../access/Workspaces.ts"
import * as Change from "../storage/Change.ts"
import type { Kind } from "../storage/Kind.ts"
import { commit, retryOnConflict } from "../storage/retryOnConflict.ts"
import type { Storage, StorageUnavailable } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"

/** What a call is to do. */
export interface Decision<A> {
  readonly value: A
  /** The workspace where the call changes it: stored in the same change, in the next version. */
  readonly workspace?: Workspace
  /** When the record was made, in milliseconds of workspace time. */
  readonly at: number
}

/**
 * Accepts a call once, under a name that stands for it: everyone who runs the call, on whatever host and at whatever time,
 * gets what was decided first.
 *
 * The decision is a record whose first version is written once. It stays when the call has ended: its host may have died
 * before the answer was kept, and another may have been paused before it began.
 */
export const acceptOnce = <A, R>(
  { storage, workspaces }: { readonly storage: Storage["Service"]; readonly workspaces: Workspaces["Service"] },
  kind: Kind<string, A>,
  { workspace_id, id }: { readonly workspace_id: WorkspaceId; readonly id: string },
  decide: (moment: Moment) => Effect.Effect<Decision<A>, StorageUnavailable, R>
): Effect.Effect<A, StorageUnavailable, R> =>
  retryOnConflict(
    Effect.gen(function* () {
      const stored = yield* storage.get({ workspace_id, kind: kind.name, id })
      if (Option.isSome(stored)) return kind.value(stored.value)
      const moment = yield* workspaces.moment(workspace_id)
      const { value, workspace, at } = yield* decide(moment)
      const record = kind.record(value, { id, version: 1, created_at: at, updated_at: at })
      const change =
        workspace === undefined
          ? Change.make(workspace_id, {})
          : changeOf({ ...workspace, version: moment.workspace.version + 1 })
      yield* commit(storage, { ...change, writes: [...change.writes, record] })
      return value
    })
  )
