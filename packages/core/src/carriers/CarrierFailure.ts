import { HttpClientError } from "effect/http"
import * as Fault from "../concurrency/Fault.ts"
import { InvalidMoney } from "../wire/Money.ts"
import type { Unavailable } from "./Carrier.ts"
import { CarrierHttpError, isRetryableStatus, mayRetryLater } from "./http/CarrierHttpError.ts"
import * as Reply from "./Reply.ts"

/* Classifies errors that adapters throw: which reply an error stands for, and whether asking again may help. */

/** Error codes of connections that failed or broke. A new connection may succeed. */
const connectionCodes: ReadonlySet<string> = new Set([
  "EAI_AGAIN",
  "ECONNABORTED",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EPIPE",
  "ETIMEDOUT",
  "UND_ERR_BODY_TIMEOUT",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_SOCKET"
])

/**
 * The reply that a thrown error stands for. A bug in the adapter is final; after a connection failure, another attempt
 * may succeed.
 */
export const ofThrown = (thrown: unknown): Unavailable => {
  if (thrown instanceof CarrierHttpError) return ofHttp(thrown)
  if (thrown instanceof InvalidMoney) return Reply.failed("unreadable_answer")
  return isConnectionFailure(thrown) ? Reply.unavailable("carrier_error") : Reply.failed("carrier_error")
}

const ofHttp = (error: CarrierHttpError): Unavailable =>
  mayRetryLater(error) ? Reply.unavailable(error.reason, error.retry_after_ms ?? undefined) : Reply.failed(error.reason)

/**
 * Whether an error of the adapter's own HTTP client is temporary: the carrier could not be reached, or responded with a
 * status that allows a retry.
 */
const isConnectionFailure = (thrown: unknown): boolean => {
  if (HttpClientError.isHttpClientError(thrown)) {
    const { status } = thrown.response ?? {}
    return status === undefined ? thrown.reason._tag === "TransportError" : isRetryableStatus(status)
  }
  const { codes, name } = Fault.nameAndCodesOf(thrown)
  return name === "TimeoutError" || codes.some((code) => connectionCodes.has(code))
}

/** Whether the carrier may have an answer later. */
export const mayAnswerLater = ({ final: isFinal = false, reason }: Unavailable): boolean =>
  !isFinal && reason !== "unreadable_answer"
