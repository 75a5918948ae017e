import {
  type ApiError,
  Argument,
  type Caller,
  type FinishedCall,
  type Ids,
  type Json,
  type Lines,
  type Pipeline
} from "@quotewire/core"
import { Effect, Schema } from "effect"
import type { Question, Round } from "../protocol/Form.ts"
import type { View } from "../protocol/View.ts"

/** Hints about a tool that a client program can read before it calls the tool. */
export interface Annotations {
  /** The tool changes nothing. */
  readonly readOnlyHint: boolean
  /** The tool can remove or undo something. */
  readonly destructiveHint: boolean
  /** Repeating a call with the same arguments has no further effect. */
  readonly idempotentHint: boolean
  /** The tool affects systems outside the service, such as carriers or a subscriber's endpoint. */
  readonly openWorldHint: boolean
}

/**
 * The caller and client that tools are listed for. This determines which tools are listed and how they are described.
 */
export interface ToolAudience extends Pick<Caller.Caller, "kind" | "environment"> {
  /** The host's insurance lines. */
  readonly lines: Lines.LineSet
  /** Whether the client can show the person a form. */
  readonly elicits: boolean
  /** Whether the client shows pages beside results. */
  readonly shows_views: boolean
}

/** A tool as `tools/list` shows it. */
export interface Listed {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly inputSchema: { readonly type: "object"; readonly [key: string]: unknown }
  readonly outputSchema?: { readonly type: "object"; readonly [key: string]: unknown }
  readonly annotations?: Annotations
  readonly _meta?: Readonly<Record<string, unknown>>
}

/** The arguments of one call, by name. */
export type Arguments = Record<string, unknown>

/** Reports a call's progress: the seconds since it began, and a message. */
export type Progress = (seconds: number, message: string) => Effect.Effect<void>

/** One call of a tool, over any transport. */
export interface ToolCall {
  /** The caller, whom the host has identified. */
  readonly caller: Caller.Caller
  readonly request_id: Ids.RequestId
  readonly credentials: Omit<Pipeline.Request["credentials"], "read_handle">
  /** The address of the documentation. Every `doc_url` in a refusal begins with it. */
  readonly docs_url: string
  /** How the call arrived, for the request log. */
  readonly transport: FinishedCall.Transport
  /** Whether the client shows pages beside results. */
  readonly shows_views: boolean
  /**
   * The arguments. They were parsed for this call only, so the tool may change them. Later rounds see changes inside an
   * argument, but not arguments that were added, replaced or removed.
   */
  readonly args: Arguments
  /**
   * Reports the progress of a long call; absent if the client did not ask for it. Messages must not contain facts about
   * a person.
   */
  readonly progress?: Progress
  /**
   * The previous round's question and the person's answer. Absent if the client cannot show forms; then the tool must
   * not ask questions.
   */
  readonly round?: Round
  /** Whether an earlier round of the same call already counted toward the rate limits. */
  readonly is_paid?: boolean
}

/** One part of a result's `content`, such as text. */
export interface Content {
  readonly type: string
  readonly [key: string]: unknown
}

/**
 * The result of a call (api.md, Tool results): text for a model and the same data as an object, both already encoded.
 */
export interface ToolResult {
  readonly content: Json.Json<ReadonlyArray<Content>>
  readonly structuredContent?: Json.Json<unknown>
  readonly isError: boolean
  /** Additional data for the tool's page, under prefixed names such as `quotewire/card`. Models do not read it. */
  readonly meta?: Readonly<Record<`${string}/${string}`, unknown>>
}

/** A tool that an agent can call. The service's own tools are derived from its operations. */
export interface Tool<out R = never> {
  readonly name: string
  /** The page that a client program can show beside the tool's results. */
  readonly view?: View
  /** Whether the host offers the tool. If not, the tool is neither listed nor callable. */
  readonly isOffered: Effect.Effect<boolean, never, R>
  /** The tool as this caller sees it; null if the caller may not call it. */
  readonly list: (audience: ToolAudience) => Listed | null
  /**
   * Calls the tool. A refusal is a result with `isError`. Fails only with `authentication_failed`.
   *
   * If `round` is set, the tool may return a question for the person instead of a result. The answer arrives in
   * a second call with the same arguments.
   */
  readonly call: (call: ToolCall) => Effect.Effect<ToolResult | Question, ApiError.ApiError, R>
}

/** Checks the shape of a tool, for JavaScript programs, which have no compiler to check it. */
export const Shape = Schema.Struct({
  name: Schema.String,
  isOffered: Schema.declare(Effect.isEffect, { message: "Must be an Effect." }),
  list: Argument.Callable,
  call: Argument.Callable
})
