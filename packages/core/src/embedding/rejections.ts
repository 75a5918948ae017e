import { Cause, Exit, Predicate } from "effect"
import { StorageUnavailable } from "../storage/Storage.ts"
import * as ApiError from "../wire/ApiError.ts"

/**
 * The embedded service cannot start, or a call failed for a reason other than a refusal. The message says what
 * happened, and `cause` is the original error, such as `InvalidConfig` or the storage's `DatabaseRefused`.
 */
export class ServiceFailed extends Error {
  readonly _tag = "ServiceFailed"
  /** The code of the original error, such as `invalid_config`; `service_failed` if that error has no code. */
  readonly code: string
  static {
    ServiceFailed.prototype.name = "ServiceFailed"
  }
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : "The service failed.", { cause })
    this.code = isCoded(cause) ? cause.code : "service_failed"
  }
}

const isCoded = (error: unknown): error is { readonly code: string } =>
  Predicate.hasProperty(error, "_tag") && Predicate.hasProperty(error, "code") && typeof error.code === "string"

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
  return new ServiceFailed(error)
}

/** The error for calls to a service that was closed. */
export const closed = () =>
  ApiError.make("service_unavailable", { message: "The service is closed.", retry_action: "none" })
