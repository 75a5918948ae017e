import type { ErrorCode, FieldError, RetryActionType } from "@quotewire/core/client"

/**
 * The fields of an `ApiError`: the fields of the error envelope (api.md, Error envelope), and the fields that come from
 * the HTTP response.
 */
export interface Refusal {
  readonly code: ErrorCode
  readonly message: string
  readonly status: number
  readonly field_errors?: ReadonlyArray<FieldError> | null
  readonly retry_action: RetryActionType
  readonly retry_after_seconds?: number | null
  readonly doc_url?: string | null
  readonly request_id?: string | null
}

/**
 * The error for a call that the host refused. It has the same fields as the `ApiError` of `@quotewire/core`, and
 * `isApiError` recognizes both.
 */
export class ApiError extends Error {
  /** The error code. Hosts can add new codes at any time. */
  readonly code: ErrorCode
  /** The HTTP status. */
  readonly status: number
  /** The wrong or missing input fields, with their paths. */
  readonly field_errors: ReadonlyArray<FieldError> | null
  /** What to do next. */
  readonly retry_action: RetryActionType
  /** How long to wait before the call can succeed, in seconds; null if the host does not say. */
  readonly retry_after_seconds: number | null
  /** The URL of the page about this error code; null if the call was refused before it was sent. */
  readonly doc_url: string | null
  /** Identifies the call for support; null if the call was refused before it was sent. */
  readonly request_id: string | null
  static {
    ApiError.prototype.name = "ApiError"
    Object.defineProperty(ApiError.prototype, Symbol.for("@quotewire/ApiError"), { value: true })
  }
  /** The error code, under the name that Effect uses. */
  get _tag(): ErrorCode {
    return this.code
  }
  constructor(refusal: Refusal) {
    super(refusal.message)
    this.code = refusal.code
    this.status = refusal.status
    this.field_errors = refusal.field_errors ?? null
    this.retry_action = refusal.retry_action
    this.retry_after_seconds = refusal.retry_after_seconds ?? null
    this.doc_url = refusal.doc_url ?? null
    this.request_id = refusal.request_id ?? null
  }
}

/** Creates the error for an input that cannot be sent. It looks like the host's own refusal. */
export const invalidInput = (path: string, message: string): ApiError =>
  new ApiError({
    code: "invalid_input",
    status: 422,
    message: `${path === "" ? "The input" : JSON.stringify(path)} is not valid. ${message}`,
    field_errors: [{ path, message }],
    retry_action: "correct_input"
  })
