import { Cause, Exit } from "effect"
import { StorageUnavailable } from "../storage/Storage.ts"
import * as ApiError from "../wire/ApiError.ts"

/**
 * Returns the value of an effect that has ended. If the effect failed, throws the error with which the call's promise
 * must reject. `signal` belongs to the call.
 */
export const valueOf = <A>(exit: Exit.Exit<A, unknown>, signal: AbortSignal | undefined): A => {
  if (Exit.isSuccess(exit)) return exit.value
  throw rejectionOf(exit.cause, signal)
}

/**
 * The error with which a call's promise rejects. It is a copy with the call's stack, because several callers may share
 * the same error.
 */
const rejectionOf = (cause: Cause.Cause<unknown>, signal: AbortSignal | undefined): unknown => {
  const error = Cause.squash(cause)
  if (error instanceof ApiError.ApiError) return ApiError.clone(error)
  if (error instanceof StorageUnavailable) {
    return ApiError.make("service_unavailable", { retry_after_seconds: error.retry_after_seconds })
  }
  if (Cause.hasInterruptsOnly(cause)) return signal?.aborted === true ? signal.reason : closed()
  return new Error(error instanceof Error ? error.message : "The service failed.", { cause: error })
}

/** The error for calls to a service that was closed. */
export const closed = () =>
  ApiError.make("service_unavailable", { message: "The service is closed.", retry_action: "none" })
