import { Cause, Clock, Context, Effect, Exit, identity, Option, Result, type Schema } from "effect"
import { Access, type Credentials } from "../access/Access.ts"
import { Allowance } from "../access/Allowance.ts"
import type { Caller, CallerKind } from "../access/Caller.ts"
import type { Cost } from "../access/Limits.ts"
import { Workspaces } from "../access/Workspaces.ts"
import type { StorageUnavailable } from "../storage/Storage.ts"
import * as ApiError from "../wire/ApiError.ts"
import { together } from "../wire/FieldError.ts"
import { decoder } from "../wire/Input.ts"
import * as Json from "../wire/Json.ts"
import { authenticate as authenticateWith } from "./authenticate.ts"
import type { Call } from "./Call.ts"
import { type About, type FinishedCall, named, OnFinishedCall, type Transport, tell } from "./FinishedCall.ts"
import { Answers, keyErrors } from "./Idempotency.ts"
import { RequestLog } from "./RequestLog.ts"
import * as Revision from "./Revision.ts"
import { type AskedRevision, Revisions } from "./Revisions.ts"

export { note, refuse as miss, type UnroutedRequest } from "./UnroutedRequest.ts"
export { type FinishedCall, OnFinishedCall, type Transport }

/** How a query parameter is written in an address. */
export type QueryType = "string" | "integer"

/** Where an operation stands in the REST interface. Input fields that are in neither path nor query are the body. */
export interface Route {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE"
  /** Path with `{name}` in place of an input field. */
  readonly path: string
  readonly query: Readonly<Record<string, QueryType>>
  /** HTTP status of success. */
  readonly status: 200 | 201 | 202
  /** Where the resource that was made can be read, from the `id` that the answer begins with. */
  readonly location?: (id: string) => string
}

/** Who may call: the kinds of caller, and the environment where it is bound to one. Others get `forbidden`. */
export interface Authority {
  readonly callers: ReadonlyArray<CallerKind>
  readonly environment?: "sandbox"
  /** Whether callers other than servers need the read handle of the quote request. */
  readonly by_handle?: true
}

/** What the definition of an operation says. */
export interface Definition<Name extends string, Input, Output, R> {
  readonly name: Name
  /** A few words, as in a table of contents. */
  readonly summary: string
  /** What it does, for a developer. */
  readonly description: string
  readonly tag: string
  readonly route: Route
  readonly authority: Authority
  readonly cost: Cost
  /** Whether a repeat with the same `Idempotency-Key` replays the first answer (api.md, Endpoints, rule 3). */
  readonly idempotent: boolean
  /** The field of the answer that is a secret: it is shown once, never kept, and null where a repeat is answered. */
  readonly secret_field?: string
  /**
   * Says that `run` stores nothing by the call's moment that does not rest on it, and looks again where it answers by it:
   * then nothing is read for the moment.
   */
  readonly optimistic?: true
  readonly input: Schema.Decoder<Input>
  readonly output: Schema.Encoder<Output>
  /**
   * What else is wrong with an input of which some fields, or the key, are refused for their form: an answer names every
   * wrong field, not the first ones.
   */
  readonly validateRest?: (
    call: Call,
    input: unknown,
    refused: ReadonlyArray<ApiError.FieldError>
  ) => Effect.Effect<ApiError.WrongFields, never, R>
  /** How wrong fields are refused, where `ApiError.invalidInput` does not say enough. */
  readonly refuse?: (wrong: ApiError.WrongFields) => ApiError.ApiError<"invalid_input">
  /** Whether the host's settings offer it; else it answers `not_found`, and no host lists it. Always where it is left out. */
  readonly offered?: Effect.Effect<boolean, never, R>
  /** What the request log says that a call is about: nothing where it is left out. */
  readonly about?: About
  /** The refusals beyond those that every operation can give. */
  readonly errors: ReadonlyArray<ApiError.ErrorCode>
  readonly run: (
    call: Call,
    input: Input
  ) => Effect.Effect<Json.Json<Output>, ApiError.ApiError | StorageUnavailable, R>
}

/** One thing that a caller can do. HTTP, MCP, the command and the Promise interface are projections of it. */
export interface Operation<out Name extends string = string, out Input = unknown, out Output = unknown, out R = unknown>
  extends Omit<Definition<Name, Input, Output, R>, "run"> {
  /** Reads the input; what it gives back runs the operation on it. Everything about the caller has been checked before. */
  readonly prepare: (
    call: Call,
    input: unknown
  ) => Result.Result<Effect.Effect<Json.Json<Output>, ApiError.ApiError | StorageUnavailable, R>, ApiError.WrongFields>
}

/** Builds an operation from its definition; its input schema is compiled once. */
export const make = <const Name extends string, Input, Output, R>(
  definition: Definition<Name, Input, Output, R>
): Operation<Name, Input, Output, R> => {
  const { run, ...rest } = definition
  const read = decoder(definition.input)
  return { ...rest, prepare: (call, input) => Result.map(read(input), (input) => run(call, input)) }
}

