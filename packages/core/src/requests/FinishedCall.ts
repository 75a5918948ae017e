import { Context } from "effect"
import type { ErrorCode } from "../ApiError.ts"
import type { Caller } from "../access/Caller.ts"

/** What is known of a call when it has ended: no body, no key, nothing of a person. */
export interface FinishedCall {
  readonly request_id: string
  /** Real time in milliseconds. */
  readonly created_at: number
  readonly duration_ms: number
  readonly caller: Caller
  readonly operation: string
  /** Null when the call succeeded. */
  readonly error_code: ErrorCode | null
}

/** Takes note of every call with a valid key when it has ended. It must not throw and must not wait. */
export const OnFinishedCall = Context.Reference<(call: FinishedCall) => void>("@quotewire/core/OnFinishedCall", {
  defaultValue: () => () => {}
})
