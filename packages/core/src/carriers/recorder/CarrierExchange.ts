import { Context, Function } from "effect"
import type { Environment } from "../../access/Caller.ts"
import type { QuoteRequestId } from "../../wire/Ids.ts"
import type { HttpExchange, StoredExchange } from "./StoredExchange.ts"

/**
 * Which exchanges with carriers are recorded.
 *
 * `failures` are exchanges without a usable answer: every outcome except offers, declines, questions and `pending`.
 */
export type RecordedExchanges = "all" | "failures" | "none"

/**
 * Which exchanges with carriers are recorded in each environment. By default all are recorded in the sandbox, and only
 * failures in live.
 *
 * Exchanges with the fictional carriers are never recorded: nothing is sent to them, and their answers follow from rate
 * plans and scenarios.
 */
export const ExchangeRecording = Context.Reference<{ readonly [E in Environment]: RecordedExchanges }>(
  "@quotewire/core/ExchangeRecording",
  { defaultValue: () => ({ sandbox: "all", live: "failures" }) }
)

/**
 * A finished exchange with a carrier's adapter, without bodies, headers or query values. Paths are as the adapter sent
 * them.
 */
export interface CarrierExchange
  extends Pick<
    StoredExchange,
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
  /** The quote request that the exchange is about; null for a callback that matches no quote request. */
  readonly quote_request_id: QuoteRequestId | null
  readonly line: string | null
  readonly environment: Environment | null
  readonly http: ReadonlyArray<
    Pick<HttpExchange, "direction" | "method" | "host" | "path" | "started_at" | "duration_ms" | "status" | "error">
  >
}

/**
 * Called after every exchange with a carrier that is not fictional, whether or not the exchange is recorded.
 *
 * The function must not block. If it throws or its promise rejects, the service logs that; the exchange is not
 * affected.
 */
export const OnCarrierExchange = Context.Reference<(exchange: CarrierExchange) => void>(
  "@quotewire/core/OnCarrierExchange",
  { defaultValue: () => Function.constVoid }
)
