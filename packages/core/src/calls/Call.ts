import type { Caller } from "../access/Caller.ts"
import type { Moment } from "../access/Workspaces.ts"

/**
 * A person's answer to a host that asks for consent itself, for example in a form that an agent program shows.
 *
 * `pending`: not asked yet. The operation then checks everything else and refuses the call, so that the person is asked
 * only if the start is otherwise valid.
 */
export type PersonsAnswer = "pending" | "agreed" | "declined"

/** A call, as an operation's `run` receives it. Everything has been checked except what the input means. */
export interface Call {
  readonly caller: Caller
  /** The caller's workspace, and its time when the call arrived. Cached for operations that are `optimistic`. */
  readonly moment: Moment
  /** The `Idempotency-Key` of the call, if any. */
  readonly idempotency_key: string | null
  /** The date of the revision in which the caller gets the answer. `run` itself always answers in the newest form. */
  readonly revision: string
  /** The input as sent, in the caller's revision. Retries are compared by it. */
  readonly sent: unknown
  /**
   * The person's answer, if the host asks for consent itself. Absent over REST: there the input contains the consents.
   */
  readonly person?: PersonsAnswer
}
