import { Effect, Option, Schema } from "effect"
import { Workspaces } from "../access/Workspaces.ts"
import { acceptOnce } from "../calls/acceptOnce.ts"
import { Lines } from "../lines/Lines.ts"
import * as Quote from "../quoting/Quote.ts"
import * as QuoteChange from "../quoting/QuoteChange.ts"
import * as Change from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import { commit, eachPage, retryOnConflict, Storage } from "../storage/Storage.ts"
import { Ids, type WorkspaceId } from "../wire/Ids.ts"

/** When quotes are made to expire, in milliseconds of workspace time. A reset cancels the expiry. */
export const ForcedExpiry = Schema.Struct({ at: Schema.Int, reset_count: Schema.Int })
export type ForcedExpiry = typeof ForcedExpiry.Type

/** The record kind for forced expiries, keyed by the `Idempotency-Key` of their call. */
export const kind = Kind.make({
  name: "forced_expiry",
  schema: ForcedExpiry,
  survives_reset: true,
  kept_for: { period: "quotes", clock: "workspace" }
})

/** Makes the functions that expire a sandbox's quotes. */
export const make = Effect.gen(function* () {
  const storage = yield* Storage
  const workspaces = yield* Workspaces
  const ids = yield* Ids
  const lines = yield* Lines

  /** Accepts a forced expiry of all existing quotes. */
  const accept = (workspace_id: WorkspaceId, key: string | null) =>
    acceptOnce({ storage, workspaces }, kind, { workspace_id, id: `${key}` }, ({ workspace, now }) =>
      Effect.succeed({
        value: { at: now, reset_count: workspace.reset_count },
        workspace: { ...workspace, quotes_expired_at: now },
        at: now
      })
    )

  /** Expires all active quotes that existed when the expiry was accepted. */
  const expireQuotes = (workspace_id: WorkspaceId, expiry: ForcedExpiry) =>
    eachPage(storage, { workspace_id, kind: Quote.kind.name, status: "active", order: "oldest", limit: 100 }, (page) =>
      Effect.forEach(page, ({ id }) => retryOnConflict(expire(workspace_id, id, expiry)), { discard: true })
    )

  /** Expires one quote, unless another host has already done so. */
  const expire = Effect.fnUntraced(function* (
    workspace_id: WorkspaceId,
    id: string,
    { at, reset_count }: ForcedExpiry
  ) {
    const quote = Option.getOrNull(yield* storage.get({ workspace_id, kind: Quote.kind.name, id }))
    if (quote === null || quote.status !== "active" || quote.created_at > at) return
    // The workspace is read after the quote, so that a quote that a reset has erased is not written again.
    const { workspace } = yield* workspaces.moment(workspace_id)
    if (workspace.reset_count !== reset_count) return
    yield* commit(
      storage,
      Change.make(
        workspace_id,
        QuoteChange.deactivationChange(ids, {
          stored: quote,
          line: QuoteChange.lineOf(lines, quote),
          reason: "expired",
          at
        })
      )
    )
  })

  return { accept, expireQuotes }
})
