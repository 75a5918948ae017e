import { Effect, Option, Schema } from "effect"
import type { Workspaces } from "../access/Workspaces.ts"
import { acceptOnce } from "../calls/acceptOnce.ts"
import type { LineSet } from "../lines/Lines.ts"
import * as Quote from "../quoting/Quote.ts"
import { deactivation, lineOf } from "../quoting/QuoteChange.ts"
import * as Change from "../storage/Change.ts"
import { eachPage } from "../storage/eachPage.ts"
import * as Kind from "../storage/Kind.ts"
import { commit, retryOnConflict } from "../storage/retryOnConflict.ts"
import type { Storage } from "../storage/Storage.ts"
import type { Ids, WorkspaceId } from "../wire/Ids.ts"

/** When quotes must expire, in milliseconds of workspace time. A reset voids it. */
export const ForcedExpiry = Schema.Struct({ at: Schema.Int, reset_count: Schema.Int })
export type ForcedExpiry = typeof ForcedExpiry.Type

/** Forced expiries in storage, by the keys of their calls. */
export const kind = Kind.make({
  name: "forced_expiry",
  schema: ForcedExpiry,
  survives_reset: true,
  kept_for: { period: "quotes", clock: "workspace" }
})

/** The services that a forced expiry needs. */
export interface Services {
  readonly storage: Storage["Service"]
  readonly workspaces: Workspaces["Service"]
  readonly ids: Ids["Service"]
  readonly lines: LineSet
}

/** Accepts a forced expiry of the quotes that exist now. */
export const accept = (services: Services, workspace_id: WorkspaceId, key: string | null) =>
  acceptOnce(services, kind, { workspace_id, id: `${key}` }, ({ workspace, now: at }) =>
    Effect.succeed({
      value: { at, reset_count: workspace.reset_count },
      workspace: { ...workspace, quotes_expired_at: at },
      at
    })
  )

/** Expires every quote that was active when the expiry was accepted. */
export const expireQuotes = (services: Services, workspace_id: WorkspaceId, expiry: ForcedExpiry) =>
  eachPage(
    services.storage,
    { workspace_id, kind: Quote.kind.name, status: "active", order: "oldest", limit: 100 },
    (page) =>
      Effect.forEach(page, ({ id }) => retryOnConflict(expire(services, workspace_id, id, expiry)), { discard: true })
  )

/** Expires one quote, unless it changed meanwhile. */
const expire = Effect.fnUntraced(function* (
  { storage, workspaces, ids, lines }: Services,
  workspace_id: WorkspaceId,
  id: string,
  { at, reset_count }: ForcedExpiry
) {
  const quote = yield* storage.get({ workspace_id, kind: Quote.kind.name, id })
  if (Option.isNone(quote) || quote.value.status !== "active" || quote.value.created_at > at) return
  // Read after the quote, to notice a reset in between. A later reset erases the quote, and this change conflicts.
  const { workspace } = yield* workspaces.moment(workspace_id)
  if (workspace.reset_count !== reset_count) return
  yield* commit(
    storage,
    Change.make(workspace_id, deactivation(ids, lineOf(lines, quote.value), quote.value, "expired", at))
  )
})
