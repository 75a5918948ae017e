import type { Caller } from "../access/Caller.ts"
import type { Moment } from "../access/Workspaces.ts"

/**
 * The person's answer, for a host that asks for consent itself, for example in a form that an agent program shows.
 *
 * `pending`: the person was not asked yet. The operation then checks everything else and refuses the call, so that the
 * person is asked only if the call is otherwise valid.
 */
export type PersonsAnswer = "pending" | "agreed" | "declined"

/**
 * A call as an operation's `run` receives it. Everything was checked except what depends on the meaning of the input.
 */
export interface Call {
  readonly caller: Caller
  /**
   * The caller's workspace, and its time when the call arrived. It comes from a cache for operations that are
   * `optimistic`.
   */
  readonly moment: Moment
  /** The call's `Idempotency-Key`; null if none was sent. */
  readonly idempotency_key: string | null
  /**
   * The date of the revision in which the caller gets the response. `run` itself always uses the newest revision.
   */
  readonly revision: string
  /** The input as sent, in the caller's revision. A retry is recognized by comparing this input. */
  readonly sent: unknown
  /**
   * The person's answer, if the host asks for consent itself. Absent over REST, where the input contains the consents.
   */
  readonly person?: PersonsAnswer
}
