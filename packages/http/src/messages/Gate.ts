import { type ApiError, type Caller, Pipeline } from "@quotewire/core"
import { Effect } from "effect"
import type { Challenged } from "./Challenge.ts"

/** A sender who was admitted. */
export interface Admitted {
  readonly caller: Caller.Caller
  /** The credentials for everything that the request does. */
  readonly credentials: Pipeline.RequestHead["credentials"]
  /** The kinds of caller that the sender could become by signing in; empty if the sender cannot sign in. */
  readonly obtainable_kinds: ReadonlyArray<Caller.CallerKind>
}

/** Decides who may send messages to an endpoint, and how other senders are refused. */
export interface Gate {
  /** Identifies the sender of a request. Counts a wrong key or token against the sender's address. */
  readonly admit: (
    request: Pipeline.RequestHead
  ) => Effect.Effect<Admitted, ApiError.ApiError | Challenged, Pipeline.PipelineServices>
  /**
   * Creates the refusal for an admitted sender that lacks authority. It is a challenge if signing in could give the
   * sender that authority.
   */
  readonly refuse: (admitted: Admitted, error: ApiError.ApiError) => ApiError.ApiError | Challenged
}

/** Admits callers with an API key. Admits callers without a key only if the service has a workspace for them. */
export const keysOnly: Gate = {
  admit: (request) =>
    Effect.map(Pipeline.identify(request), (caller) => ({
      caller,
      credentials: request.credentials,
      obtainable_kinds: []
    })),
  refuse: (_admitted, error) => error
}
