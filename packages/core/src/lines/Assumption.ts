import { Schema } from "effect"

/** A scalar that JSON can hold. */
export const Scalar = Schema.NullOr(Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]))
export type Scalar = typeof Scalar.Type

/** A fact that the caller did not send, and the value that stands in for it. */
export const Assumption = Schema.Struct({
  path: Schema.String,
  value: Scalar,
  source: Schema.String,
  label: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "Assumption" })
export type Assumption = typeof Assumption.Type
