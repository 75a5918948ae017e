import { Context } from "effect"
import type { Environment } from "../../access/Caller.ts"
import type { QuoteRequestId } from "../../wire/Ids.ts"
import type { Exchange, HttpExchange } from "./Exchange.ts"

/**
 * Which exchanges with carriers are recorded.
 *
 * `failures` are those without an answer that can be used: all but offers, declines, questions and `pending`.
 */
export type RecordedExchanges = "all" | "failures" | "none"

/**
 * Which exchanges with carriers are recorded in each environment; by default all in the sandbox, and failures in live.
 *
 * Exchanges with the fictional carriers never are: nothing is sent, and their answers follow from rate plans and scenarios.
 */
export const ExchangeRecording = Context.Reference<{ readonly [E in Environment]: RecordedExchanges }>(
  "@quotewire/core/ExchangeRecording",
  { defaultValue: () => ({ sandbox: "all", live: "failures" }) }
)

/**
 * An exchange with a carrier's adapter that has ended: no body, no header, no value of a query. Paths are as the adapter sent
 * them.
 */
export interface CarrierExchange
  extends Pick<
    Exchange,
    | "exchange"
    | "carrier_id"
    | "attempt"
    | "started_at"
    | "duration_ms"
    | "outcome"
    | "reason"
    | "broken_rules"
    | "fault"
    | "http_left_out"
  > {
  /** Null for a callback that names no request of this service. */
  readonly quote_request_id: QuoteRequestId | null
  readonly line: string | null
  readonly environment: Environment | null
  readonly http: ReadonlyArray<
    Pick<HttpExchange, "direction" | "method" | "host" | "path" | "started_at" | "duration_ms" | "status" | "error">
  >
}

/**
 * Called after every exchange with a carrier that is not fictional, whether or not it is recorded.
 *
 * It must neither throw nor block. If it throws, the service logs that, and the exchange does not change.
 */
export const OnCarrierExchange = Context.Reference<(exchange: CarrierExchange) => void>(
  "@quotewire/core/OnCarrierExchange",
  { defaultValue: () => () => {} }
)
