import { Schema } from "effect"
import * as Kind from "../storage/Kind.ts"

const fingerprint = Schema.String.annotate({ description: "A keyed hash of the input, which itself is not kept" })

/**
 * The stored state of a call with an `Idempotency-Key`.
 *
 * `running`: the call is in progress; unless the record is renewed, this state expires at `until`. `done`: the call has
 * a response. `released`: the call was refused, so a retry runs it again.
 */
export const IdempotencyRecord = Schema.Union([
  Schema.Struct({ state: Schema.Literal("running"), fingerprint, until: Schema.Int }),
  Schema.Struct({ state: Schema.Literal("done"), fingerprint, form: Schema.String, body: Schema.String }),
  Schema.Struct({ state: Schema.Literal("released"), fingerprint })
])
export type IdempotencyRecord = typeof IdempotencyRecord.Type

/** The record kind for calls with an `Idempotency-Key`, keyed by operation and `Idempotency-Key`. */
export const kind = Kind.make({
  name: "idempotency_record",
  has_hashes: true,
  schema: IdempotencyRecord,
  survives_reset: true,
  kept_for: { period: "quotes", clock: "workspace" }
})

/** The ID of a call's record. */
export const idOf = (operation: string, key: string | null): string => `${operation} ${key}`
