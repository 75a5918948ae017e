import { Option, Schema } from "effect"

/*
 * The messages between the primary and the workers of `serve --processes`, over the IPC channel of `node:cluster`.
 */

/** What a worker reports when its host listens. */
export const Ready = Schema.Struct({
  base_url: Schema.String,
  /** The ids of its carriers, by environment. */
  carriers: Schema.Struct({ sandbox: Schema.Array(Schema.String), live: Schema.Array(Schema.String) }),
  /** Whether live can be called, but has no carriers. */
  is_live_without_carriers: Schema.Boolean
})
export type Ready = typeof Ready.Type

/** What the primary orders a worker to do. */
export const Order = Schema.Literals([
  /** Finish running calls, and end. */
  "drain",
  /** Report the metrics. */
  "metrics",
  /** Exit: every connection that was sent to this worker has arrived. */
  "leave"
])
export type Order = typeof Order.Type

/** What a worker reports to the primary. Metrics are in the text format of Prometheus. */
export const Report = Schema.Union([
  Schema.TaggedStruct("Ready", { host: Ready }),
  Schema.TaggedStruct("Refused", { message: Schema.String, is_wrong_usage: Schema.Boolean }),
  Schema.TaggedStruct("Metrics", { text: Schema.String }),
  Schema.TaggedStruct("Drained", { metrics: Schema.String })
])
export type Report = typeof Report.Type

/** Reads a message of the primary; null for anything else. */
export const readOrder = (message: unknown): Order | null =>
  Option.getOrNull(Schema.decodeUnknownOption(Order)(message))

/** Reads a message of a worker; null for anything else. */
export const readReport = (message: unknown): Report | null =>
  Option.getOrNull(Schema.decodeUnknownOption(Report)(message))
