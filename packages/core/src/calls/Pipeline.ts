import { Clock, Context, Effect, Exit, identity, Result } from "effect"
import { Access, type Credentials } from "../access/Access.ts"
import type { Caller, Grant } from "../access/Caller.ts"
import { Allowance } from "../access/limits/Allowance.ts"
import type { Cost } from "../access/limits/Limits.ts"
import { Workspaces } from "../access/Workspaces.ts"
import * as Monotonic from "../concurrency/Monotonic.ts"
import { type LineSet, Lines } from "../lines/Lines.ts"
import * as ApiError from "../wire/ApiError.ts"
import { joinWrongFields } from "../wire/FieldError.ts"
import type { RequestId } from "../wire/Ids.ts"
import * as Json from "../wire/Json.ts"
import type { Call, PersonsAnswer } from "./Call.ts"
import { type FinishedCall, notify, subjectOf, type Transport } from "./FinishedCall.ts"
import { IdempotentCalls, keyErrors } from "./IdempotentCalls.ts"
import * as Operation from "./Operation.ts"
import { type Refusal, refuse, toApiError } from "./Refusal.ts"
import { RequestLog } from "./RequestLog.ts"
import * as Revision from "./Revision.ts"
import { type AskedRevision, Revisions } from "./Revision.ts"

export type { PersonsAnswer } from "./Call.ts"

/** What a host knows about every request, even one that matches no operation. */
export interface RequestHead {
  readonly request_id: RequestId
  readonly credentials: Credentials
}

/** A call that a host passes to the pipeline. */
export interface Request extends RequestHead {
  /**
   * `{ header }`: the `Service-Version` header, or null if it was not sent. Null lets the workspace's pin decide, and
   * the workspace's first call stores the pin. `"current"`: always use the newest revision, as the agent endpoint
   * and embedded clients do, without reading or storing a pin.
   */
  readonly revision: AskedRevision
  /** The `Idempotency-Key`; null if it was not sent. */
  readonly idempotency_key: string | null
  /** How the call arrived, for the request log. By default the operation's own route, which suits embedded clients. */
  readonly transport?: Transport
  /** The person's answer, if the host asks for consent itself. The caller's input must never set it. */
  readonly person?: PersonsAnswer
  /**
   * Whether this call was already charged to the caller's rate limits. After the person answers a question, the host
   * runs the same call again.
   */
  readonly is_paid?: boolean
  /**
   * The input as one object, collected from all parts of the call.
   *
   * The pipeline reads it only after admitting the caller, so that an unknown caller's body is never read.
   */
  readonly input: Effect.Effect<unknown, ApiError.ApiError>
}

/** A successful response. */
export interface Reply<out Output = unknown> {
  /** The response in the newest revision. */
  readonly json: Json.Json<Output>
  /** The response in the caller's revision, as JSON text. Hosts send this text. */
  readonly text: string
  /** The date of the caller's revision, for the `Service-Version` header. */
  readonly revision: string
  /** Whether this is the response of an earlier call with the same `Idempotency-Key`. */
  readonly replayed: boolean
}

/** A request that matches no operation. */
export interface UnroutedRequest extends RequestHead {
  readonly transport: Transport
}

/** The services that the pipeline itself needs. */
export type PipelineServices = Access | Allowance | IdempotentCalls | RequestLog | Revisions | Workspaces

/** The services that every request needs, whether it matches an operation or not. */
type EntryServices = Access | Allowance | RequestLog

/**
 * Calls an operation in these steps: caller, revision, authority, allowance, input, run, log.
 *
 * Fails only with an `ApiError`. A defect is logged with the request ID and reported as `internal_error`.
 */
export const call = <Output, R>(
  operation: Operation.Operation<string, unknown, Output, R>,
  request: Request
): Effect.Effect<Reply<Output>, ApiError.ApiError, R | PipelineServices> => {
  const { method, path } = operation.route
  const transport = request.transport ?? { ...withoutWire, method, route: loggedPath(path) }
  return Effect.contextWith((services: Context.Context<PipelineServices>) =>
    logged(start(services, request, transport, operation), (state) => perform(operation, request, services, state))
  )
}

/**
 * Refuses a request that matches no operation, with `not_found`.
 *
 * With a valid key, the request is charged and logged like any other call, and may be refused with `rate_limited`. An
 * invalid key counts against the limit of the client's address, and gets the same response as a missing key.
 */
