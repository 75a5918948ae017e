import type { ErrorCode, FieldError, RetryActionType } from "@quotewire/core/client"
import { ApiError } from "./ApiError.ts"
import { HostError } from "./HostError.ts"
import { revision } from "./routes.ts"
import type { TransportResponse } from "./Transport.ts"

/**
 * The maximum size of a response that is read, in bytes. The API sends only smaller responses: a page has at most 100
 * items, and a request at most 1,000 quotes.
 */
const maxAnswerBytes = 32 * 1024 * 1024

/** A host's response: its decoded JSON value, and the response itself. */
export interface Answer {
  readonly value: unknown
  readonly response: TransportResponse
}

/**
 * Reads a host's response. `host` is the host's address, for error messages.
 *
 * Throws an `ApiError` for a refusal, and a `HostError` if the response does not come from this API.
 */
export const read = async (response: TransportResponse, host: string): Promise<Answer> => {
  const contentType = response.header("content-type")
  if (!/^application\/json\s*(?:;|$)/i.test(contentType ?? "")) {
    response.discard()
    throw unexpected(response, host, ofType(contentType))
  }
  const text = await response.text(maxAnswerBytes)
  if (text === null) throw unexpected(response, host, `more than ${maxAnswerBytes} bytes`)
  const value = parse(text)
  // The connection may have broken in the middle of the body, so a retry may help.
  if (value === undefined) throw unexpected(response, host, "text that is not JSON, or only a part of it", true)
  if (!isSuccess(response))
    throw refusalOf(response, value) ?? unexpected(response, host, "JSON that is not from this API")
  if (!isObject(value)) throw unexpected(response, host, "JSON that is not from this API")
  const answered = response.header("service-version")
  if (answered === null) throw unexpected(response, host, "JSON without a Service-Version, so it is not from this API")
  // A retry of an old call returns the original response, in the revision that was current when the call was first
  // made.
  if (answered !== revision && response.header("idempotent-replayed") === null) {
    throw unexpected(response, host, `revision ${shortened(answered)} instead of ${revision}`)
  }
  return { value, response }
}

/**
 * Creates the error for a response with a wrong field. The message names the field but contains nothing else from the
 * response.
 */
export const undocumented = (response: TransportResponse, host: string, { message, path }: FieldError): HostError => {
  const place = path === "" ? "" : ` ${shortened(path)}:`
  return unexpected(response, host, `JSON that is not as documented:${place} ${message.replace(/\.$/, "")}`)
}

const ofType = (contentType: string | null): string =>
  contentType === null ? "no content type" : `${shortened(contentType)} instead of JSON`

/** Truncates text from another program for use in a message. */
const shortened = (text: string): string => text.slice(0, 100)
const shortenedOrNull = (text: string | null): string | null => (text === null ? null : shortened(text))

const unexpected = (
  response: TransportResponse,
  host: string,
  problem: string,
  isTemporary = isTemporaryStatus(response.status)
) => {
  const { status } = response
  // Browsers report the status of a redirect as 0.
  const isRedirect = status === 0 || (status >= 300 && status < 400)
  return new HostError({
    reason: "unexpected_answer",
    message: isRedirect
      ? `The host at ${host} redirects${status === 0 ? "" : ` (HTTP ${status})`}. Set base_url to the address that it redirects to.`
      : `The host at ${host} returned HTTP ${status} with ${problem}.`,
    status,
    content_type: shortenedOrNull(response.header("content-type")),
    request_id: shortenedOrNull(response.header("request-id")),
    retry_action: isTemporary ? "retry" : "none",
    retry_after_seconds: retryAfterSeconds(response)
  })
}

const isSuccess = ({ status }: TransportResponse): boolean => status >= 200 && status < 300

/** Whether a status from another program, such as a proxy, means that the call may succeed later. */
const isTemporaryStatus = (status: number): boolean => status >= 500 || status === 408 || status === 429

/** Reads `Retry-After` in seconds. Hosts send seconds, but proxies may send a date. */
const retryAfterSeconds = (response: TransportResponse): number | null => {
  const text = response.header("retry-after")
  if (text === null) return null
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1_000
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : null
}

/** Reads the refusal from an error envelope; null if the value is not an error envelope. */
const refusalOf = (response: TransportResponse, value: unknown): ApiError | null => {
  if (!isObject(value) || !isObject(value.error)) return null
  const { code, doc_url, field_errors, message, retry_action } = value.error
  const type = isObject(retry_action) ? retry_action.type : undefined
  if (!isCode(code) || typeof message !== "string" || !isRetryAction(type)) return null
  return new ApiError({
    code,
    message,
    status: response.status,
    field_errors: Array.isArray(field_errors) ? field_errors.filter(isFieldError) : null,
    retry_action: type,
    retry_after_seconds: retryAfterSeconds(response),
    doc_url: typeof doc_url === "string" ? doc_url : null,
    request_id: typeof value.request_id === "string" ? value.request_id : null
  })
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

// Accepts any text: newer hosts can send codes and retry actions that this client does not know.
const isCode = (value: unknown): value is ErrorCode => typeof value === "string"
const isRetryAction = (value: unknown): value is RetryActionType => typeof value === "string"

const isFieldError = (value: unknown): value is FieldError =>
  isObject(value) &&
  typeof value.path === "string" &&
  typeof value.message === "string" &&
  (value.allowed_values === undefined || isListOfText(value.allowed_values))

const isListOfText = (value: unknown): boolean =>
  Array.isArray(value) && value.every((item) => typeof item === "string")

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
