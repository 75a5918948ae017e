import { Schema } from "effect"
import { type Dialect, events, plain, Text, type Turn, whole } from "./Conversation.ts"

/* Anthropic's messages. */

const Block = Schema.Struct({
  type: Schema.String,
  text: Schema.optionalKey(Schema.String),
  id: Schema.optionalKey(Schema.String),
  name: Schema.optionalKey(Schema.String),
  tool_use_id: Schema.optionalKey(Schema.String),
  content: Schema.optionalKey(Schema.Unknown)
})

/** Claude Code's tool that loads the declarations of other tools. */
const search = "ToolSearch"

const Request = Schema.Struct({
  messages: Schema.Array(Schema.Struct({ content: Schema.Union([Schema.String, Schema.Array(Block)]) })),
  tools: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        name: Schema.String,
        description: Schema.optionalKey(Schema.String),
        input_schema: Schema.optionalKey(Schema.Unknown),
        strict: Schema.optionalKey(Schema.Boolean)
      })
    )
  ),
  stream: Schema.optionalKey(Schema.Boolean),
  thread: Schema.optionalKey(Schema.Struct({ previous_message_id: Schema.optionalKey(Schema.String) }))
})

const isText = Schema.is(Text)

const blockOf = (turn: Turn, id: string) =>
  turn._tag === "text"
    ? { type: "text", text: turn.text }
    : { type: "tool_use", id: `toolu_${id}`, name: turn.call.name, input: turn.call.args }

const usage = { input_tokens: 1, output_tokens: 1 }

export const messages: Dialect = {
  path: /\/messages$/,
  read: (body) => {
    const { messages, stream, thread, tools = [] } = Schema.decodeUnknownSync(Request)(body)
    const blocks = messages.flatMap(({ content }) => (typeof content === "string" ? [] : content))
    const searches = blocks.filter(({ name }) => name === search).map(({ id }) => id)
    const text = blocks.map((block) => block.text ?? "").join("\n")
    const names = [...text.matchAll(/^mcp__\w+$/gm)].map(([name]) => name)
    return {
      tools: tools.map(({ description = "", input_schema = {}, name, strict = false }) => ({
        name,
        description,
        parameters: input_schema,
        strict,
        namespace: null
      })),
      results: blocks
        .filter(({ tool_use_id, type }) => type === "tool_result" && !searches.includes(tool_use_id))
        .map(({ content }) => (isText(content) ? plain(content) : JSON.stringify(content))),
      stream: stream === true,
      search: tools.some(({ name }) => name === search) ? { name: search, names } : null,
      previous: thread?.previous_message_id ?? null
    }
  },
  write: (turn, stream, id) => {
    const stop_reason = turn._tag === "call" ? "tool_use" : "end_turn"
    const block = blockOf(turn, id)
    const message = {
      id: `msg_${id}`,
      type: "message",
      role: "assistant",
      model: "scripted",
      content: [block],
      stop_reason,
      stop_sequence: null,
      usage
    }
    if (!stream) return whole(message)
    const delta =
      turn._tag === "text"
        ? { type: "text_delta", text: turn.text }
        : { type: "input_json_delta", partial_json: JSON.stringify(turn.call.args) }
    const begun = turn._tag === "text" ? { type: "text", text: "" } : { ...block, input: {} }
    const all = [
      { type: "message_start", message: { ...message, content: [], stop_reason: null } },
      { type: "content_block_start", index: 0, content_block: begun },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
      { type: "message_stop" }
    ]
    return events(all.map((one) => [one.type, one]))
  }
}
