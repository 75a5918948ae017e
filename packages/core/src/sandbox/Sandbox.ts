import { Clock, Context, Effect, Layer } from "effect"
import { timeOf, type Workspace, Workspaces } from "../access/Workspaces.ts"
import type { Call } from "../calls/Call.ts"
import type { Revisions } from "../calls/Revision.ts"
import type { Retention } from "../runner/Retention.ts"
import type { Runner } from "../runner/Runner.ts"
import { type Erased, Storage, type StorageUnavailable } from "../storage/Storage.ts"
import { descriptions, type ReplayCode } from "../webhooks/deliveries/EventReplay.ts"
import * as EventReplays from "../webhooks/deliveries/EventReplays.ts"
import type * as ApiError from "../wire/ApiError.ts"
import type { Ids } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import * as Advancing from "./Advancing.ts"
import * as ForcedExpiry from "./ForcedExpiry.ts"
import * as NextDue from "./NextDue.ts"
import * as Reset from "./Reset.ts"
import { type Control, type ControlResult, type SandboxWorkspace, viewOf } from "./SandboxViews.ts"

/** The controls of a sandbox workspace (api.md, Sandbox). */
export class Sandbox extends Context.Service<
  Sandbox,
  {
    readonly get: (call: Call) => Effect.Effect<Json.Json<SandboxWorkspace>, StorageUnavailable>
    /** Sets the default scenario for later starts. */
    readonly selectScenario: (
      call: Call,
      scenario: string
    ) => Effect.Effect<Json.Json<ControlResult>, StorageUnavailable>
    /**
     * Advances the workspace's clock, and returns once every job that came due has run, in order and at its due time.
     * One long advance results in the same feed as many short advances.
     *
     * Refuses with `conflict` (`wait`) if the advance takes too long. A retried call continues where the first call
     * stopped.
     */
    readonly advanceTime: (
      call: Call,
      seconds: number
    ) => Effect.Effect<Json.Json<ControlResult>, ApiError.ApiError<"conflict"> | StorageUnavailable>
    /** Expires all active quotes. */
    readonly forceExpiry: (call: Call) => Effect.Effect<Json.Json<ControlResult>, StorageUnavailable>
    /** Resends the recorded events to the subscriptions, in one of five ways. */
    readonly replayEvents: (call: Call, code: ReplayCode) => Effect.Effect<Json.Json<ControlResult>, StorageUnavailable>
    /** Removes all data, sets the clock back to real time, and invalidates the feed's cursors. */
    readonly reset: (call: Call) => Effect.Effect<Json.Json<ControlResult>, StorageUnavailable>
  }
>()("@quotewire/core/Sandbox") {
  static readonly layer: Layer.Layer<Sandbox, never, Storage | Workspaces | Runner | Retention | Revisions | Ids> =
    Layer.effect(
      Sandbox,
      Effect.gen(function* () {
        const storage = yield* Storage
        const workspaces = yield* Workspaces
        const advance = yield* Advancing.make
        const forcedExpiry = yield* ForcedExpiry.make
        const resets = yield* Reset.make
        const replay = yield* EventReplays.make

        const view = Effect.fnUntraced(function* (workspace: Workspace) {
          const realNow = yield* Clock.currentTimeMillis
          return viewOf(workspace, realNow, yield* NextDue.find(storage, workspace.id, timeOf(workspace, realNow)))
        })

        const answer = (
          control: Control,
          workspace: Workspace,
          extraFields: Partial<Pick<ControlResult, "removed" | "replay">> = {}
        ) =>
          Effect.map(view(workspace), (sandbox) =>
            Json.encode<ControlResult>({ control, workspace: sandbox, replay: null, removed: null, ...extraFields })
          )

        const replayEvents = Effect.fnUntraced(function* (call: Call, code: ReplayCode) {
          const workspaceId = call.caller.workspace_id
          const { id, deliveries } = yield* replay(workspaceId, code, call.idempotency_key)
          const { workspace } = yield* workspaces.moment(workspaceId)
          const { notice, recovery } = descriptions[code]
          return yield* answer("replay_events", workspace, {
            replay: { id, scenarioCode: code, notice, recovery, deliveries }
          })
        })

        const selectScenario = Effect.fnUntraced(function* (call: Call, scenario: string) {
          const saved = yield* workspaces.update(call.caller.workspace_id, ({ workspace }) => ({
            ...workspace,
            active_scenario: scenario
          }))
          return yield* answer("select_scenario", saved)
        })

        const advanceTime = Effect.fnUntraced(function* (call: Call, seconds: number) {
          return yield* answer("advance_time", yield* advance(call.caller.workspace_id, call.idempotency_key, seconds))
        })

        const forceExpiry = Effect.fnUntraced(function* (call: Call) {
          const workspaceId = call.caller.workspace_id
          const expiry = yield* forcedExpiry.accept(workspaceId, call.idempotency_key)
          yield* forcedExpiry.expireQuotes(workspaceId, expiry)
          const { workspace } = yield* workspaces.moment(workspaceId)
          return yield* answer("force_expiry", workspace)
        })

        const reset = Effect.fnUntraced(function* (call: Call) {
          const workspaceId = call.caller.workspace_id
          const accepted = yield* resets.accept(workspaceId, call.idempotency_key)
          const erased = yield* resets.finish(workspaceId, accepted)
          const { workspace } = yield* workspaces.moment(workspaceId)
          return yield* answer("reset", workspace, { removed: removedOf(erased) })
        })

        return Sandbox.of({
          get: (call) => Effect.map(view(call.moment.workspace), (sandbox) => Json.encode(sandbox)),
          selectScenario,
          advanceTime,
          forceExpiry,
          replayEvents,
          reset
        })
      })
    )
}

const removedOf = (erased: Erased): ControlResult["removed"] => ({
  quote_requests: erased.records.quote_request ?? 0,
  quotes: erased.records.quote ?? 0,
  events: erased.events,
  deliveries: erased.records.delivery ?? 0,
  scheduled: erased.jobs
})
