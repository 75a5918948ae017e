import { Schema } from "effect"
import { type Dialect, events, plain, Text, type Turn, whole } from "./Conversation.ts"

/* OpenAI's chat completions, which many providers support. */

const Request = Schema.Struct({
  messages: Schema.Array(Schema.Struct({ role: Schema.String, content: Schema.optionalKey(Schema.NullOr(Text)) })),
  tools: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        function: Schema.Struct({
          name: Schema.String,
          description: Schema.optionalKey(Schema.String),
          parameters: Schema.optionalKey(Schema.Unknown),
          strict: Schema.optionalKey(Schema.NullOr(Schema.Boolean))
        })
      })
    )
  ),
  stream: Schema.optionalKey(Schema.NullOr(Schema.Boolean))
})

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }

const messageOf = (turn: Turn, id: string) =>
  turn._tag === "text"
    ? { role: "assistant", content: turn.text }
    : {
        role: "assistant",
        content: null,
        tool_calls: [
          {
            index: 0,
            id: `call_${id}`,
            type: "function",
            function: { name: turn.call.name, arguments: JSON.stringify(turn.call.args) }
          }
        ]
      }

export const chat: Dialect = {
  path: /\/chat\/completions$/,
  read: (body) => {
    const { messages, stream, tools = [] } = Schema.decodeUnknownSync(Request)(body)
    return {
      tools: tools.map(({ function: { description = "", name, parameters = {}, strict } }) => ({
        name,
        description,
        parameters,
        strict: strict === true,
        namespace: null
      })),
      results: messages.filter(({ role }) => role === "tool").map(({ content }) => plain(content ?? "")),
      stream: stream === true,
      search: null,
      previous: null
    }
  },
  write: (turn, stream, id) => {
    const finish_reason = turn._tag === "call" ? "tool_calls" : "stop"
    const base = { id: `chatcmpl-${id}`, created: 1, model: "scripted" }
    const message = messageOf(turn, id)
    if (!stream) {
      return whole({
        ...base,
        object: "chat.completion",
        choices: [{ index: 0, message, finish_reason, logprobs: null }],
        usage
      })
    }
    const chunk = (delta: object, reason: string | null) => ({
      ...base,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, finish_reason: reason }]
    })
    return events(
      [
        [null, chunk(message, null)],
        [null, chunk({}, finish_reason)],
        [null, { ...base, object: "chat.completion.chunk", choices: [], usage }]
      ],
      "data: [DONE]\n\n"
    )
  }
}