export const refuseUnrouted = (request: UnroutedRequest): Effect.Effect<never, ApiError.ApiError, EntryServices> =>
  request.credentials.key === null
    ? notFound
    : Effect.contextWith((services: Context.Context<EntryServices>) =>
        logged(start(services, request, request.transport, null), (state) => enterUnrouted(services, request, state))
      )

/**
 * Logs a request that its host has handled itself, if the request has a valid key.
 *
 * Other requests are not logged, but an invalid key counts against the limit of the client's address.
 */
export const logUnrouted = (
  request: UnroutedRequest & {
    readonly transport: { readonly status: number }
    readonly error_code: ApiError.ErrorCode | null
  }
): Effect.Effect<void, never, EntryServices> =>
  Effect.contextWith((services: Context.Context<EntryServices>) => {
    const state = start(services, request, request.transport, null)
    const { error_code, transport } = request
    return Effect.ignore(
      Effect.flatMap(authenticate(services, request.credentials), (caller) => {
        state.caller = caller
        return log(state, { status: transport.status, error_code, answer: null })
      })
    )
  })

/**
 * Identifies a caller without calling an operation. Hosts use this if a response depends on who calls.
 *
 * Fails with the same errors as `call`.
 */
export const identify = (request: RequestHead): Effect.Effect<Caller, ApiError.ApiError, Access | Allowance> =>
  Effect.contextWith((services: Context.Context<Access | Allowance>) =>
    Effect.catchCause(authenticate(services, request.credentials), (cause) =>
      refuse("identify", request.request_id, cause)
    )
  )

/**
 * Identifies a caller by an access token. `verify` checks the token and returns what the token grants.
 *
 * If `verify` fails with `authentication_failed`, this counts against the limit of the client's address, like a wrong
 * key. An address that has reached its limit is refused before its token is checked.
 */
export const identifyGrant = <G extends Grant, E extends { readonly _tag: string }>(
  { credentials: { address }, request_id }: RequestHead,
  verify: Effect.Effect<G, E>
): Effect.Effect<{ readonly caller: Caller; readonly grant: G }, ApiError.ApiError | E, Access | Allowance> =>
  Effect.gen(function* () {
    const access = yield* Access
    const allowance = yield* Allowance
    yield* allowance.mayAuthenticate(address)
    const grant = yield* countFailure(allowance, address, verify)
    const caller = yield* Effect.catchCause(access.admit(grant), (cause) => refuse("identify", request_id, cause))
    return { caller, grant }
  })

/** Charges for a request that uses storage but that its host handles itself. Fails with `rate_limited`. */
export const spendUnrouted = (
  { credentials }: Pick<RequestHead, "credentials">,
  caller: Caller
): Effect.Effect<void, ApiError.ApiError<"rate_limited">, Allowance> =>
  Allowance.use((allowance) => allowance.spend(caller, unroutedCost, credentials.address))

/** A route's path in the request log, in which `{id}` stands for each identifier (api.md, Request log entries). */
export const loggedPath = (path: string): string => path.replace(/\{\w+\}/g, "{id}")

/** A request in progress, and what is known about the request so far. */
interface CallState {
  readonly request_id: RequestId
  readonly transport: Transport
  /** The operation; null if the request matches no operation. */
  readonly operation: Pick<Operation.Operation, "about" | "name" | "route"> | null
  readonly services: Context.Context<RequestLog>
  /** When the request was received, in milliseconds of real time. */
  readonly created_at: number
  /** When the request was received, in milliseconds of monotonic time. */
  readonly began_ms: number
  caller: Caller | null
  /** The revision of the response or error; null until it is known. */
  revision: Revision.Revision | null
  /** The input, translated to the newest revision. */
  input: unknown
}

const start = (
  services: Context.Context<RequestLog>,
  { request_id }: RequestHead,
  transport: Transport,
  operation: CallState["operation"]
): CallState => {
  const clock = Context.get(services, Clock.Clock)
  const created_at = clock.currentTimeMillisUnsafe()
  const began_ms = Monotonic.millisOf(clock)
  return { request_id, transport, operation, services, created_at, began_ms, caller: null, revision: null, input: null }
}

