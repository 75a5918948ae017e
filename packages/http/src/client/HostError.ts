/** What is known about an answer that is none of the API. */
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
 * A call that got no answer of the API: nothing answered, or something else did, such as a proxy.
 *
 * It never holds the body of an answer, nor the key.
 */
export class HostError extends Error {
  /**
   * `unreachable`: there is no connection, or it broke. `timed_out`: no answer in time. `unexpected_answer`: what answered
   * does not speak this API, or not this revision.
   */
  readonly reason: "unreachable" | "timed_out" | "unexpected_answer"
  /** The HTTP status; null without an answer. */
  readonly status: number | null
  readonly content_type: string | null
  /** What to tell support, if the answer named it. */
  readonly request_id: string | null
  /** `retry` if the same call may succeed later. The host may have done it already: see the guide before you repeat a command. */
  readonly retry_action: "retry" | "none"
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
