import { Cache, Effect, Random } from "effect"
import { HttpClientRequest } from "effect/http"
import type { Environment } from "../../access/Caller.ts"
import type { ConnectionValues } from "../Carrier.ts"
import * as TimeBudget from "../TimeBudget.ts"
import { authorized, inEnvironment } from "./Auth.ts"
import { type CarrierHttpError, CarrierHttpMistake, jitterMs, pauseBeforeRepeat, timedOut } from "./CarrierHttpError.ts"
import { type CarrierHttpOptions, defaultMaxBytes, optionMistakes } from "./CarrierHttpOptions.ts"
import { type CarrierMethod, type CarrierRequestOptions, type Prepared, prepare } from "./CarrierRequest.ts"
import {
  type CarrierResponse,
  type EffectCarrierResponse,
  FailingAnswer,
  type ReceivedResponse,
  ThrowingAnswer
} from "./CarrierResponse.ts"
import * as Tokens from "./CarrierTokens.ts"
import * as SentRequest from "./SentRequest.ts"

type SendRequest<Answer> = (path: string, options?: CarrierRequestOptions) => Answer

interface Methods<Answer> {
  /** Sends a request with any method. */
  readonly request: (method: CarrierMethod, path: string, options?: CarrierRequestOptions) => Answer
  readonly get: SendRequest<Answer>
  readonly post: SendRequest<Answer>
  readonly put: SendRequest<Answer>
  readonly patch: SendRequest<Answer>
  readonly delete: SendRequest<Answer>
}

/**
 * An adapter's HTTP client, for one call of the adapter.
 *
 * A path begins with `/` and is relative to `base_url`. A path can also be a link that the carrier sent, to the same
 * origin. Each method ends within the line's `attempt_timeout_ms`. A request that fails, or whose call the service
 * cancels, rejects with a `CarrierHttpError`.
 *
 * @example
 * const answer = await http.get("/quotes/{id}", { params: { id: ref }, accept: [404] })
 */
export interface CarrierHttp extends Methods<Promise<CarrierResponse>> {
  /** The same methods as Effects. */
  readonly effect: Methods<Effect.Effect<EffectCarrierResponse, CarrierHttpError>>
}

/** The adapter call for which a client is made. */
export interface CarrierHttpContext {
  readonly environment: Environment
  readonly connection: ConnectionValues
  /** The line's `attempt_timeout_ms`: the longest that one request may take, including its retry. */
  readonly timeout_ms: number
  /** Whether requests may be sent twice; a request's own `idempotent` option overrides this. */
  readonly idempotent: boolean
  /** Cancels all requests when it aborts. */
  readonly signal?: AbortSignal
}

/**
 * Makes a client. Promises use the `CarrierTransport` of the fiber that made the client. Effects use the
 * `CarrierTransport` of the fiber that runs them.
 */
export const make = (options: CarrierHttpOptions, context: CarrierHttpContext): Effect.Effect<CarrierHttp> =>
  Effect.map(Effect.context<never>(), (services) => {
    const call = caller(options, context)
    const run = Effect.runPromiseWith(services)
    return {
      ...methodsOf((...args) => {
        const { signal } = context
        const answer = run(signal?.aborted === true ? Effect.interrupt : call(...args), { signal }).then(
          (received) => new ThrowingAnswer(received)
        )
        // The adapter may no longer be waiting for this promise, and an unhandled rejection would end the whole
        // process.
        answer.catch(() => {})
        return answer
      }),
      effect: methodsOf((...args) =>
        Effect.map(untilAborted(context.signal)(call(...args)), (received) => new FailingAnswer(received))
      )
    }
  })

const methodsOf = <Answer>(request: Methods<Answer>["request"]): Methods<Answer> => ({
  request,
  get: (path, options) => request("GET", path, options),
  post: (path, options) => request("POST", path, options),
  put: (path, options) => request("PUT", path, options),
  patch: (path, options) => request("PATCH", path, options),
  delete: (path, options) => request("DELETE", path, options)
})

/** Implements the methods for both forms of a client: promises and Effects. */
const caller =
  (options: CarrierHttpOptions, context: CarrierHttpContext) =>
  (
    method: CarrierMethod,
    path: string,
    requested: CarrierRequestOptions = {}
  ): Effect.Effect<ReceivedResponse, CarrierHttpError> =>
    Effect.gen(function* () {
      checkOptions(options, context)
      const prepared = prepare(baseOf(options, context.environment), { method, path }, requested, options.headers)
      const timeoutMs = timeoutOf(prepared, context, requested)
      const attempt = attemptOf(options, context, prepared, requested)
      return yield* withRepeats(attempt, requested.idempotent ?? context.idempotent).pipe(
        TimeBudget.withinLimit({ millis: timeoutMs }, () => timedOut(prepared.target, timeoutMs))
      )
    }).pipe(Effect.tapDefect((defect) => (defect instanceof CarrierHttpMistake ? logMistake(defect) : Effect.void)))

