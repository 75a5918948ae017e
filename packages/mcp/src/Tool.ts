import type { ApiError, Caller, FinishedCall, Ids, Json, Pipeline } from "@quotewire/core"
import type { Effect } from "effect"

/** What a program may know of a tool before it calls it. */
export interface Annotations {
  /** It changes nothing. */
  readonly readOnlyHint: boolean
  /** It can remove or undo something. */
  readonly destructiveHint: boolean
  /** A repeat with the same arguments changes nothing more. */
  readonly idempotentHint: boolean
  /** It reaches somebody outside the service: carriers, or a subscriber's endpoint. */
  readonly openWorldHint: boolean
}

/** What a tool list depends on. */
export type Listener = Pick<Caller.Caller, "kind" | "environment">

/** A tool as `tools/list` shows it. */
export interface Listed {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly inputSchema: { readonly type: "object"; readonly [key: string]: unknown }
  readonly outputSchema?: { readonly type: "object"; readonly [key: string]: unknown }
  readonly annotations?: Annotations
}

/** The arguments of one call, by their names. */
export type Arguments = Record<string, unknown>

/** One call of a tool, whatever way it came. */
export interface ToolCall {
  readonly request_id: Ids.RequestId
  readonly credentials: Omit<Pipeline.Request["credentials"], "read_handle">
  /** Where the documentation stands: `doc_url` of a refusal begins with it. */
  readonly docs_url: string
  /** How the call came in, for the request log. */
  readonly via: FinishedCall.Transport
  /** Parsed for this call alone: the tool may change them. */
  readonly args: Arguments
}

/** A part of what a model reads. */
export interface Content {
  readonly type: string
  readonly [key: string]: unknown
}

/** What a call came to (api.md, Agent endpoint): texts for a model, and the same as an object; both encoded already. */
export interface ToolResult {
  readonly content: Json.Json<ReadonlyArray<Content>>
  readonly structuredContent?: Json.Json<unknown>
  readonly isError: boolean
}

/** Something that an agent can call. The service's own tools are projections of its operations. */
export interface Tool<out R = never> {
  readonly name: string
  /** Whether the host's settings offer it; else it is neither listed nor known. */
  readonly isOffered: Effect.Effect<boolean, never, R>
  /** The tool as this caller sees it; null where it may not call it. */
  readonly list: (listener: Listener) => Listed | null
  /** Calls it. Refusals are results; it fails only where the caller is not let in at all. */
  readonly call: (call: ToolCall) => Effect.Effect<ToolResult, ApiError.ApiError, R>
}
