import { Data, Duration, Result } from "effect"
import { Headers, HttpClientError } from "effect/http"
import { type BrokenRule, ruleText } from "../../wire/BrokenRule.ts"
import { dayMs, minuteMs } from "../../wire/Timestamp.ts"
import type { NoAnswerReason } from "../Carrier.ts"
import type { UnreadAnswer } from "./WholeAnswers.ts"

/**
 * The error for a request to a carrier that got no usable response.
 *
 * The message contains the method, the path as the adapter wrote it, and the host. It never contains a query, a header
 * or a body.
 */
export class CarrierHttpError extends Data.TaggedError("CarrierHttpError")<{
  /** The reason that the carrier's result shows if the adapter does not handle the error. */
  readonly reason: NoAnswerReason
  /** The HTTP status of the carrier's response; null if the carrier did not respond. */
  readonly status: number | null
  /**
   * How long the carrier asks its callers to wait, in milliseconds, at most a day; null if the carrier does not say.
   */
  readonly retry_after_ms: number | null
  /** A code for logs, such as `HTTP_503`, `TIMED_OUT` or `CERT_HAS_EXPIRED`. */
  readonly code: string
  readonly message: string
  /**
   * The size limit or schema rules that the response breaks; they contain no values. A path that could contain a key
   * from the carrier's data is left empty.
   */
  readonly broken_rules?: ReadonlyArray<BrokenRule>
}> {}

/**
 * A mistake in an adapter's code: in its options, or in a request. It is thrown as a defect, because a retry cannot
 * help.
 */
export class CarrierHttpMistake extends Data.Error<{
  readonly message: string
  /**
   * Whether the mistake is in how the adapter reads a response. By then the client has finished, so it cannot log the
   * mistake.
   */
  readonly in_answer?: boolean
}> {
  override readonly name = "CarrierHttpMistake"
}

/** How messages and spans describe a request. It contains no values from a carrier or a person. */
export interface Target {
  readonly method: string
  /** The path as the adapter wrote it, without a query, such as `/quotes/{id}`. */
  readonly path: string
  readonly host: string
}

const error = (
  { method, path, host }: Target,
  problem: string,
  {
    reason,
    code,
    status = null,
    retry_after_ms = null
  }: Pick<CarrierHttpError, "reason" | "code"> & Partial<Pick<CarrierHttpError, "status" | "retry_after_ms">>
) => new CarrierHttpError({ reason, status, retry_after_ms, code, message: `${method} ${path} at ${host}: ${problem}` })

/** A 503 that asks to wait at least this long is reported as `maintenance`. */
const maintenanceMs = minuteMs

/**
 * The error for a status that the adapter does not accept.
 *
 * 429 is `rate_limited`. 503 with a `Retry-After` of a minute or more is `maintenance`. Every other status is
 * `carrier_error`.
 */
export const ofStatus = (target: Target, status: number, headers: Headers.Headers, now: number): CarrierHttpError => {
  const retry_after_ms = retryAfterOf(headers, now)
  const isClosed = status === 503 && retry_after_ms !== null && retry_after_ms >= maintenanceMs
  const reason = status === 429 ? "rate_limited" : isClosed ? "maintenance" : "carrier_error"
  const isRedirect = status >= 300 && status < 400
  const problem = isRedirect ? `answered ${status}, and redirects are not followed` : `answered ${status}`
  return error(target, problem, { reason, code: `HTTP_${status}`, status, retry_after_ms })
}

const retryAfterOf = (headers: Headers.Headers, now: number): number | null => {
  const header = headers["retry-after"]
  const parsed = header === undefined ? null : Headers.parseRetryAfter(header)
  if (parsed === null || Result.isFailure(parsed)) return null
  return Math.min(dayMs, Duration.toMillis(Headers.retryAfterDelay(parsed.success, now)))
}

/** The error for a request that could not be sent, or whose response was interrupted. */
export const ofTransport = (
  target: Target,
  failure: HttpClientError.HttpClientError | UnreadAnswer,
  status: number | null
): CarrierHttpError => {
  const code = codeOf(failure) ?? (status === null ? "CONNECTION_FAILED" : "ANSWER_BROKEN")
  if (/^Z_/.test(code))
    return error(target, `could not be decompressed (${code})`, { reason: unreadable, code, status })
  const problem = isCertificate(code)
    ? "the certificate is not trusted"
    : status === null
      ? "the connection failed"
      : "the connection was lost during the answer"
  return error(target, `${problem} (${code})`, { reason: "carrier_error", code, status })
}

const unreadable = "unreadable_answer"

