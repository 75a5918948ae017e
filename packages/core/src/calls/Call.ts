import type { Caller } from "../access/Caller.ts"
import type { Moment } from "../access/Workspaces.ts"

/**
 * The person's answer to a consent question that the host itself asks, for example in a form that an agent program
 * shows.
 *
 * `pending`: the person has not been asked yet. The operation then checks everything else and refuses the call, so that
 * the person is asked only if the call is otherwise valid.
 */
export type PersonsAnswer = "pending" | "agreed" | "declined"

/** A call as an operation's `run` receives it. The pipeline has checked everything except the meaning of the input. */
export interface Call {
  readonly caller: Caller
  /**
   * The caller's workspace, and the workspace time at which the call arrived. Read from a cache if the operation is
   * `optimistic`.
   */
  readonly moment: Moment
  /** The call's `Idempotency-Key`; null if the call has no such header. */
  readonly idempotency_key: string | null
  /**
   * The date of the API revision in which the caller receives the response. `run` itself always uses the newest
   * revision.
   */
  readonly revision: string
  /** The input as sent, in the caller's revision. A retry is recognized by comparing this input. */
  readonly sent: unknown
  /**
   * The person's answer, if the host asks for consent itself. Absent over REST, where the input contains the consents.
   */
  readonly person?: PersonsAnswer
}
