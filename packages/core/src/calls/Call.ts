import type { Caller } from "../access/Caller.ts"
import type { Moment } from "../access/Workspaces.ts"

/**
 * What a person said whom the host itself asks for consent, for example in a form of the program that runs an agent.
 *
 * `pending`: not asked yet. The operation checks everything else first, and then refuses the call, so that a person is asked
 * only for what can go on.
 */
export type PersonsAnswer = "pending" | "agreed" | "declined"

/** A call as an operation's `run` receives it: everything was checked except what the input means. */
export interface Call {
  readonly caller: Caller
  /** The caller's workspace, and its time when the call arrived. Cached for operations that are `optimistic`. */
  readonly moment: Moment
  /** The `Idempotency-Key` of the call, if any. */
  readonly idempotency_key: string | null
  /** The date of the revision of the answer. `run` itself always answers in the newest form. */
  readonly revision: string
  /** The input as sent, in the caller's revision. Repeats are compared by it. */
  readonly sent: unknown
  /** What the person said; absent if the consents in the input are all there is, as over REST. */
  readonly person?: PersonsAnswer
}
