import { Clock, Context, Effect, Layer, Option } from "effect"
import type { WorkspaceId } from "../Ids.ts"
import * as Json from "../Json.ts"
import { keepNewest } from "../keepNewest.ts"
import * as Change from "../storage/Change.ts"
import { commit, deciding } from "../storage/deciding.ts"
import { Storage, type StorageUnavailable } from "../storage/Storage.ts"
import type { Workspace } from "./Workspace.ts"

/** A workspace and its time at the moment of a call, in milliseconds. */
export interface Moment {
  readonly workspace: Workspace
  readonly now: number
}

/** Reads and changes workspaces, and tells their time. */
export class Workspaces extends Context.Service<
  Workspaces,
  {
    /** The workspace and its time now. A workspace that a key names exists; its absence is a defect. */
    readonly moment: (id: WorkspaceId) => Effect.Effect<Moment, StorageUnavailable>
    /** The time of a workspace now. A live one has real time for ever, so it is looked up once. */
    readonly now: (id: WorkspaceId) => Effect.Effect<number, StorageUnavailable>
    /** Reads, decides and saves, again while others are faster. */
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
      const decoded = new Map<string, { readonly version: number; readonly workspace: Workspace }>()

      const load = (record: Change.StoredRecord): Workspace => {
        const known = decoded.get(record.id)
        if (known !== undefined && known.version === record.version) return known.workspace
        const workspace = Json.decode(Json.fromText<Workspace>(record.body))
        keepNewest(decoded, max_decoded, record.id, { version: record.version, workspace })
        return workspace
      }

      const moment = (id: WorkspaceId) =>
        Effect.flatMap(storage.get({ workspace_id: id, kind: "workspace", id }), (record) => {
          if (Option.isNone(record)) return Effect.die(`Workspace ${id} is not in storage`)
          const workspace = load(record.value)
          return Effect.succeed({ workspace, now: clock.currentTimeMillisUnsafe() + workspace.clock_offset_ms })
        })

      const live = new Set<WorkspaceId>()
      const now = (id: WorkspaceId) => {
        if (live.has(id)) return Clock.currentTimeMillis
        return Effect.map(moment(id), (found) => {
          if (live.size >= max_decoded) live.clear()
          if (found.workspace.environment === "live") live.add(id)
          return found.now
        })
      }

      const save = (before: Workspace, after: Omit<Workspace, "id" | "version">) => {
        const workspace: Workspace = { ...after, id: before.id, version: before.version + 1 }
        return Effect.as(commit(storage, changeOf(workspace)), workspace)
      }

      const update = (id: WorkspaceId, change: (moment: Moment) => Omit<Workspace, "id" | "version">) =>
        deciding(Effect.flatMap(moment(id), (now) => save(now.workspace, change(now))))

      return Workspaces.of({ moment, now, update })
    })
  )
}

const max_decoded = 10_000

/** The change that stores a version of a workspace, and moves its clock where that has changed. */
export const changeOf = (workspace: Workspace): Change.Change =>
  Change.make(workspace.id, {
    writes: [
      Change.record({
        kind: "workspace",
        id: workspace.id,
        version: workspace.version,
        body: JSON.stringify(workspace),
        created_at: workspace.created_at,
        updated_at: workspace.created_at
      })
    ],
    clock_offset_ms: workspace.clock_offset_ms
  })
