import type { ApiError, ErrorCode } from "../wire/ApiError.ts"

/** Marks the API's error classes, on their prototypes. Unlike `instanceof`, this works across copies of the library. */
const mark = Symbol.for("@quotewire/ApiError")

/** Whether an error is a refusal by the API; if you pass a `code`, whether it is the refusal with that code. */
export const isApiError = <Code extends ErrorCode = ErrorCode>(
  error: unknown,
  code?: Code
): error is ApiErrorOf<Code> =>
  typeof error === "object" &&
  error !== null &&
  mark in error &&
  "code" in error &&
  (code === undefined || error.code === code)

/** The fields that every refusal has, whether it comes from an embedded service or from a host. */
export type ApiErrorOf<Code extends ErrorCode = ErrorCode> = Error &
  Pick<ApiError<Code>, "code" | "status" | "field_errors" | "retry_action" | "retry_after_seconds">
