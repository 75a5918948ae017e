import { Schema } from "effect"
import type { Call } from "../calls/Call.ts"
import type { StoredRecord } from "../storage/Change.ts"
import * as Kind from "../storage/Kind.ts"
import type { RecordKey } from "../storage/Storage.ts"
import { QuoteRequestId } from "../wire/Ids.ts"
import type { StartInput } from "./Start.ts"

/** The record of a `request_key`: the request that was started with it, or when its first call was refused. */
export const RequestKey = Schema.Struct({
  /** The fingerprint of the input, which is a keyed hash. The input itself is not stored. */
  fingerprint: Schema.String,
  quote_request_id: Schema.NullOr(QuoteRequestId),
  /** When the first call was refused, in milliseconds of workspace time; null if it was not refused. */
  refused_at: Schema.NullOr(Schema.Int),
  /**
   * When the person was asked for consent and declined, in milliseconds of workspace time; absent if the person did not
   * decline.
   */
  declined_at: Schema.optionalKey(Schema.Int)
})
export type RequestKey = typeof RequestKey.Type

/** The record kind for request keys. */
export const kind = Kind.make({
  name: "request_key",
  has_hashes: true,
  schema: RequestKey,
  kept_for: { period: "quotes", clock: "workspace" }
})

/** Where a call's `request_key` is stored. The ID depends on the key's scope (api.md, Request keys). */
export const keyOf = ({ caller }: Call, { request_key }: StartInput): RecordKey => ({
  workspace_id: caller.workspace_id,
  kind: kind.name,
  id: `${caller.kind === "server" ? "" : (caller.key_id ?? "keyless")} ${request_key}`
})

/** The stored record of a call's `request_key`. */
export const toStored = (call: Call, input: StartInput, version: number, requestKey: RequestKey): StoredRecord =>
  kind.record(requestKey, {
    id: keyOf(call, input).id,
    version,
    created_at: call.moment.now,
    updated_at: call.moment.now
  })