const baseOf = ({ base_url }: CarrierHttpOptions, environment: Environment): string =>
  inEnvironment(base_url, environment).replace(/\/+$/, "")

const checkOptions = (options: CarrierHttpOptions, { connection }: CarrierHttpContext): void => {
  const faults = optionMistakes(options, Object.keys(connection))
  if (faults.length === 0) return
  const message = faults.map((fault) => `http.${fault.path}: ${fault.message}`).join(" ")
  throw new CarrierHttpMistake({ message })
}

const timeoutOf = (
  { target }: Prepared,
  context: CarrierHttpContext,
  { timeout_ms }: CarrierRequestOptions
): number => {
  if (timeout_ms !== undefined && !(timeout_ms > 0)) {
    const message = `${target.method} ${target.path} at ${target.host}: timeout_ms must be greater than 0.`
    throw new CarrierHttpMistake({ message })
  }
  return Math.min(context.timeout_ms, timeout_ms ?? context.timeout_ms)
}

/**
 * Logs a mistake with its message, which contains no values. Code that catches the defect later may omit the message.
 */
export const logMistake = ({ message }: CarrierHttpMistake): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logError("A carrier's adapter misuses its HTTP client"), { mistake: message })

/** A failed attempt. */
interface Failed {
  readonly error: CarrierHttpError
  /** Whether the request itself was sent, and not just the request for its token. */
  readonly isSent: boolean
  /** Drops the token that the request used; null if the request used no token. */
  readonly dropToken: Effect.Effect<void> | null
}

/** Makes one attempt: authorizes the request, sends it, and reads the response. */
const attemptOf = (
  options: CarrierHttpOptions,
  { environment, connection }: CarrierHttpContext,
  { request, target }: Prepared,
  { accept = [] }: CarrierRequestOptions
): Effect.Effect<ReceivedResponse, Failed> => {
  const { auth, redact = [], max_bytes = defaultMaxBytes } = options
  const sentRequest: SentRequest.SentRequest = { ...target, purpose: "call", redact, accept }
  const send = (outgoing: HttpClientRequest.HttpClientRequest, dropToken: Failed["dropToken"]) =>
    Effect.mapError(SentRequest.send(outgoing, sentRequest, { max_bytes }), (error): Failed => {
      return { error, isSent: true, dropToken }
    })
  if (auth?.kind !== "oauth") return send(auth === undefined ? request : authorized(request, auth, connection), null)
  return Effect.gen(function* () {
    const tokens = yield* Tokens.CarrierTokens
    const grant = Tokens.grantOf(auth, baseOf(options, environment), environment, connection)
    const token = yield* Effect.mapError(Cache.get(tokens, grant), (error): Failed => {
      return { error, isSent: false, dropToken: null }
    })
    const dropToken = Tokens.drop(tokens, grant, token)
    return yield* send(HttpClientRequest.bearerToken(request, token.access_token), dropToken)
  })
}

/**
 * Retries a failed attempt. If the carrier refuses the token (401), retries once with a new token. If the error is
 * temporary and there is time left, retries once more, unless the request was sent and must not be sent twice.
 */
const withRepeats = (attempt: Effect.Effect<ReceivedResponse, Failed>, isIdempotent: boolean) => {
  const run = (done: {
    readonly renewed: boolean
    readonly repeated: boolean
  }): Effect.Effect<ReceivedResponse, CarrierHttpError> =>
    Effect.catch(
      attempt,
      Effect.fnUntraced(function* ({ error, isSent, dropToken }) {
        if (error.status === 401 && dropToken !== null && !done.renewed) {
          yield* dropToken
          return yield* run({ ...done, renewed: true })
        }
        if (done.repeated || (isSent && !isIdempotent)) return yield* error
        const pauseMs = pauseBeforeRepeat(error, yield* TimeBudget.leftMs, yield* Random.nextIntBetween(0, jitterMs))
        if (pauseMs === null) return yield* error
        yield* Effect.sleep(pauseMs)
        return yield* run({ ...done, repeated: true })
      })
    )
  return run({ renewed: false, repeated: false })
}

/** Interrupts an effect when the signal is aborted. */
const untilAborted =
  (signal: AbortSignal | undefined) =>
  <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    signal === undefined ? effect : Effect.raceFirst(aborted(signal), effect)

const aborted = (signal: AbortSignal): Effect.Effect<never> =>
  Effect.callback((resume) => {
    const abort = () => resume(Effect.interrupt)
    if (signal.aborted) return abort()
    signal.addEventListener("abort", abort, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", abort))
  })
