import type { ApiError, ErrorCode } from "../wire/ApiError.ts"

/** Marks the API's error class on its prototype. Unlike `instanceof`, this works with several copies of the library. */
const mark = Symbol.for("@quotewire/ApiError")

/**
 * Whether an error is an API error. If you pass `code`, whether it is the API error with this code.
 *
 * @example
 * try {
 *   await client.get_quote({ id })
 * } catch (error) {
 *   if (!isApiError(error, "not_found")) throw error
 * }
 */
export const isApiError = <Code extends ErrorCode = ErrorCode>(
  error: unknown,
  code?: Code
): error is ApiErrorOf<Code> =>
  typeof error === "object" &&
  error !== null &&
  mark in error &&
  "code" in error &&
  (code === undefined || error.code === code)

/** The fields of every API error, whether it comes from an embedded service or from a host. */
export type ApiErrorOf<Code extends ErrorCode = ErrorCode> = Error &
  Pick<ApiError<Code>, "code" | "status" | "field_errors" | "retry_action" | "retry_after_seconds" | "request_id">
