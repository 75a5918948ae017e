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
import type { Question, Round } from "./asking/Form.ts"
import type { View } from "./views/View.ts"

/** Hints about a tool that a program can read before it calls it. */
export interface Annotations {
  /** It changes nothing. */
  readonly readOnlyHint: boolean
  /** It can remove or undo something. */
  readonly destructiveHint: boolean
  /** A repeat with the same arguments changes nothing more. */
  readonly idempotentHint: boolean
  /** It affects someone outside the service, such as carriers or a subscriber's endpoint. */
  readonly openWorldHint: boolean
}

/** For whom tools are listed. It decides which tools are in the list, and how they are described. */
export interface ToolAudience extends Pick<Caller.Caller, "kind" | "environment"> {
  /** The lines of the host. */
  readonly lines: Lines.LineSet
  /** Whether the program can show the person a form. */
  readonly elicits: boolean
  /** Whether the program shows pages beside results. */
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

/** The arguments of one call, by their names. */
export type Arguments = Record<string, unknown>

/** Reports the progress of a call: the seconds since it began, and a message. */
export type Progress = (seconds: number, message: string) => Effect.Effect<void>

/** One call of a tool, over any transport. */
export interface ToolCall {
  /** Who calls, as the host has identified the sender. */
  readonly caller: Caller.Caller
  readonly request_id: Ids.RequestId
  readonly credentials: Omit<Pipeline.Request["credentials"], "read_handle">
  /** The address of the documentation: the base of `doc_url` in refusals. */
  readonly docs_url: string
  /** How the call came in, for the request log. */
  readonly transport: FinishedCall.Transport
  /** Whether the program shows pages beside results. */
  readonly shows_views: boolean
  /** Parsed for this call alone: the tool may change them. */
  readonly args: Arguments
  /** Reports the progress of a long call; absent if the program has not asked for it. Messages hold no facts about a person. */
  readonly progress?: Progress
  /** The question and answer before this round. Absent if the program cannot show forms: then the tool must not ask. */
  readonly round?: Round
  /** Whether an earlier round of the same call has paid for this one. */
  readonly is_paid?: boolean
}

/** One part of a result's `content`, such as a text. */
export interface Content {
  readonly type: string
  readonly [key: string]: unknown
}

/** The result of a call (api.md, Agent endpoint): texts for a model, and the same data as an object, both encoded. */
export interface ToolResult {
  readonly content: Json.Json<ReadonlyArray<Content>>
  readonly structuredContent?: Json.Json<unknown>
  readonly isError: boolean
  /** What the tool's page needs besides, by names with a prefix such as `quotewire/card`. Models do not read it. */
  readonly meta?: Readonly<Record<`${string}/${string}`, unknown>>
}

/** A tool that an agent can call. The service's own tools are derived from its operations. */
export interface Tool<out R = never> {
  readonly name: string
  /** The page that a program can show beside the tool's results. */
  readonly view?: View
  /** Whether the host offers the tool. If not, it is neither listed nor callable. */
  readonly isOffered: Effect.Effect<boolean, never, R>
  /** The tool as this caller sees it; null if it may not call the tool. */
  readonly list: (audience: ToolAudience) => Listed | null
  /**
   * Calls the tool. A refusal is a result with `isError`. It fails only with `authentication_failed`.
   *
   * With a `round` it may ask the person a question instead. The answer comes with another call, whose arguments are the same.
   */
  readonly call: (call: ToolCall) => Effect.Effect<ToolResult | Question, ApiError.ApiError, R>
}

/** The shape of a tool, for programs that no compiler checks. */
export const Shape = Schema.Struct({
  name: Schema.String,
  isOffered: Schema.declare(Effect.isEffect, { message: "Must be an Effect." }),
  list: Argument.Callable,
  call: Argument.Callable
})
