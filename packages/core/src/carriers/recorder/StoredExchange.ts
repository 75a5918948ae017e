import { Schema } from "effect"
import { Environment } from "../../access/Caller.ts"
import type { StoredRecord } from "../../storage/Change.ts"
import * as Kind from "../../storage/Kind.ts"
import { BrokenRule } from "../../wire/BrokenRule.ts"
import { ApplicationId, QuoteRequestId } from "../../wire/Ids.ts"
import { Timestamp, toMillis } from "../../wire/Timestamp.ts"
import { RecordedMessage } from "../secrets/Redaction.ts"

/** The purposes of an exchange with a carrier's adapter. A `link` exchange gets a fresh link when the person clicks. */
const exchangeTypes = ["ask", "poll", "callback", "refresh", "link"] as const
export type ExchangeType = (typeof exchangeTypes)[number]

/** How an exchange ended: the kind of the answer, or `refused` for a callback that is not genuine. */
const exchangeOutcomes = [
  "offers",
  "declined",
  "pending",
  "question",
  "unavailable",
  "offer",
  "withdrawn",
  "link",
  "refused"
] as const
export type ExchangeOutcome = (typeof exchangeOutcomes)[number]

/** An HTTP exchange that is part of an exchange with an adapter. */
export const HttpExchange = Schema.Struct({
  /** `received` is a callback from the carrier; `sent` is a request from this service. */
  direction: Schema.Literals(["sent", "received"]),
  method: Schema.String,
  /** The host that the request was sent to; empty for a callback. */
  host: Schema.String,
  /** The path and the names of the query parameters, without their values. */
  path: Schema.String,
  /** When the HTTP exchange began, in real time. */
  started_at: Timestamp,
  /** The time in milliseconds until the response headers arrived or the exchange failed. */
  duration_ms: Schema.Int,
  /** The response status; null if there was no response. */
  status: Schema.NullOr(Schema.Int),
  /** Why there was no response, such as `TransportError ECONNREFUSED` or `aborted`; null if there was a response. */
  error: Schema.NullOr(Schema.String),
  request: RecordedMessage,
  response: Schema.NullOr(RecordedMessage)
}).annotate({ identifier: "HttpExchange" })
export type HttpExchange = typeof HttpExchange.Type

/** An exchange with a carrier's adapter, as stored. */
export const StoredExchange = Schema.Struct({
  quote_request_id: QuoteRequestId,
  application_id: ApplicationId,
  exchange: Schema.Literals(exchangeTypes),
  carrier_id: Schema.String,
  line: Schema.String,
  environment: Environment,
  attempt: Schema.Int,
  /** When the work to which the exchange belongs began, in workspace time. */
  at: Timestamp,
  /** When the adapter was called, in real time. */
  started_at: Timestamp,
  duration_ms: Schema.Int,
  outcome: Schema.Literals(exchangeOutcomes),
  reason: Schema.NullOr(Schema.String),
  broken_rules: Schema.Array(BrokenRule),
  /**
   * The class and code of the error that the adapter threw, such as `TypeError` or `Error ECONNRESET`; never its
   * message.
   */
  fault: Schema.NullOr(Schema.String),
  http: Schema.Array(HttpExchange),
  /** How many HTTP exchanges were not recorded because there were too many. */
  http_left_out: Schema.Int,
  /**
   * The exchange's number among the request's polls, callbacks, refreshes and links, all of which can repeat. Null for
   * an ask.
   */
  number: Schema.NullOr(Schema.Int)
}).annotate({ identifier: "CarrierExchange" })
export type StoredExchange = typeof StoredExchange.Type

/** The maximum number of exchanges kept for a request, besides its asks. */
export const maxRepeated = 100

/** The status label of stored exchanges that count against `maxRepeated`. */
export const repeated = "repeated"

/**
 * The record kind for exchanges. The records are sealed, and their parent is the application, so they are erased with
 * the application's facts at the latest.
 */
export const kind = Kind.make({
  name: "exchange",
  schema: StoredExchange,
  sealed: true,
  kept_for: { period: "exchanges", clock: "workspace" },
  listing: ({ application_id, number }) => ({ parent: application_id, status: number === null ? null : repeated })
})

/** The stored record of an exchange. */
export const toStored = (exchange: StoredExchange, id: string): StoredRecord => {
  const at = toMillis(exchange.at)
  return kind.record(exchange, { id, version: 1, created_at: at, updated_at: at })
}
