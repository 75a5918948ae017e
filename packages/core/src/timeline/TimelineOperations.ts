import { Effect, Schema } from "effect"
import * as Cursor from "../access/Cursor.ts"
import { Seal } from "../access/sealing/Seal.ts"
import * as Operation from "../calls/Operation.ts"
import * as Json from "../wire/Json.ts"
import { defaultLimit, pageFields } from "../wire/Pagination.ts"
import { Timelines } from "./Timelines.ts"
import * as TimelineView from "./TimelineView.ts"

/**
 * Reads what happened to a quote request, without the details that its organization may not see (api.md, Timeline of a
 * quote request).
 */
export const getQuoteRequestTimeline = Operation.make({
  name: "get_quote_request_timeline",
  summary: "Read what happened to a quote request",
  description:
    "The call that started it, which carriers were asked and with what outcome, quotes, events and deliveries, oldest first. Without what was sent to carriers. Read until next_cursor is null.",
  tag: "Quoting",
  route: {
    method: "GET",
    path: "/v1/quote-requests/{id}/timeline",
    query: { limit: "integer", cursor: "string" },
    status: 200
  },
  authority: { callers: ["server"] },
  cost: { read: 2 },
  idempotent: false,
  input: Schema.Struct({
    id: Schema.String.annotateKey({ description: "The quote request, `qreq_…`" }),
    ...pageFields
  }),
  output: TimelineView.QuoteRequestTimeline,
  about: "quote_request",
  errors: ["not_found", "invalid_cursor"],
  run: Effect.fnUntraced(function* ({ caller: { workspace_id } }, { cursor, id, limit = defaultLimit }) {
    const seal = yield* Seal
    const timelines = yield* Timelines
    const scope = { list: "timeline", workspace_id, filters: { id } }
    const after = cursor === undefined ? 0 : Number(yield* Cursor.read(seal, scope, cursor))
    const { next, ...timeline } = yield* timelines.read(id, {
      workspace_id,
      exchanges: false,
      causes: false,
      after,
      limit
    })
    const next_cursor = next === null ? null : yield* Cursor.write(seal, scope, String(next))
    return Json.encode(TimelineView.of(timeline, next_cursor))
  })
})
