import { Context, Effect, Layer, Option } from "effect"
import * as Organization from "../access/Organization.ts"
import type { Workspace } from "../access/Workspace.ts"
import { Workspaces } from "../access/Workspaces.ts"
import { BoundedMap } from "../concurrency/BoundedMap.ts"
import * as Change from "../storage/Change.ts"
import { commit, directoryWorkspace, retryOnConflict, Storage, type StorageUnavailable } from "../storage/Storage.ts"
import type { ApiError } from "../wire/ApiError.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import * as Pin from "./Pin.ts"
import * as Revision from "./Revision.ts"
import { ServedRevisions } from "./ServedRevisions.ts"

/**
 * How a call selects its revision.
 *
 * A REST call passes its `Service-Version`, or null if it sent none; then the pin decides. `current` is for hosts that
 * always answer in the newest revision. They neither read nor store a pin (api.md, Versioning 6).
 */
export type AskedRevision = { readonly header: string | null } | "current"

/** Chooses the revision of calls and of webhooks, and keeps the pin of each workspace (api.md, Versioning 2 and 3). */
export class Revisions extends Context.Service<
  Revisions,
  {
    /** The newest revision. */
    readonly current: Revision.Revision
    /** The revision that a call asks for, otherwise the pinned one; null if none is pinned yet. */
    readonly choose: (
      asked: AskedRevision,
      workspace_id: WorkspaceId
    ) => Effect.Effect<Revision.Revision | null, ApiError<"invalid_version"> | StorageUnavailable>
    /**
     * The pinned revision of a workspace. If there is none, pins one: the current revision, or in live that of the sandbox
     * if it has one. While storage cannot store the pin, the current revision is used.
     */
    readonly pin: (workspace_id: WorkspaceId) => Effect.Effect<Revision.Revision, StorageUnavailable>
  }
>()("@quotewire/core/Revisions") {
  static readonly layer: Layer.Layer<Revisions, never, Storage | Workspaces> = Layer.effect(
    Revisions,
    Effect.gen(function* () {
      const served = yield* ServedRevisions
      const storage = yield* Storage
      const workspaces = yield* Workspaces
      // A pin never changes, so it is cached forever.
      const pins = new BoundedMap<WorkspaceId, string>(max_pins)
      const remember = (workspace_id: WorkspaceId, date: string) => pins.set(workspace_id, date)

      const pinned = (workspace_id: WorkspaceId): Effect.Effect<string | null, StorageUnavailable> => {
        const known = pins.get(workspace_id)
        if (known !== undefined) return Effect.succeed(known)
        return Effect.map(storage.get({ workspace_id, kind: Pin.kind.name, id: workspace_id }), (stored) => {
          if (Option.isNone(stored)) return null
          const { revision } = Pin.kind.value(stored.value)
          remember(workspace_id, revision)
          return revision
        })
      }

      /** The revision that a workspace's first pin gets. */
      const firstPin = Effect.fnUntraced(function* ({ environment, organization_id }: Workspace) {
        if (environment === "sandbox") return served[0].date
        const stored = yield* storage.get({
          workspace_id: directoryWorkspace,
          kind: Organization.kind.name,
          id: organization_id
        })
        if (Option.isNone(stored)) return served[0].date
        const { workspaces } = Organization.kind.value(stored.value)
        return (yield* pinned(workspaces.sandbox)) ?? served[0].date
      })

      const pin = Effect.fnUntraced(function* (workspace_id: WorkspaceId) {
        const known = yield* pinned(workspace_id)
        if (known !== null) return Revision.nearest(served, known)
        const { workspace, now } = yield* workspaces.moment(workspace_id)
        const revision = yield* firstPin(workspace)
        const record = Pin.kind.record({ revision }, { id: workspace_id, version: 1, created_at: now, updated_at: now })
        const change = Change.make(workspace_id, { writes: [record] })
        const isStored = yield* commit(storage, change).pipe(
          Effect.as(true),
          Effect.catchTag("StorageUnavailable", () => Effect.succeed(false))
        )
        if (!isStored) return served[0]
        remember(workspace_id, revision)
        return Revision.nearest(served, revision)
      })

      return Revisions.of({
        current: served[0],
        choose: (asked, workspace_id) => {
          if (asked === "current") return Effect.succeed(served[0])
          if (asked.header !== null) return Effect.fromResult(Revision.find(served, asked.header))
          return Effect.map(pinned(workspace_id), (pin) => (pin === null ? null : Revision.nearest(served, pin)))
        },
        // If another host pins first, the retry finds its pin.
        pin: (workspace_id) => retryOnConflict(pin(workspace_id))
      })
    })
  )
}

const max_pins = 10_000
