import { Clock, Context, Effect, Layer, Option } from "effect"
import { BoundedMap } from "../concurrency/BoundedMap.ts"
import * as Change from "../storage/Change.ts"
import { commit, retryOnConflict, Storage, type StorageUnavailable } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import { kind, timeOf, type Workspace } from "./Workspace.ts"

/** A workspace, and its time at the moment of a call, in milliseconds. */
export interface Moment {
  readonly workspace: Workspace
  readonly now: number
}

/** Reads and updates workspaces. */
export class Workspaces extends Context.Service<
  Workspaces,
  {
    /**
     * The workspace and its time now. A workspace that a key names must exist; its absence is a defect. A live workspace
     * never changes, so it is cached.
     */
    readonly moment: (id: WorkspaceId) => Effect.Effect<Moment, StorageUnavailable>
    /** The same from a cache that may be outdated. A change that is decided with it must expect `expectationsOf`. */
    readonly cached: (id: WorkspaceId) => Effect.Effect<Moment, StorageUnavailable>
    /** Reads, decides and saves, retrying on conflict. Saves nothing if nothing changes. */
    readonly update: (
      id: WorkspaceId,
      change: (moment: Moment) => Omit<Workspace, "id" | "version">
    ) => Effect.Effect<Workspace, StorageUnavailable>
  }
>()("@quotewire/core/Workspaces") {
  static readonly layer: Layer.Layer<Workspaces, never, Storage> = Layer.effect(
    Workspaces,
    Effect.gen(function* () {
      const storage = yield* Storage
      const clock = yield* Clock.Clock
      const cache = new BoundedMap<string, Workspace>(max_cached)
      const store = (workspace: Workspace) => cache.set(workspace.id, workspace)
      const at = (workspace: Workspace): Moment => ({
        workspace,
        now: timeOf(workspace, clock.currentTimeMillisUnsafe())
      })

      const read = (id: WorkspaceId) =>
        Effect.flatMap(storage.get({ workspace_id: id, kind: kind.name, id }), (record) => {
          if (Option.isNone(record)) return Effect.die(`Workspace ${id} is not in storage`)
          const before = cache.get(id)
          if (before !== undefined && before.version === record.value.version) return Effect.succeed(at(before))
          const workspace = kind.value(record.value)
          store(workspace)
          return Effect.succeed(at(workspace))
        })

      const cached = (id: WorkspaceId) => {
        const workspace = cache.get(id)
        return workspace === undefined ? read(id) : Effect.sync(() => at(workspace))
      }

      const moment = (id: WorkspaceId) => (cache.get(id)?.environment === "live" ? cached(id) : read(id))

      const save = (before: Workspace, after: Omit<Workspace, "id" | "version">) => {
        const workspace: Workspace = { ...after, id: before.id, version: before.version + 1 }
        return Effect.map(commit(storage, changeOf(workspace)), () => {
          store(workspace)
          return workspace
        })
      }

      const update = (id: WorkspaceId, change: (moment: Moment) => Omit<Workspace, "id" | "version">) =>
        retryOnConflict(
          Effect.flatMap(read(id), (now) => {
            const after = change(now)
            return after === now.workspace ? Effect.succeed(now.workspace) : save(now.workspace, after)
          })
        )

      return Workspaces.of({ moment, cached, update })
    })
  )
}

const max_cached = 10_000

/** What a change that was decided at a moment must expect: an unchanged workspace. A live one never changes. */
export const expectationsOf = ({
  workspace: { id, version, environment }
}: Moment): ReadonlyArray<Change.Expectation> => (environment === "live" ? [] : [{ kind: kind.name, id, version }])

/** The change that stores a version of a workspace and, if its clock has changed, moves its jobs. */
export const changeOf = (workspace: Workspace): Change.Change =>
  Change.make(workspace.id, {
    writes: [
      kind.record(workspace, {
        id: workspace.id,
        version: workspace.version,
        created_at: workspace.created_at,
        updated_at: workspace.created_at
      })
    ],
    clock_offset_ms: workspace.clock_offset_ms
  })