const isCertificate = (code: string): boolean => /CERT|^UNABLE_TO_|^ERR_(?:TLS|SSL)_|^HOSTNAME_MISMATCH$/.test(code)

/** How many nested causes are searched for an error code. Transports wrap socket errors in other errors. */
const maxCauses = 5

/** The innermost error code, such as `ECONNREFUSED`. Only words that look like codes count. */
const codeOf = (failure: unknown): string | null => {
  let code: string | null = null
  let thrown = failure
  for (let depth = 0; depth < maxCauses && thrown instanceof Error; depth++) {
    if ("code" in thrown && typeof thrown.code === "string" && /^[A-Z][A-Z\d_]{2,63}$/.test(thrown.code)) {
      code = thrown.code
    }
    thrown = HttpClientError.isHttpClientError(thrown) ? thrown.reason.cause : thrown.cause
  }
  return code
}

/** The error for a call that timed out. */
export const timedOut = (target: Target, timeoutMs: number): CarrierHttpError =>
  error(target, `no answer within ${timeoutMs} ms`, { reason: "timeout", code: "TIMED_OUT" })

/** The error for a request that was not sent because all of this host's connections to the carrier stayed busy. */
export const noFreeConnection = (target: Target): CarrierHttpError =>
  error(target, "not sent, because no connection to the carrier became free in time", {
    reason: "rate_limited",
    code: "NO_FREE_CONNECTION"
  })

/** The error for a body larger than the adapter allows. The limit is also in a rule, for logs that omit the message. */
export const tooLarge = (target: Target, status: number, maxBytes: number): CarrierHttpError =>
  new CarrierHttpError({
    reason: unreadable,
    status,
    retry_after_ms: null,
    code: "TOO_LARGE",
    message: `${target.method} ${target.path} at ${target.host}: the response is larger than ${maxBytes} bytes`,
    broken_rules: [{ path: "", message: `Must be at most ${maxBytes} bytes. To raise the limit, set http.max_bytes.` }]
  })

/** The error for a body that is not JSON. */
export const notJson = (target: Target, status: number): CarrierHttpError =>
  error(target, "the answer is not JSON", { reason: unreadable, code: "NOT_JSON", status })

/** The error for a body that is not XML, or that uses XML features that the parser does not support. */
export const notXml = (target: Target, status: number, reason: string): CarrierHttpError =>
  error(target, `the answer is not XML. ${reason}`, { reason: unreadable, code: "NOT_XML", status })

/** The error for a body that does not match a schema, with the rules that it breaks. */
export const mismatch = (
  { method, path, host }: Target,
  status: number,
  broken_rules: ReadonlyArray<BrokenRule>
): CarrierHttpError => {
  const rules = broken_rules.map(ruleText).join(" ")
  return new CarrierHttpError({
    reason: unreadable,
    status,
    retry_after_ms: null,
    code: "SCHEMA_MISMATCH",
    message: `${method} ${path} at ${host}: the answer does not match the schema. ${rules}`,
    broken_rules
  })
}

/** The longest random part of the pause before a retry, in milliseconds. */
export const jitterMs = 250

/** How long to wait before retrying a request; null if the error is permanent or too little time is left. */
export const pauseBeforeRepeat = (failure: CarrierHttpError, leftMs: number, jitter: number): number | null => {
  if (!isTransient(failure)) return null
  const pauseMs = (failure.retry_after_ms ?? 0) + jitter
  return pauseMs < leftMs ? pauseMs : null
}

/** Statuses below 500 that can be temporary, such as 404 for a reference that the carrier does not know yet. */
const retryableStatuses: ReadonlySet<number> = new Set([404, 408, 409, 425, 429])

/** Whether a request that got this status may succeed when it is sent again. */
export const isRetryableStatus = (status: number): boolean => status >= 500 || retryableStatuses.has(status)

/**
 * Whether a later request may succeed: after a timeout, rate limiting, maintenance, a lost connection, or a temporary
 * status. A rejected certificate or address stays rejected, and an unreadable answer stays unreadable.
 */
export const mayRetryLater = ({ code, reason, status }: CarrierHttpError): boolean => {
  if (reason === unreadable) return false
  if (reason !== "carrier_error") return true
  return code === `HTTP_${status}` ? isRetryableStatus(status ?? 0) : !isRefused(code)
}

const isRefused = (code: string): boolean => isCertificate(code) || code === "REFUSED_ADDRESS"

const isTransient = ({ reason, status, code, retry_after_ms }: CarrierHttpError): boolean => {
  if (reason === "rate_limited") return retry_after_ms !== null
  if (reason !== "carrier_error") return false
  if (code === `HTTP_${status}`) return status === 502 || status === 503 || status === 504
  return !isRefused(code)
}
