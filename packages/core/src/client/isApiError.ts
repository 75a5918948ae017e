import type { ApiError, ErrorCode } from "../wire/ApiError.ts"

/** Marks errors of the API, whichever copy of the library made them. It is on the prototype of their classes. */
const mark = Symbol.for("@quotewire/ApiError")

/** Whether an error is a refusal of the API; with a code, whether it is this refusal. */
export const isApiError = <Code extends ErrorCode = ErrorCode>(
  error: unknown,
  code?: Code
): error is ApiErrorOf<Code> =>
  typeof error === "object" &&
  error !== null &&
  mark in error &&
  "code" in error &&
  (code === undefined || error.code === code)

/** What every refusal has, whether a service in this process made it or a host answered it. */
export type ApiErrorOf<Code extends ErrorCode = ErrorCode> = Error &
  Pick<ApiError<Code>, "code" | "status" | "field_errors" | "retry_action" | "retry_after_seconds">
