import { Schema } from "effect"
import type { Call } from "../calls/Call.ts"
import type { StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import { QuoteRequestId } from "../wire/Ids.ts"
import type { StartInput } from "./StartInput.ts"

/** The record of a `request_key`: the request that it started, or when its first attempt was refused. */
export const RequestKey = Schema.Struct({
  /** A keyed hash of the input. The input itself is not stored. */
  fingerprint: Schema.String,
  quote_request_id: Schema.NullOr(QuoteRequestId),
  /** Milliseconds of workspace time. */
  refused_at: Schema.NullOr(Schema.Int)
})
export type RequestKey = typeof RequestKey.Type

/** Request keys in storage. */
export const kind = Kind.make({
  name: "request_key",
  schema: RequestKey,
  kept_for: { period: "quotes", clock: "workspace" }
})

/** The storage id of a call's `request_key`. Keys are scoped to the workspace for server keys, otherwise to the API key. */
export const idOf = ({ caller }: Call, { request_key }: StartInput): string =>
  `${caller.kind === "server" ? "" : (caller.key_id ?? "keyless")} ${request_key}`

/** The stored record of a call's `request_key`. */
export const toStored = (call: Call, input: StartInput, version: number, kept: RequestKey): StoredRecord =>
  kind.record(kept, {
    id: idOf(call, input),
    version,
    created_at: call.moment.now,
    updated_at: call.moment.now
  })
