import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { BoundedMap } from "../concurrency/BoundedMap.ts"
import * as Change from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import { commit, retryOnConflict, Storage, type StorageUnavailable, type VersionConflict } from "../storage/Storage.ts"
import { OrganizationId, WorkspaceId } from "../wire/Ids.ts"
import { minuteMs } from "../wire/Timestamp.ts"
import { Environment } from "./Caller.ts"

/**
 * One organization in one environment: the unit of isolation. Everything is looked up inside the caller's workspace.
 */
export const Workspace = Schema.Struct({
  id: WorkspaceId,
  version: Schema.Int,
  organization_id: OrganizationId,
  environment: Environment,
  created_at: Schema.Int.annotate({ description: "Milliseconds of real time" }),
  /** The difference between workspace time and real time, in milliseconds; 0 in the live environment. */
  clock_offset_ms: Schema.Int,
  /** The offset that the clock advances to; equal to `clock_offset_ms` when no advance is in progress. */
  clock_target_ms: Schema.Int,
  clock_moved_at: Schema.Int.annotate({
    description: "Milliseconds of real time: when an advance last began, or took a step"
  }),
  active_scenario: Schema.NullOr(Schema.String),
  quotes_expired_at: Schema.NullOr(Schema.Int),
  reset_count: Schema.Int,
  /** How many resets have finished erasing data; equal to `reset_count` unless a reset is in progress. */
  erased_count: Schema.Int
})
export type Workspace = typeof Workspace.Type

/** The record kind for workspaces, keyed by ID. */
export const kind = Kind.make({ name: "workspace", schema: Workspace, survives_reset: true })

/** Makes a new workspace. */
export const create = (
  id: WorkspaceId,
  organization_id: OrganizationId,
  environment: Environment,
  created_at: number
): Workspace => ({
  id,
  version: 1,
  organization_id,
  environment,
  created_at,
  clock_offset_ms: 0,
  clock_target_ms: 0,
  clock_moved_at: created_at,
  active_scenario: null,
  quotes_expired_at: null,
  reset_count: 0,
  erased_count: 0
})

/** Workspace time at a moment of real time. Both are in milliseconds. */
export const timeOf = (workspace: Workspace, realNow: number): number => realNow + workspace.clock_offset_ms

/** The workspace with its clock's target moved forward. Concurrent advances add up. */
export const withLaterTarget = (workspace: Workspace, seconds: number, realNow: number): Workspace => ({
  ...workspace,
  clock_target_ms: workspace.clock_target_ms + seconds * 1_000,
  clock_moved_at: realNow
})

/**
 * If an advance takes no step for this long, it is considered abandoned. This is longer than a lease, because a host
 * that dies can delay a step for a whole lease.
 */
const givenUpAfterMs = minuteMs

/** How far the clock still has to advance, in milliseconds; 0 if the advance was abandoned. */
export const remainingAdvance = (workspace: Workspace, realNow: number): number => {
  const { clock_moved_at, clock_offset_ms, clock_target_ms } = workspace
  return realNow - clock_moved_at > givenUpAfterMs ? 0 : Math.max(0, clock_target_ms - clock_offset_ms)
}

/** A workspace and its workspace time at one moment, in milliseconds. */
export interface Moment {
  readonly workspace: Workspace
  readonly now: number
}

/** Reads and updates workspaces. */
export class Workspaces extends Context.Service<
  Workspaces,
  {
    /**
     * Returns the workspace and its current time. Dies if the workspace does not exist, because a key always belongs to
     * an existing workspace. Live workspaces never change, so they are cached.
     */
    readonly moment: (id: WorkspaceId) => Effect.Effect<Moment, StorageUnavailable>
    /**
     * Like `moment`, but from a cache that may be stale. A change decided at this moment must include
     * `expectationsOf(moment)` in its `expects`.
     */
    readonly cached: (id: WorkspaceId) => Effect.Effect<Moment, StorageUnavailable>
    /**
     * Reads a workspace, decides its change and saves it, and repeats this after a conflict. Saves nothing if nothing
     * changes.
     */
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
      const cache = new BoundedMap<string, Workspace>(maxCached)
      const store = (workspace: Workspace) => cache.set(workspace.id, workspace)
      const momentIn = (workspace: Workspace): Moment => ({
        workspace,
        now: timeOf(workspace, clock.currentTimeMillisUnsafe())
      })

      const read = (id: WorkspaceId) =>
        Effect.flatMap(storage.get({ workspace_id: id, kind: kind.name, id }), (record) => {
          if (Option.isNone(record)) return Effect.die(new Error(`Workspace ${id} is not in storage`))
          const cachedWorkspace = cache.get(id)
          if (cachedWorkspace !== undefined && cachedWorkspace.version === record.value.version)
            return Effect.succeed(momentIn(cachedWorkspace))
          const workspace = kind.value(record.value)
          store(workspace)
          return Effect.succeed(momentIn(workspace))
        })

      const cached = (id: WorkspaceId) => {
        const workspace = cache.get(id)
        return workspace === undefined ? read(id) : Effect.sync(() => momentIn(workspace))
      }

      const moment = (id: WorkspaceId) => (cache.get(id)?.environment === "live" ? cached(id) : read(id))

      const save = (previous: Workspace, changes: Omit<Workspace, "id" | "version">) => {
        const workspace: Workspace = { ...changes, id: previous.id, version: previous.version + 1 }
        return Effect.map(commit(storage, changeOf(workspace)), () => {
          store(workspace)
          return workspace
        })
      }

      const update = (id: WorkspaceId, change: (moment: Moment) => Omit<Workspace, "id" | "version">) =>
        retryOnConflict(
          Effect.flatMap(read(id), (now) => {
            const changed = change(now)
            return changed === now.workspace ? Effect.succeed(now.workspace) : save(now.workspace, changed)
          })
        )

      return Workspaces.of({ moment, cached, update })
    })
  )
}

const maxCached = 10_000

/**
 * The expectations for a change that was decided at this moment: the workspace must not have changed. Empty for a live
 * workspace, because live workspaces never change.
 */
export const expectationsOf = ({
  workspace: { id, version, environment }
}: Moment): ReadonlyArray<Change.Expectation> => (environment === "live" ? [] : [{ kind: kind.name, id, version }])

/** How many times `commitAt` retries because the clock has advanced. */
const maxAdvances = 100

/**
 * Stores a decision that was made at an earlier moment. Conflicts if the sandbox has been reset since then, because a
 * reset also resets its clock. An advance of the clock since then does not conflict, because the decision came first.
 */
export const commitAt = Effect.fnUntraced(function* (
  on: { readonly storage: Storage["Service"]; readonly workspaces: Workspaces["Service"] },
  moment: Moment,
  parts: Partial<Omit<Change.Change, "workspace_id">>
): Effect.fn.Return<void, VersionConflict | StorageUnavailable> {
  let { workspace } = moment
  for (let advances = 0; ; advances++) {
    const expects = [...(parts.expects ?? []), ...expectationsOf({ ...moment, workspace })]
    const conflict = yield* commit(on.storage, Change.make(workspace.id, { ...parts, expects })).pipe(
      Effect.as(null),
      Effect.catchTag("VersionConflict", (error) => Effect.succeed(error))
    )
    if (conflict === null) return
    if (conflict.kind !== kind.name || advances === maxAdvances) return yield* conflict
    const now = yield* on.workspaces.moment(workspace.id)
    if (now.workspace.reset_count !== workspace.reset_count) return yield* conflict
    workspace = now.workspace
  }
})

/** Makes the change that stores a version of a workspace and, if its clock has changed, moves its jobs. */
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
