import { Effect, Predicate } from "effect"
import type { Environment } from "../access/Caller.ts"
import * as Fault from "../concurrency/Fault.ts"
import type { LineName } from "../lines/LineName.ts"
import { dayOf } from "../wire/CalendarDay.ts"
import * as AnswerRules from "./AnswerRules.ts"
import type { CarrierAsk, CarrierLine, ConnectionFields, ConnectionTest, ConnectionValues } from "./Carrier.ts"
import type {
  Answer,
  CarrierCall,
  CarrierDefinition,
  CarrierReview,
  ConnectionCall,
  LineTerms
} from "./CarrierDefinition.ts"
import * as CarrierFailure from "./CarrierFailure.ts"
import * as CarrierHttp from "./http/CarrierHttp.ts"
import { CarrierHttpError } from "./http/CarrierHttpError.ts"
import type { CarrierHttpOptions } from "./http/CarrierHttpOptions.ts"
import * as ExchangeDraft from "./recorder/ExchangeDraft.ts"

/*
 * Calls the functions of a `defineCarrier` definition: prepares what they receive, and turns their results and errors
 * into the adapter's answers.
 */

/** The parts of a definition that determine how its functions are called. */
interface DefinitionParts {
  readonly lines: { readonly [name: string]: LineTerms }
  readonly connection?: ConnectionFields
  readonly http?: CarrierHttpOptions | undefined
}

/** Whether a connection has all the fields that the definition declares. */
const hasAllFields = ({ connection = {} }: DefinitionParts, values: unknown): boolean =>
  Object.keys(connection).every((field) => Predicate.hasProperty(values, field) && typeof values[field] === "string")

/**
 * Whether an ask fits a definition: the definition has the ask's line, and the connection has all declared fields.
 *
 * The service decodes facts with the schema of their line, so the line determines the type of the facts.
 */
const fits = (shape: DefinitionParts, { line, connection }: CarrierAsk): boolean =>
  Object.hasOwn(shape.lines, line) && hasAllFields(shape, connection)

const mismatchError = () =>
  new Error(
    "The ask does not match the carrier's definition: the definition lacks the ask's line, or the connection lacks a field"
  )

/** An ask in the form that a definition's functions receive. It is not checked yet. */
const askOf = (ask: CarrierAsk) => ({ ...ask, connection: ask.connection ?? {} })

/** The fields that a definition's functions always receive. */
type ConnectionContext = Pick<CarrierAsk, "connection" | "environment">
type Limits = Pick<CarrierLine, "attempt_timeout_ms" | "idempotent">

/**
 * Calls a function with an HTTP client and a signal. Dies if the call lacks something that the function's type
 * promises.
 */
const callWith = <G extends ConnectionContext, Call, A>(
  shape: DefinitionParts,
  {
    given: connection,
    isCall,
    limits
  }: { readonly given: G; readonly isCall: (call: G) => call is G & Call; readonly limits: Limits },
  answer: (call: Call) => Answer<A>
): Effect.Effect<A, unknown> =>
  withSignal((signal) =>
    Effect.flatMap(httpOf(shape, connection, limits, signal), (http) => {
      const call = { ...connection, http, signal }
      return isCall(call) ? settled(() => answer(call)) : Effect.die(mismatchError())
    })
  )

/** Makes a function that calls the functions of a definition. A line without its own limits gets `defaultLimits`. */
export const makeCallFunction =
  <Name extends LineName, Fields extends ConnectionFields, Http extends CarrierHttpOptions | undefined>(
    definition: CarrierDefinition<Name, Fields, Http>,
    defaultLimits: Limits
  ) =>
  <A>(ask: CarrierAsk, answer: (call: CarrierCall<Name, Fields, Http>) => Answer<A>): Effect.Effect<A, unknown> => {
    const { lines }: DefinitionParts = definition
    return callWith(
      definition,
      {
        given: askOf(ask),
        isCall: (call): call is typeof call & CarrierCall<Name, Fields, Http> => fits(definition, call),
        limits: { ...defaultLimits, ...lines[ask.line] }
      },
      answer
    )
  }