/** Does the work of a request, and logs how the request ends. */
const logged = <A extends Reply, R>(
  state: CallState,
  work: (state: CallState) => Effect.Effect<A, Refusal, R>
): Effect.Effect<A, ApiError.ApiError, R> => {
  const name = state.operation?.name ?? "unrouted"
  return Effect.matchCauseEffect(work(state), {
    onSuccess: (reply) => {
      const status = state.operation?.route.status ?? 200
      return Effect.map(log(state, { status, error_code: null, answer: reply.json }), () => reply)
    },
    onFailure: (cause) =>
      refuse(name, state.request_id, cause).pipe(
        Effect.tapError((error) => log(state, { status: error.status, error_code: error._tag, answer: null })),
        Effect.mapError((error) => inRevision(state.revision, name, error))
      )
  })
}

/** Logs a request that has ended, if its caller is known. */
const log = (
  { began_ms, caller, created_at, input, operation, request_id, services, transport }: CallState,
  end: Pick<FinishedCall, "status" | "error_code"> & { readonly answer: Json.Json<unknown> | null }
): Effect.Effect<void> => {
  if (caller === null) return Effect.void
  const about = operation?.about
  const { quote_id, quote_request_id } = about === undefined ? noSubject : subjectOf(about, input, end.answer)
  const finished: FinishedCall = {
    request_id,
    created_at,
    duration_ms: Monotonic.sinceOf(Context.get(services, Clock.Clock), began_ms),
    caller,
    operation: operation?.name ?? null,
    transport,
    status: transport.status ?? end.status,
    error_code: end.error_code,
    quote_request_id,
    quote_id
  }
  Context.get(services, RequestLog).add(finished)
  return notify(services, finished)
}

const withoutWire = { status: null, user_agent: null, client_name: null, client_version: null }
const noSubject = { quote_request_id: null, quote_id: null }

const notFound = Effect.fail(ApiError.make("not_found"))

/** The cost of a request that matches no operation. */
const unroutedCost: Cost = { other: 1 }

const enterUnrouted = Effect.fnUntraced(function* (
  services: Context.Context<EntryServices>,
  { credentials }: UnroutedRequest,
  state: CallState
) {
  const caller = yield* Effect.orElseSucceed(authenticate(services, credentials), () => null)
  if (caller === null) return yield* notFound
  state.caller = caller
  yield* Context.get(services, Allowance).spend(caller, unroutedCost, credentials.address)
  return yield* notFound
})

/** Takes the steps of a call. */
const perform = Effect.fnUntraced(function* <Output, R>(
  operation: Operation.Operation<string, unknown, Output, R>,
  request: Request,
  services: Context.Context<PipelineServices>,
  state: CallState
) {
  const caller = yield* authenticate(services, request.credentials)
  state.caller = caller
  if (operation.available !== undefined && !(yield* operation.available)) return yield* ApiError.make("not_found")
  const revisions = Context.get(services, Revisions)
  const chosen = yield* revisions.choose(request.revision, caller.workspace_id)
  const entering = enter(operation, request, Context.get(services, Allowance), caller)
  // The first admitted call stores the workspace's pin, regardless of its result, unless its body is too large.
  const first = chosen === null ? yield* Effect.exit(entering) : null
  if (first !== null && isTooLarge(first)) return yield* Effect.failCause(first.cause)
  const revision = chosen ?? (yield* revisions.pin(caller.workspace_id))
  state.revision = revision
  const sentInput = yield* first ?? entering
  state.input = Revision.input(revision, operation.name, sentInput)
  if (!Operation.reaches(operation.authority, caller, state.input)) return yield* notFound
  // Read the moment only now, because the body may have arrived slowly.
  const workspaces = Context.get(services, Workspaces)
  const moment = yield* operation.optimistic === true
    ? workspaces.cached(caller.workspace_id)
    : workspaces.moment(caller.workspace_id)
  const { idempotency_key, person } = request
  const unasked: Call = { caller, moment, idempotency_key, revision: revision.date, sent: sentInput }
  const admitted = person === undefined ? unasked : { ...unasked, person }
  const lines = Context.get(services, Lines)
  const running = yield* prepare(operation, admitted, state.input, { lines, workspaces })
  if (!operation.idempotent) return replyOf(revision, operation, yield* running, false)
  const newest = revisions.current.date
  const { secret_field } = operation
  const { json, form, replayed } = yield* Context.get(services, IdempotentCalls).runOnce(
    { call: admitted, operation: operation.name, key: request.idempotency_key, form: newest },
    running,
    secret_field === undefined ? identity : (answer) => Json.withNull(answer, secret_field)
  )
  // If an older release stored the response, it is returned unchanged, in that release's revision.
  const answerRevision = form === newest ? revision : { date: form, differences: [] }
  return replyOf(answerRevision, operation, json, replayed)
})