/** Whether the settings offer an operation; hosts list no other. */
export const isOffered = <R>(operation: Operation<string, unknown, unknown, R>): Effect.Effect<boolean, never, R> =>
  operation.offered ?? Effect.succeed(true)

/** A call as a host hands it over. */
export interface Request {
  readonly request_id: string
  readonly credentials: Credentials
  /**
   * `{ header }` with the `Service-Version` that was sent, null where none was: without one the pin decides, and the
   * first call of a workspace stores it. `"current"` where a host always answers in the newest revision, as the agent
   * endpoint and embedded clients do: it touches no pin.
   */
  readonly revision: AskedRevision
  /** The `Idempotency-Key` that was sent, if any. */
  readonly idempotency_key: string | null
  /** How the call came in; the operation's own route stands for it where a program calls without a wire. */
  readonly via?: Transport
  /**
   * The input: one object, whatever parts of the call its fields came from.
   *
   * It is read only after the caller was let in, so that nobody's body is taken from strangers.
   */
  readonly input: Effect.Effect<unknown, ApiError.ApiError>
}

/** A successful answer. */
export interface Reply<out Output = unknown> {
  /** The answer in the newest form. */
  readonly json: Json.Json<Output>
  /** The same in the form of the caller's revision, as JSON text: what a host sends. */
  readonly text: string
  /** The date of that revision, for the header `Service-Version`. */
  readonly revision: string
  /** Whether this is the answer of an earlier call with the same `Idempotency-Key`. */
  readonly replayed: boolean
}

/** The services that the pipeline itself needs. */
export type PipelineServices = Access | Allowance | Answers | RequestLog | Revisions | Workspaces

/**
 * Calls an operation: caller, revision, authority, allowance, input, run, log, in this order.
 *
 * It fails with an `ApiError` and nothing else. A defect is logged with the request id and answered as `internal_error`.
 */
export const call = <Output, R>(
  operation: Operation<string, unknown, Output, R>,
  request: Request
): Effect.Effect<Reply<Output>, ApiError.ApiError, R | PipelineServices> =>
  Effect.contextWith((services: Context.Context<PipelineServices>) => {
    const created_at = Context.get(services, Clock.Clock).currentTimeMillisUnsafe()
    const course: CallState<Output, R> = {
      operation,
      request,
      services,
      created_at,
      caller: null,
      revision: null,
      input: null
    }
    return Effect.matchCauseEffect(perform(course), {
      onSuccess: (reply) => Effect.as(finish(course, null, reply.json.text), reply),
      onFailure: (cause) =>
        refuse(operation.name, request.request_id, cause).pipe(
          Effect.tapError((error) => finish(course, error, null)),
          Effect.mapError((error) => inRevision(course.revision, operation.name, error))
        )
    })
  })

/**
 * Tells who calls, without calling anything: what a host offers can depend on it.
 *
 * It refuses as `call` does.
 */
export const identify = (
  request: Pick<Request, "request_id" | "credentials">
): Effect.Effect<Caller, ApiError.ApiError, Access | Allowance> =>
  Effect.contextWith((services: Context.Context<Access | Allowance>) =>
    Effect.catchCause(authenticate(services, request.credentials), (cause) =>
      refuse("identify", request.request_id, cause)
    )
  )

/** A call on its way: what came in, and what is known of it so far. */
interface CallState<Output, R> {
  readonly operation: Operation<string, unknown, Output, R>
  readonly request: Request
  readonly services: Context.Context<PipelineServices>
  /** When it arrived: real time in milliseconds. */
  readonly created_at: number
  caller: Caller | null
  /** What it is answered in, and refused in. */
  revision: Revision.Revision | null
  /** In the newest form. */
  input: unknown
}

/** Takes note of a call that has ended, if it is known who called. */
const finish = (
  { caller, created_at, input, operation, request, services }: CallState<unknown, unknown>,
  error: ApiError.ApiError | null,
  answer: string | null
): Effect.Effect<void> => {
  if (caller === null) return Effect.void
  const { about, name, route } = operation
  const { quote_id, quote_request_id } = about === undefined ? namesNothing : named(about, input, answer)
  const via = request.via ?? { ...withoutWire, method: route.method, route: loggedPath(route.path) }
  const finished: FinishedCall = {
    request_id: request.request_id,
    created_at,
    duration_ms: Context.get(services, Clock.Clock).currentTimeMillisUnsafe() - created_at,
    caller,
    operation: name,
    via,
    status: via.status ?? error?.status ?? route.status,
    error_code: error?._tag ?? null,
    quote_request_id,
    quote_id
  }
  Context.get(services, RequestLog).note(finished)
  return tell(services, finished)
}

/** A route's path as the request log names it: `{id}` in place of each identifier (api.md, Request log entry). */
export const loggedPath = (path: string): string => path.replace(/\{\w+\}/g, "{id}")

const withoutWire = { status: null, user_agent: null, client_name: null, client_version: null }
const namesNothing = { quote_request_id: null, quote_id: null }

const authenticate = (services: Context.Context<Access | Allowance>, credentials: Credentials) =>
  authenticateWith(Context.get(services, Access), Context.get(services, Allowance), credentials)

