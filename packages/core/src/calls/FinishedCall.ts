import { Cause, Context, Effect, Predicate, Schema } from "effect"
import type { Caller } from "../access/Caller.ts"
import * as Fault from "../concurrency/Fault.ts"
import type { ErrorCode } from "../wire/ApiError.ts"
import { QuoteId, QuoteRequestId, type RequestId } from "../wire/Ids.ts"

/**
 * How a call reached the service, as its host knows it.
 *
 * Nothing of a body, a key or a person belongs here: no query, and of an address only the pattern that it matched.
 */
export interface Transport {
  /** The HTTP method, as it was sent. */
  readonly method: string
  /** The matched path with `{id}` in place of each identifier, never the path that was sent. */
  readonly route: string
  /** The HTTP status of whatever comes of the call; null where the operation and its refusals say it, as in REST. */
  readonly status: number | null
  /** The `User-Agent` that was sent. */
  readonly user_agent: string | null
  /** What a client of the agent endpoint says of itself. */
  readonly client_name: string | null
  readonly client_version: string | null
}

/** What the `id` in an operation's input names; where the input has none, the answer names a new quote request. */
export type About = "quote_request" | "quote"

/** The quote request and the quote that a call or its answer names. */
export interface Named {
  readonly quote_request_id: QuoteRequestId | null
  readonly quote_id: QuoteId | null
}

/** Reads off a call what it names; what has not the form of an identifier names nothing, and is not repeated. */
export const named = (about: About, input: unknown, answer: string | null): Named => {
  const id = Predicate.hasProperty(input, "id") ? input.id : null
  if (about === "quote") return { quote_id: isQuoteId(id) ? id : null, quote_request_id: firstRequest(answer) }
  return { quote_id: null, quote_request_id: isQuoteRequestId(id) ? id : firstRequest(answer) }
}

const isQuoteId = Schema.is(QuoteId)
const isQuoteRequestId = Schema.is(QuoteRequestId)

/** A request's answer begins with its own identifier, and a quote's with that of its request. */
const firstRequest = (answer: string | null): QuoteRequestId | null => {
  const id = answer === null ? null : /"(qreq_[^"]*)"/.exec(answer)?.[1]
  return isQuoteRequestId(id) ? id : null
}

/** What is known of a request when it has been answered: no body, no key, nothing of a person. */
export interface FinishedCall extends Named {
  readonly request_id: RequestId
  /** When it was received: real time in milliseconds. */
  readonly created_at: number
  readonly duration_ms: number
  readonly caller: Caller
  /** Null where the request has reached no operation. */
  readonly operation: string | null
  readonly via: Transport
  /** The HTTP status of the answer. */
  readonly status: number
  /** Null when the call succeeded. */
  readonly error_code: ErrorCode | null
}

/**
 * Takes note of every call when it has been answered: with a valid key, or keyless where that is let in. Refused callers are
 * not told of.
 *
 * It must not throw and must not wait. Where it throws that is logged, and the call is answered all the same.
 */
export const OnFinishedCall = Context.Reference<(call: FinishedCall) => void>("@quotewire/core/OnFinishedCall", {
  defaultValue: () => () => {}
})

/** Tells `OnFinishedCall` of a call. */
export const tell = (services: Context.Context<never>, call: FinishedCall): Effect.Effect<void> => {
  try {
    Context.get(services, OnFinishedCall)(call)
    return Effect.void
  } catch (defect) {
    const log = Fault.log("OnFinishedCall has failed", Cause.die(defect))
    return Effect.annotateLogs(log, { request_id: call.request_id })
  }
}
