import { Effect, Function, Predicate, Result, type Schema } from "effect"
import type { Caller, CallerKind } from "../access/Caller.ts"
import type { Cost } from "../access/Limits.ts"
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

/** The REST route of an operation. Input fields that are in neither path nor query form the body. */
export interface Route {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE"
  /** The path, with `{name}` in place of an input field. */
  readonly path: string
  readonly query: Readonly<Record<string, QueryType>>
  /** The HTTP status of success. */
  readonly status: 200 | 201 | 202
  /** The address of the created resource, given the `id` at the beginning of the answer. */
  readonly location?: (id: string) => string
}

/**
 * Who may call an operation: the kinds of caller, and the environment if it is limited to one. Others get `forbidden`.
 */
export interface Authority {
  readonly callers: ReadonlyArray<CallerKind>
  readonly environment?: "sandbox"
  /** Whether callers without a server key need the read handle of the quote request. */
  readonly by_handle?: true
  /**
   * The input field that must name the resource of a partner link. Without it, partner links may not call the
   * operation.
   */
  readonly by_link?: "id" | "quote_request_id"
}

/**
 * Whether a caller may call an operation. A partner link may call only operations that declare the field that names its
 * resource.
 */
export const admits = (authority: Authority, caller: Caller): boolean =>
  (caller.kind === "link" ? authority.by_link !== undefined : authority.callers.includes(caller.kind)) &&
  (authority.environment === undefined || authority.environment === caller.environment)

/** Whether an input names the resource that a partner link shows. For the link, nothing else exists. */
export const reaches = ({ by_link }: Authority, { kind, shared_id }: Caller, input: unknown): boolean =>
  kind !== "link" || (by_link !== undefined && Predicate.hasProperty(input, by_link) && input[by_link] === shared_id)

/** The definition of an operation. */
export interface Definition<Name extends string, Input, Output, R> {
  readonly name: Name
  /** A few words, as in a table of contents. */
  readonly summary: string
  /** A description of the operation for developers. */
  readonly description: string
  readonly tag: string
  readonly route: Route
  readonly authority: Authority
  readonly cost: Cost
  /** Whether a retry with the same `Idempotency-Key` replays the first answer (api.md, Idempotency). */
  readonly idempotent: boolean
  /** The field of the answer that is a secret: shown once, never stored, and null in a replay. */
  readonly secret_field?: string
  /**
   * Promises that `run` works with a cached moment: its changes expect that moment, and it reads the current moment
   * before any refusal that depends on it. The pipeline then reads nothing before it calls `run`.
   */
  readonly optimistic?: true
  readonly input: Schema.Decoder<Input>
  readonly output: Schema.Encoder<Output>
  /**
   * Checks the other fields of an input if some fields, or the key, are malformed, so that one answer reports every
   * wrong field.
   */
  readonly validateRest?: (
    call: Call,
    input: unknown,
    refused: ReadonlyArray<ApiError.FieldError>
  ) => Effect.Effect<ApiError.WrongFields, never, R>
  /** Makes the refusal of wrong fields; by default `ApiError.invalidInput`. */
  readonly refuse?: (wrong: ApiError.WrongFields) => ApiError.ApiError<"invalid_input">
  /**
   * Whether the operation is available with the host's settings; by default it always is. An unavailable operation is
   * not listed, and calls to it get `not_found`.
   */
  readonly available?: Effect.Effect<boolean, never, R>
  /** The subject of a call, for the request log; none by default. */
  readonly about?: About
  /** The error codes that it can return, besides those of every operation. */
  readonly errors: ReadonlyArray<ApiError.ErrorCode>
  readonly run: (
    call: Call,
    input: Input
  ) => Effect.Effect<Json.Json<Output>, ApiError.ApiError | StorageUnavailable, R>
}

/** One thing that a caller can do. Its REST route, its command and its Promise method are derived from this. */
export interface Operation<out Name extends string = string, out Input = unknown, out Output = unknown, out R = unknown>
  extends Omit<Definition<Name, Input, Output, R>, "run"> {
  /**
   * Decodes the input for the host's lines, and returns an effect that runs the operation. The caller is already
   * checked.
   */
  readonly prepare: (
    call: Call,
    input: unknown,
    lines: LineSet
  ) => Result.Result<Effect.Effect<Json.Json<Output>, ApiError.ApiError | StorageUnavailable, R>, ApiError.WrongFields>
}

/** Makes an operation from its definition. Its input schema is compiled once for the lines of a host. */
export const make = <const Name extends string, Input, Output, R, const Idempotent extends boolean>(
  definition: Definition<Name, Input, Output, R> & { readonly idempotent: Idempotent }
): Operation<Name, Input, Output, R> & { readonly idempotent: Idempotent } => {
  const { run, ...rest } = definition
  const reading = Function.memoize((lines: LineSet) => decoder(forLines(definition.input, lines)))
  return {
    ...rest,
    prepare: (call, sent, lines) => Result.map(reading(lines)(sent), (input) => run(call, input))
  }
}

/** Whether an operation is available with the settings. Hosts list only available operations. */
export const isAvailable = <R>(operation: Operation<string, unknown, unknown, R>): Effect.Effect<boolean, never, R> =>
  operation.available ?? Effect.succeed(true)
