import { Option, Schema } from "effect"

/*
 * The messages between the primary and the workers of `serve --processes`, over the IPC channel of `node:cluster`.
 */

/** What a worker reports when its host is listening. */
export const ReadyMessage = Schema.Struct({
  base_url: Schema.String,
  /** The IDs of the host's carriers, by environment. */
  carriers: Schema.Struct({ sandbox: Schema.Array(Schema.String), live: Schema.Array(Schema.String) }),
  /** Whether the live environment can be called but has no carriers. */
  is_live_without_carriers: Schema.Boolean
})
export type ReadyMessage = typeof ReadyMessage.Type

/** The address that the primary listens on. */
export const Bound = Schema.fromJsonString(
  Schema.Struct({ address: Schema.String, family: Schema.String, port: Schema.Int })
)

/** An order from the primary to a worker. */
export const Order = Schema.Literals([
  /** Serve the connection that is sent with this order. */
  "connection",
  /** Finish running calls, report the last metrics, then wait for `leave`. */
  "drain",
  /** Report the current metrics. */
  "metrics",
  /** Exit, because the last metrics have arrived. */
  "leave"
])
export type Order = typeof Order.Type

/** A report from a worker to the primary. Metrics are in the Prometheus text format. */
export const Report = Schema.Union([
  Schema.TaggedStruct("Ready", { host: ReadyMessage }),
  Schema.TaggedStruct("Refused", { message: Schema.String, is_wrong_usage: Schema.Boolean }),
  Schema.TaggedStruct("Taken", {}),
  Schema.TaggedStruct("Metrics", { text: Schema.String }),
  Schema.TaggedStruct("Drained", { metrics: Schema.String })
])
export type Report = typeof Report.Type

/** Reads a message from the primary; null for anything else. */
export const readOrder = (message: unknown): Order | null =>
  Option.getOrNull(Schema.decodeUnknownOption(Order)(message))

/** Reads a message from a worker; null for anything else. */
export const readReport = (message: unknown): Report | null =>
  Option.getOrNull(Schema.decodeUnknownOption(Report)(message))
