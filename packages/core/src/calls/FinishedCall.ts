import { Cause, Context, Effect, Predicate, Schema } from "effect"
import type { Caller } from "../access/Caller.ts"
import * as Fault from "../concurrency/Fault.ts"
import type { ErrorCode } from "../wire/ApiError.ts"
import { QuoteId, QuoteRequestId, type RequestId } from "../wire/Ids.ts"

/**
 * How a call reached the service, as its host knows it.
 *
 * It holds nothing from a body, a key or a person: no query, and only the pattern of the path.
 */
export interface Transport {
  /** The HTTP method, as sent. */
  readonly method: string
  /** The matched path with `{id}` in place of each identifier, never the path that was sent. */
  readonly route: string
  /** The HTTP status, if it does not depend on the result of the call; null if it does, as in REST. */
  readonly status: number | null
  /** The `User-Agent` header. */
  readonly user_agent: string | null
  /** The name that a client of the agent endpoint gives itself. */
  readonly client_name: string | null
  readonly client_version: string | null
}

/** What the `id` in an operation's input refers to. Without an `id`, the answer refers to a new quote request. */
export type About = "quote_request" | "quote"

/** The quote request and the quote that a call is about. */
export interface CallSubject {
  readonly quote_request_id: QuoteRequestId | null
  readonly quote_id: QuoteId | null
}

/** Finds the ids that a call is about. Ignores text that does not have the form of an id, so that it is never logged. */
export const subjectOf = (about: About, input: unknown, answer: string | null): CallSubject => {
  const id = Predicate.hasProperty(input, "id") ? input.id : null
  if (about === "quote") return { quote_id: isQuoteId(id) ? id : null, quote_request_id: firstRequest(answer) }
  return { quote_id: null, quote_request_id: isQuoteRequestId(id) ? id : firstRequest(answer) }
}

const isQuoteId = Schema.is(QuoteId)
const isQuoteRequestId = Schema.is(QuoteRequestId)

/** The first quote request id in an answer: a request's own id, or the id of a quote's request. */
const firstRequest = (answer: string | null): QuoteRequestId | null => {
  const id = answer === null ? null : /"(qreq_[^"]*)"/.exec(answer)?.[1]
  return isQuoteRequestId(id) ? id : null
}

/** An answered request: no body, no key, nothing about a person. */
export interface FinishedCall extends CallSubject {
  readonly request_id: RequestId
  /** When it was received: real time in milliseconds. */
  readonly created_at: number
  readonly duration_ms: number
  readonly caller: Caller
  /** Null if the request reached no operation. */
  readonly operation: string | null
  readonly transport: Transport
  /** The HTTP status of the answer. */
  readonly status: number
  /** Null if the call succeeded. */
  readonly error_code: ErrorCode | null
}

/**
 * Called after every answered call: with a valid key, or keyless if that is allowed. Calls with a refused key are left
 * out.
 *
 * It must neither throw nor block. If it throws, the service logs that, and the answer does not change.
 */
export const OnFinishedCall = Context.Reference<(call: FinishedCall) => void>("@quotewire/core/OnFinishedCall", {
  defaultValue: () => () => {}
})

/** Reports a call to `OnFinishedCall`. */
export const notify = (services: Context.Context<never>, call: FinishedCall): Effect.Effect<void> => {
  try {
    Context.get(services, OnFinishedCall)(call)
    return Effect.void
  } catch (defect) {
    const log = Fault.log("OnFinishedCall has failed", Cause.die(defect))
    return Effect.annotateLogs(log, { request_id: call.request_id })
  }
}
