import { Cause, Effect, Option } from "effect"
import type { StorageUnavailable } from "../storage/Storage.ts"
import * as ApiError from "../wire/ApiError.ts"

/** The reasons why the pipeline can refuse a call. */
export type Refusal = ApiError.ApiError | StorageUnavailable

/** The error that a cause contains; null if the cause contains a defect. */
export const toApiError = (cause: Cause.Cause<Refusal>): ApiError.ApiError | null => {
  const failure = Cause.findErrorOption(cause)
  if (Option.isNone(failure)) return null
  const error = failure.value
  return error._tag === "StorageUnavailable"
    ? ApiError.make("service_unavailable", { retry_after_seconds: error.retry_after_seconds })
    : error
}

/**
 * Fails with the error that a cause contains. If the cause contains a defect, logs the defect and fails with
 * `internal_error`.
 */
export const refuse = (
  operation: string,
  request_id: string,
  cause: Cause.Cause<Refusal>
): Effect.Effect<never, ApiError.ApiError> => {
  const error = toApiError(cause)
  if (error !== null) return Effect.fail(error)
  if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
  return Effect.logError("A call failed", cause).pipe(
    Effect.annotateLogs({ operation, request_id }),
    Effect.andThen(Effect.fail(ApiError.make("internal_error")))
  )
}