/** Checks authority, charges the call, and then reads the input. */
const enter = (
  operation: Pick<Operation.Operation, "authority" | "cost">,
  request: Request,
  allowance: Allowance["Service"],
  caller: Caller
) =>
  Operation.admits(operation.authority, caller)
    ? Effect.andThen(
        request.is_paid === true ? Effect.void : allowance.spend(caller, operation.cost, request.credentials.address),
        request.input
      )
    : Effect.fail(ApiError.make("forbidden"))

const isTooLarge = (entered: Exit.Exit<unknown, Refusal>): entered is Exit.Failure<unknown, Refusal> =>
  Exit.isFailure(entered) && toApiError(entered.cause)?._tag === "request_too_large"

/** Decodes the input. If the input or the `Idempotency-Key` is wrong, reports every wrong field. */
const prepare = <Output, R>(
  operation: Operation.Operation<string, unknown, Output, R>,
  admitted: Call,
  input: unknown,
  { lines, workspaces }: { readonly lines: LineSet; readonly workspaces: Workspaces["Service"] }
) => {
  const { idempotent, optimistic, validateRest } = operation
  const key = idempotent ? keyErrors(admitted.idempotency_key) : []
  const prepared = operation.prepare(admitted, input, lines)
  if (Result.isSuccess(prepared) && key.length === 0) return Effect.succeed(prepared.success)
  const refused = joinWrongFields(key, Result.isFailure(prepared) ? prepared.failure : [])
  const now = optimistic === true ? workspaces.moment(admitted.caller.workspace_id) : Effect.succeed(admitted.moment)
  const validatedRest =
    validateRest === undefined
      ? Effect.succeed(joinWrongFields())
      : Effect.flatMap(now, (moment) => validateRest({ ...admitted, moment }, input, refused.found))
  const refusalOf = operation.refuse ?? ApiError.invalidInput
  return Effect.flatMap(validatedRest, (wrongRest) => Effect.fail(refusalOf(joinWrongFields(refused, wrongRest))))
}

/** An error in the caller's revision. Some errors are always in the newest revision (api.md, Choosing a revision). */
const inRevision = (
  revision: Revision.Revision | null,
  operation: string,
  error: ApiError.ApiError
): ApiError.ApiError =>
  revision === null || error._tag === "not_found" || error._tag === "request_too_large"
    ? error
    : Revision.refusal(revision, operation, error)

const replyOf = <Output>(
  revision: Revision.Revision,
  operation: Operation.Operation,
  json: Json.Json<Output>,
  replayed: boolean
): Reply<Output> => ({
  json,
  text: Revision.answer(revision, operation.name, json),
  revision: revision.date,
  replayed
})

/**
 * Identifies the caller, and counts an invalid key against the limit of the client's address.
 *
 * An address that has reached its limit is refused before its key is looked up, so that guessing keys puts no load on
 * storage. Keys that were recently found valid still work from that address.
 */
const authenticate = (services: Context.Context<Access | Allowance>, credentials: Credentials) => {
  const access = Context.get(services, Access)
  const allowance = Context.get(services, Allowance)
  const authenticated = countFailure(allowance, credentials.address, access.authenticate(credentials))
  return access.mayBeGuessed(credentials)
    ? Effect.andThen(allowance.mayAuthenticate(credentials.address), authenticated)
    : authenticated
}

/** Counts a failed authentication against the limit of the client's address. */
const countFailure = <A, E extends { readonly _tag: string }, R>(
  allowance: Allowance["Service"],
  address: string,
  identifying: Effect.Effect<A, E, R>
) =>
  Effect.catch(identifying, (error) => {
    const refused = Effect.fail(error)
    return error._tag === "authentication_failed"
      ? Effect.andThen(allowance.failedAuthentication(address), refused)
      : refused
  })
