import type { Json } from "@quotewire/core"
import { Effect } from "effect"
import * as Form from "../protocol/Form.ts"
import type { RpcError } from "../protocol/JsonRpc.ts"
import * as Protocol from "../protocol/Protocol.ts"
import type { ToolResult } from "../tools/Tool.ts"

/** The response to a message: a result as JSON text, a JSON-RPC error, or nothing for a notification. */
export type ServerAnswer =
  | { readonly _tag: "result"; readonly text: string }
  | { readonly _tag: "error"; readonly error: RpcError }
  | { readonly _tag: "nothing" }

/**
 * Creates the functions that encode results as text. `info` describes the server and is repeated in every modern
 * result.
 */
export const make = (info: object) => {
  /**
   * The end of an encoded result: its last members and the closing brace. `meta` contains additional members of
   * `_meta`.
   */
  const endOf = (era: Protocol.Era, meta: object): string => {
    const end =
      era === "modern" ? { resultType: "complete", _meta: { [Protocol.serverKey]: info, ...meta } } : { _meta: meta }
    return `,${JSON.stringify(end).slice(1)}`
  }
  /** For each era, the end of a result that has no additional members in `_meta`. */
  const ends: Readonly<Record<Protocol.Era, string>> = { modern: endOf("modern", {}), legacy: "}" }
  const complete = ({ text }: Json.Json<object>, era: Protocol.Era): ServerAnswer => ({
    _tag: "result",
    text: text.slice(0, -1) + ends[era]
  })
  // Concatenates text, because the parts of a tool's result are already JSON text and can be large.
  const called = ({ content, isError, meta, structuredContent }: ToolResult, era: Protocol.Era): ServerAnswer => {
    const structured = structuredContent === undefined ? "" : `,"structuredContent":${structuredContent.text}`
    const end = meta === undefined ? ends[era] : endOf(era, meta)
    return { _tag: "result", text: `{"content":${content.text}${structured},"isError":${isError}${end}` }
  }
  /**
   * A result that asks the person a question. The client then repeats the call with the person's answer and the state.
   */
  const questionAnswer = ({ form, name }: Form.Question, requestState: string): ServerAnswer => {
    const inputRequests = { [name]: { method: Form.method, params: form } }
    const result = { resultType: "input_required", inputRequests, requestState, _meta: { [Protocol.serverKey]: info } }
    return { _tag: "result", text: JSON.stringify(result) }
  }
  /** The result of a call that cannot ask the person questions. */
  const calledWithoutQuestion = (era: Protocol.Era) => (result: ToolResult | Form.Question) =>
    "form" in result
      ? Effect.die(new Error("A tool asked the person a question in a call that cannot show one"))
      : Effect.succeed(called(result, era))
  return { complete, called, asked: questionAnswer, calledWithoutQuestion }
}

/** The functions that encode one server's results. */
export type Results = ReturnType<typeof make>
