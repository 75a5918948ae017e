/** The fields of a `HostError`. */
export interface HostErrorDetails {
  readonly reason: HostError["reason"]
  readonly message: string
  readonly status?: number
  readonly content_type?: string | null
  readonly request_id?: string | null
  readonly retry_action: HostError["retry_action"]
  readonly retry_after_seconds?: number | null
  readonly cause?: unknown
}

/**
 * A call got no response from the API: either nothing responded, or something else did, such as a proxy.
 *
 * The error never contains the key or a response body.
 */
export class HostError extends Error {
  readonly _tag = "HostError"
  /**
   * `unreachable`: connecting failed, or the connection broke. `timed_out`: no response arrived in time.
   * `unexpected_answer`: the response does not come from this API, has a different revision, or has a wrong field.
   */
  readonly reason: "unreachable" | "timed_out" | "unexpected_answer"
  /** The same as `reason`. Every error of a client has a `code`. */
  get code(): HostError["reason"] {
    return this.reason
  }
  /** The HTTP status; null if no response arrived. */
  readonly status: number | null
  /** The response's content type; null if there is no response, or if it has no `content-type` header. */
  readonly content_type: string | null
  /** Identifies the call for support; null if there is no response, or if it has no `request-id` header. */
  readonly request_id: string | null
  /**
   * `retry` if the call may succeed later. The host may already have executed the call, so pass your own idempotency
   * key to repeat a command.
   */
  readonly retry_action: "retry" | "none"
  /** How long to wait before the call can succeed, in seconds; null if the host does not say. */
  readonly retry_after_seconds: number | null
  static {
    HostError.prototype.name = "HostError"
  }
  constructor(details: HostErrorDetails) {
    super(details.message, details.cause === undefined ? {} : { cause: details.cause })
    this.reason = details.reason
    this.status = details.status ?? null
    this.content_type = details.content_type ?? null
    this.request_id = details.request_id ?? null
    this.retry_action = details.retry_action
    this.retry_after_seconds = details.retry_after_seconds ?? null
  }
}