const perform = Effect.fnUntraced(function* <Output, R>(course: CallState<Output, R>) {
  const { operation, request, services } = course
  const caller = yield* authenticate(services, request.credentials)
  course.caller = caller
  if (operation.offered !== undefined && !(yield* operation.offered)) return yield* ApiError.make("not_found")
  const revisions = Context.get(services, Revisions)
  const chosen = yield* revisions.choose(request.revision, caller.workspace_id)
  const entering = enter(course, caller)
  // The first call that is admitted stores the pin, whatever else comes of it; a body that is too large is not admitted.
  const first = chosen === null ? yield* Effect.exit(entering) : null
  if (first !== null && isTooLarge(first)) return yield* Effect.failCause(first.cause)
  const revision = chosen ?? (yield* revisions.pin(caller.workspace_id))
  course.revision = revision
  const sent = yield* first ?? entering
  course.input = Revision.input(revision, operation.name, sent)
  // A slow body takes its time: the call happens when it is there.
  const workspaces = Context.get(services, Workspaces)
  const moment = yield* operation.optimistic === true
    ? workspaces.remembered(caller.workspace_id)
    : workspaces.moment(caller.workspace_id)
  const call: Call = { caller, moment, idempotency_key: request.idempotency_key, revision: revision.date, sent }
  const running = yield* prepare(operation, call, course.input, workspaces)
  if (!operation.idempotent) return replyOf(revision, operation, yield* running, false)
  const newest = revisions.current.date
  const { secret_field } = operation
  const { json, form, replayed } = yield* Context.get(services, Answers).once(
    { call, operation: operation.name, key: request.idempotency_key, form: newest },
    running,
    secret_field === undefined ? identity : (answer) => Json.withNull(answer, secret_field)
  )
  // An answer that was kept before the newest revision came is given as it was first given.
  const told = form === newest ? revision : { date: form, differences: [] }
  return replyOf(told, operation, json, replayed)
})

/** Lets a call in, and reads its input as it was sent. */
const enter = ({ operation, request, services }: CallState<unknown, unknown>, caller: Caller) =>
  hasAuthority(operation.authority, caller)
    ? Effect.andThen(
        Context.get(services, Allowance).spend(caller, operation.cost, request.credentials.address),
        request.input
      )
    : Effect.fail(ApiError.make("forbidden"))

const isTooLarge = (entered: Exit.Exit<unknown, Refusal>): entered is Exit.Failure<unknown, Refusal> =>
  Exit.isFailure(entered) && toApiError(entered.cause)?._tag === "request_too_large"

/** Reads the input; where it or the key is wrong, every wrong field is named. */
const prepare = <Output, R>(
  {
    validateRest,
    refuse = ApiError.invalidInput,
    optimistic,
    idempotent,
    prepare
  }: Operation<string, unknown, Output, R>,
  call: Call,
  input: unknown,
  workspaces: Workspaces["Service"]
) => {
  const key = idempotent ? keyErrors(call.idempotency_key) : []
  const prepared = prepare(call, input)
  if (Result.isSuccess(prepared) && key.length === 0) return Effect.succeed(prepared.success)
  const refused = together(key, Result.isFailure(prepared) ? prepared.failure : [])
  const now = optimistic === true ? workspaces.moment(call.caller.workspace_id) : Effect.succeed(call.moment)
  const others =
    validateRest === undefined
      ? Effect.succeed(together())
      : Effect.flatMap(now, (moment) => validateRest({ ...call, moment }, input, refused.found))
  return Effect.flatMap(others, (others) => Effect.fail(refuse(together(refused, others))))
}

/** A refusal as the caller reads it; some are told in the current revision, whichever was asked for (api.md, Versioning 11). */
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
  operation: Operation,
  json: Json.Json<Output>,
  replayed: boolean
): Reply<Output> => ({
  json,
  text: Revision.answer(revision, operation.name, json),
  revision: revision.date,
  replayed
})

const hasAuthority = (authority: Authority, caller: Caller): boolean =>
  authority.callers.includes(caller.kind) &&
  (authority.environment === undefined || authority.environment === caller.environment)

type Refusal = ApiError.ApiError | StorageUnavailable

/** The refusal in a cause; null where it holds a defect. */
const toApiError = (cause: Cause.Cause<Refusal>): ApiError.ApiError | null => {
  const failure = Cause.findErrorOption(cause)
  if (Option.isNone(failure)) return null
  const error = failure.value
  return error._tag === "StorageUnavailable"
    ? ApiError.make("service_unavailable", { retry_after_seconds: error.retry_after_seconds })
    : error
}

const refuse = (
  operation: string,
  request_id: string,
  cause: Cause.Cause<Refusal>
): Effect.Effect<never, ApiError.ApiError> => {
  const error = toApiError(cause)
  if (error !== null) return Effect.fail(error)
  if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
  return Effect.logError("A call has failed", cause).pipe(
    Effect.annotateLogs({ operation, request_id }),
    Effect.andThen(Effect.fail(ApiError.make("internal_error")))
  )
}
