import { Data } from "effect"
import type { NoAnswerReason } from "../Carrier.ts"

/** Why a request to a carrier has no usable answer. STAND-IN: replaced on merge. */
export class CarrierHttpError extends Data.TaggedError("CarrierHttpError")<{
  readonly reason: NoAnswerReason
  readonly status: number | null
  readonly retry_after_ms: number | null
  readonly code: string
  readonly message: string
}> {}
