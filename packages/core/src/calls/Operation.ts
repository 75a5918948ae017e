import { Effect, Function, Predicate, Result, type Schema } from "effect"
import type { Caller, CallerKind } from "../access/Caller.ts"
import type { Cost } from "../access/limits/Limits.ts"
import { forLines } from "../lines/HostSchema.ts"
import type { LineSet } from "../lines/Lines.ts"
import type { StorageUnavailable } from "../storage/Storage.ts"
import type * as ApiError from "../wire/ApiError.ts"
import { decoder } from "../wire/Input.ts"
import type * as Json from "../wire/Json.ts"
import type { Call } from "./Call.ts"
import type { About } from "./FinishedCall.ts"

/** The type of a query parameter. */
export type QueryType = "string" | "integer"

/** An operation's REST route. Input fields that appear in neither the path nor the query form the body. */
export interface Route {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE"
  /** The path, in which `{name}` stands for an input field. */
  readonly path: string
  readonly query: Readonly<Record<string, QueryType>>
  /** The HTTP status of a successful response. */
  readonly status: 200 | 201 | 202
  /** Returns the path of the created resource, given the `id` at the beginning of the response. */
  readonly location?: (id: string) => string
}

/**
 * Who may call an operation: the kinds of callers, and the environment if the operation is limited to one. Other
 * callers get `forbidden`.
 */
export interface Authority {
  readonly callers: ReadonlyArray<CallerKind>
  readonly environment?: "sandbox"
  /** Whether callers without a server key need the quote request's read handle. */
  readonly by_handle?: true
  /**
   * The input field that must contain the ID of the partner link's resource. Without this option, partner links may not
   * call the operation.
   */
  readonly by_link?: "id" | "quote_request_id"
}

/** Whether a caller may call an operation. A partner link may call only operations with `by_link`. */
export const admits = (authority: Authority, caller: Caller): boolean =>
  (caller.kind === "link" ? authority.by_link !== undefined : authority.callers.includes(caller.kind)) &&
  (authority.environment === undefined || authority.environment === caller.environment)

/** Whether a caller may reach the resource that an input names. A partner link can reach only its own resource. */
export const reaches = ({ by_link }: Authority, { kind, shared_id }: Caller, input: unknown): boolean =>
  kind !== "link" || (by_link !== undefined && Predicate.hasProperty(input, by_link) && input[by_link] === shared_id)

/** The definition of an operation. */
export interface Definition<Name extends string, Input, Output, R> {
  readonly name: Name
  /** The operation's title: a few words, as in a table of contents. */
  readonly summary: string
  /** A description of the operation for developers. */
  readonly description: string
  readonly tag: string
  readonly route: Route
  readonly authority: Authority
  readonly cost: Cost
  /** Whether a retry with the same `Idempotency-Key` replays the first response (api.md, Idempotency). */
  readonly idempotent: boolean
  /**
   * The response field that contains a secret. The secret is returned once and never stored; a replay returns null
   * instead.
   */
  readonly secret_field?: string
  /**
   * Promises that `run` works with a cached moment: its changes expect that the workspace has not changed since that
   * moment, and it reads the current moment before any refusal that depends on it. The pipeline then calls `run`
   * without reading the workspace first.
   */
  readonly optimistic?: true
  readonly input: Schema.Decoder<Input>
  readonly output: Schema.Encoder<Output>
  /**
   * Checks an input's remaining fields if some fields or the `Idempotency-Key` are malformed, so that one response
   * reports every wrong field.
   */
  readonly validateRest?: (
    call: Call,
    input: unknown,
    refused: ReadonlyArray<ApiError.FieldError>
  ) => Effect.Effect<ApiError.WrongFields, never, R>
  /** Makes the error for wrong fields; by default `ApiError.invalidInput`. */
  readonly refuse?: (wrong: ApiError.WrongFields) => ApiError.ApiError<"invalid_input">
  /**
   * Whether the host's settings make the operation available; by default always true. An unavailable operation is not
   * listed, and calls to this operation get `not_found`.
   */
  readonly available?: Effect.Effect<boolean, never, R>
  /** The kind of resource that a call is about, for the request log; by default no resource. */
  readonly about?: About
  /** The error codes that the operation can return, besides the codes that every operation can return. */
  readonly errors: ReadonlyArray<ApiError.ErrorCode>
  readonly run: (
    call: Call,
    input: Input
  ) => Effect.Effect<Json.Json<Output>, ApiError.ApiError | StorageUnavailable, R>
}

/** One thing that a caller can do. Its REST route, its command and its Promise method are derived from this object. */
export interface Operation<out Name extends string = string, out Input = unknown, out Output = unknown, out R = unknown>
  extends Omit<Definition<Name, Input, Output, R>, "run"> {
  /**
   * Decodes the input for the host's lines, and returns an effect that runs the operation. The caller's authority must
   * have been checked before.
   */
  readonly prepare: (
    call: Call,
    input: unknown,
    lines: LineSet
  ) => Result.Result<Effect.Effect<Json.Json<Output>, ApiError.ApiError | StorageUnavailable, R>, ApiError.WrongFields>
}

/** Makes an operation from its definition. The input schema is compiled once for each set of lines. */
export const make = <const Name extends string, Input, Output, R, const Idempotent extends boolean>(
  definition: Definition<Name, Input, Output, R> & { readonly idempotent: Idempotent }
): Operation<Name, Input, Output, R> & { readonly idempotent: Idempotent } => {
  const { run, ...rest } = definition
  const reading = Function.memoize((lines: LineSet) => decoder(forLines(definition.input, lines)))
  return {
    ...rest,
    prepare: (call, value, lines) => Result.map(reading(lines)(value), (input) => run(call, input))
  }
}

/** Whether an operation is available with the host's settings. Hosts list only available operations. */
export const isAvailable = <R>(operation: Operation<string, unknown, unknown, R>): Effect.Effect<boolean, never, R> =>
  operation.available ?? Effect.succeed(true)
