import { Effect, Result, type Schema } from "effect"
import type { CallerKind } from "../access/Caller.ts"
import type { Cost } from "../access/Limits.ts"
import type { StorageUnavailable } from "../storage/Storage.ts"
import type * as ApiError from "../wire/ApiError.ts"
import { decoder } from "../wire/Input.ts"
import type * as Json from "../wire/Json.ts"
import type { Call } from "./Call.ts"
import type { About } from "./FinishedCall.ts"

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
