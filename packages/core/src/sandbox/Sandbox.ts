import { Clock, Context, Effect, Layer, Option } from "effect"
import type { Workspace } from "../access/Workspace.ts"
import { Workspaces } from "../access/Workspaces.ts"
import type { Call } from "../calls/Call.ts"
import { Revisions } from "../calls/Revisions.ts"
import { type LineSet, Lines } from "../lines/Lines.ts"
import * as Quote from "../quoting/Quote.ts"
import { deactivation, lineOf } from "../quoting/QuoteChange.ts"
import { Retention } from "../runner/Retention.ts"
import { Runner } from "../runner/Runner.ts"
import * as Change from "../storage/Change.ts"
import { eachPage } from "../storage/eachPage.ts"
import { commit, retryOnConflict } from "../storage/retryOnConflict.ts"
import { type Erased, Storage, type StorageUnavailable } from "../storage/Storage.ts"
import { type ReplayCode, replayEvents, tellings } from "../webhooks/deliveries/Replaying.ts"
import { restartSubscriptions } from "../webhooks/subscriptions/Restarting.ts"
import { Ids, type WorkspaceId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import * as Advance from "./Advance.ts"
import { type Control, type ControlResult, type SandboxWorkspace, viewOf } from "./SandboxViews.ts"

/** The controls of a sandbox workspace (api.md, Sandbox). */
export class Sandbox extends Context.Service<
  Sandbox,
  {
    readonly get: (call: Call) => Effect.Effect<Json.Json<SandboxWorkspace>, StorageUnavailable>
    /** Sets the outcome of the starts to come that name none. */
    readonly selectScenario: (
      call: Call,
      scenario: string
    ) => Effect.Effect<Json.Json<ControlResult>, StorageUnavailable>
    /**
     * Moves the workspace's clock, and returns when everything that fell due on the way has happened, in due order and
     * each at its own time: one long advance leaves the same feed as many short ones.
     */
    readonly advanceTime: (call: Call, seconds: number) => Effect.Effect<Json.Json<ControlResult>, StorageUnavailable>
    /** Lets every active quote expire now. */
    readonly forceExpiry: (call: Call) => Effect.Effect<Json.Json<ControlResult>, StorageUnavailable>
    /** Sends the recorded events to the subscriptions again, in one of five ways. */
    readonly replayEvents: (call: Call, code: ReplayCode) => Effect.Effect<Json.Json<ControlResult>, StorageUnavailable>
    /** Removes all data, turns the clock back to real time and voids the feed's cursors. */
    readonly reset: (call: Call) => Effect.Effect<Json.Json<ControlResult>, StorageUnavailable>
  }
>()("@quotewire/core/Sandbox") {
  static readonly layer: Layer.Layer<Sandbox, never, Storage | Workspaces | Runner | Retention | Revisions | Ids> =
    Layer.effect(
      Sandbox,
      Effect.gen(function* () {
        const storage = yield* Storage
        const workspaces = yield* Workspaces
        const runner = yield* Runner
        const retention = yield* Retention
        const revisions = yield* Revisions
        const ids = yield* Ids
        const lines = yield* Lines

        const answer = (
          control: Control,
          workspace: Workspace,
          more: Partial<Pick<ControlResult, "removed" | "replay">> = {}
        ) =>
          Effect.map(Clock.currentTimeMillis, (real_now) =>
            Json.encode<ControlResult>({
              control,
              workspace: viewOf(workspace, real_now),
              replay: null,
              removed: null,
              ...more
            })
          )

        const replay = Effect.fnUntraced(function* (call: Call, code: ReplayCode) {
          const { workspace, now } = yield* workspaces.moment(call.caller.workspace_id)
          const deliveries = yield* replayEvents({ storage, revisions }, workspace.id, code, now)
          const { notice, recovery } = tellings[code]
          return yield* answer("replay_events", workspace, {
            replay: { id: ids.replay(), scenarioCode: code, notice, recovery, deliveries }
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
          const id = call.caller.workspace_id
          const name = Advance.idOf(call.idempotency_key, seconds)
          const goal = yield* retryOnConflict(Advance.accept({ storage, workspaces }, id, name, seconds))
          while (true) {
            const { workspace: seen } = yield* workspaces.moment(id)
            const { next_due_at } = yield* runner.runDue(id)
            if (Advance.isOver(seen, goal)) break
            const real_now = yield* Clock.currentTimeMillis
            yield* workspaces.update(id, ({ workspace }) =>
              Advance.movedOn(workspace, seen, goal, next_due_at, real_now)
            )
          }
          yield* retention.sweep(id)
          const { workspace } = yield* workspaces.moment(id)
          return yield* answer("advance_time", workspace)
        })

        const forceExpiry = Effect.fnUntraced(function* (call: Call) {
          const workspace_id = call.caller.workspace_id
          const { now } = yield* workspaces.moment(workspace_id)
          yield* expireQuotes(storage, ids, lines, workspace_id, now)
          const saved = yield* workspaces.update(workspace_id, ({ workspace }) => ({
            ...workspace,
            quotes_expired_at: now
          }))
          return yield* answer("force_expiry", saved)
        })

        const reset = Effect.fnUntraced(function* (call: Call) {
          const saved = yield* workspaces.update(call.caller.workspace_id, ({ workspace }) => emptied(workspace))
          const erased = yield* storage.erase({ what: "workspace", workspace_id: saved.id })
          yield* restartSubscriptions(storage, saved.id, yield* Clock.currentTimeMillis)
          return yield* answer("reset", saved, { removed: removedOf(erased) })
        })

        return Sandbox.of({
          get: (call) =>
            Effect.map(Clock.currentTimeMillis, (real_now) => Json.encode(viewOf(call.moment.workspace, real_now))),
          selectScenario,
          advanceTime,
          forceExpiry,
          replayEvents: replay,
          reset
        })
      })
    )
}

/** Takes every active quote out of offer. */
const expireQuotes = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  ids: Ids["Service"],
  lines: LineSet,
  workspace_id: WorkspaceId,
  now: number
) {
  /** Takes one quote out of offer, if it still is: somebody may have been faster. */
  const expire = Effect.fnUntraced(function* (id: string) {
    const quote = yield* storage.get({ workspace_id, kind: Quote.kind.name, id })
    if (Option.isNone(quote) || quote.value.status !== "active") return
    const change = Change.make(workspace_id, deactivation(ids, lineOf(lines, quote.value), quote.value, "expired", now))
    yield* commit(storage, change)
  })
  yield* eachPage(
    storage,
    { workspace_id, kind: Quote.kind.name, status: "active", order: "oldest", limit: 100 },
    (page) => Effect.forEach(page, ({ id }) => retryOnConflict(expire(id)), { discard: true })
  )
})

const emptied = (workspace: Workspace): Workspace => ({
  ...workspace,
  clock_offset_ms: 0,
  clock_target_ms: 0,
  active_scenario: null,
  quotes_expired_at: null,
  reset_count: workspace.reset_count + 1
})

const removedOf = (erased: Erased): ControlResult["removed"] => ({
  quote_requests: erased.records.quote_request ?? 0,
  quotes: erased.records.quote ?? 0,
  events: erased.events,
  deliveries: erased.records.delivery ?? 0,
  scheduled: erased.jobs
})