/** Makes a function that calls the definition's `testConnection`. */
export const makeConnectionTester =
  <Name extends LineName, Fields extends ConnectionFields, Http extends CarrierHttpOptions | undefined>(
    definition: CarrierDefinition<Name, Fields, Http>,
    defaultLimits: Limits
  ) =>
  (
    place: { readonly environment: Environment; readonly connection: ConnectionValues },
    answer: (call: ConnectionCall<Fields, Http>) => Answer<ConnectionTest>
  ): Effect.Effect<ConnectionTest> =>
    callWith(
      definition,
      {
        given: place,
        isCall: (call): call is typeof call & ConnectionCall<Fields, Http> => hasAllFields(definition, call.connection),
        limits: { ...defaultLimits, idempotent: true }
      },
      answer
    ).pipe(onHttpError(notConnected))

const notConnected = ({ reason, status }: CarrierHttpError): ConnectionTest => ({
  ok: false,
  message: status === null ? `The carrier gave no answer: ${reason}.` : `The carrier answered ${status}.`
})

const httpOf = (
  { http }: DefinitionParts,
  { connection = {}, environment }: ConnectionContext,
  { attempt_timeout_ms: timeout_ms, idempotent }: Limits,
  signal: AbortSignal
) =>
  http === undefined
    ? Effect.undefined
    : CarrierHttp.make(http, { environment, connection, timeout_ms, idempotent, signal })

/** The argument of `appetite` for an ask. */
export const reviewOf = <
  Name extends LineName,
  Fields extends ConnectionFields,
  Http extends CarrierHttpOptions | undefined
>(
  definition: CarrierDefinition<Name, Fields, Http>,
  ask: CarrierAsk
): CarrierReview<Name, Fields> => {
  const isReview = (carrierAsk: CarrierAsk): carrierAsk is CarrierAsk & CarrierReview<Name, Fields> =>
    fits(definition, carrierAsk)
  const review = { ...askOf(ask), on: dayOf(ask.now) }
  if (!isReview(review)) throw mismatchError()
  return review
}

/** Provides a signal that is aborted when the effect is interrupted, for example because its time is up. */
const withSignal = <A, E>(run: (signal: AbortSignal) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    const controller = new AbortController()
    return Effect.onInterrupt(run(controller.signal), () => Effect.sync(() => controller.abort()))
  })

/** Calls a function that may return a value, a promise or an Effect. Succeeds with the value. */
export const settled = <A>(call: () => Answer<A>): Effect.Effect<A, unknown> =>
  Effect.tryPromise({ try: async () => call(), catch: (thrown) => thrown }).pipe(
    Effect.flatMap((answer): Effect.Effect<A, unknown> => (Effect.isEffect(answer) ? answer : Effect.succeed(answer)))
  )

/** Turns a `CarrierHttpError` into a value. Any other error is a fault in the adapter. */
const onHttpError =
  <B>(value: (error: CarrierHttpError) => B) =>
  <A>(call: Effect.Effect<A, unknown>): Effect.Effect<A | B> =>
    Effect.catchDefect(Effect.orDie(call), (thrown) =>
      thrown instanceof CarrierHttpError ? Effect.as(logHttpError(thrown), value(thrown)) : Effect.die(thrown)
    )

/** Logs a `CarrierHttpError`, and adds it to the record of the exchange. */
const logHttpError = (error: CarrierHttpError): Effect.Effect<void> => {
  const { broken_rules = [], reason, status } = error
  const fault = Fault.classOf(error)
  return Effect.logWarning("A carrier was unreachable or sent no usable answer").pipe(
    Effect.annotateLogs({ reason, status, fault, ...AnswerRules.annotation(broken_rules) }),
    Effect.andThen(ExchangeDraft.note((draft) => draft.failed(fault, broken_rules)))
  )
}

/** Turns a `CarrierHttpError` into the reply that it stands for. */
export const unavailableIfFailed = onHttpError(CarrierFailure.ofThrown)
