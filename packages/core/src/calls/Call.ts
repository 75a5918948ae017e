import type { Caller } from "../access/Caller.ts"
import type { Moment } from "../access/Workspaces.ts"

/** A call as an operation's `run` sees it: everything about it has been checked but the input's meaning. */
export interface Call {
  readonly caller: Caller
  /** The caller's workspace, and its time when the call arrived; as it is remembered where the operation says so. */
  readonly moment: Moment
  /** The `Idempotency-Key` that came with the call, if any. */
  readonly idempotency_key: string | null
  /** The date of the revision that the answer is told in. What `run` answers is in the newest form, whatever stands here. */
  readonly revision: string
  /** The input as it was sent, in the caller's revision: what repeats are compared by. */
  readonly sent: unknown
}
