import { Schema } from "effect"
import { type Dialect, events, plain, Text, type Tool, type Turn, whole } from "./Conversation.ts"

/* OpenAI's responses. */

const Function = Schema.Struct({
  type: Schema.Literal("function"),
  name: Schema.String,
  description: Schema.optionalKey(Schema.String),
  parameters: Schema.optionalKey(Schema.Unknown),
  strict: Schema.optionalKey(Schema.NullOr(Schema.Boolean))
})

const Namespace = Schema.Struct({
  type: Schema.Literal("namespace"),
  name: Schema.String,
  tools: Schema.Array(Schema.Union([Function, Schema.Struct({ type: Schema.String })]))
})

const Request = Schema.Struct({
  input: Schema.Union([
    Schema.String,
    Schema.Array(Schema.Struct({ type: Schema.optionalKey(Schema.String), output: Schema.optionalKey(Schema.Unknown) }))
  ]),
  tools: Schema.optionalKey(Schema.Array(Schema.Union([Function, Namespace, Schema.Struct({ type: Schema.String })]))),
  stream: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  previous_response_id: Schema.optionalKey(Schema.NullOr(Schema.String))
})

const isText = Schema.is(Text)
const isFunction = Schema.is(Function)
const isNamespace = Schema.is(Namespace)

const toolOf =
  (namespace: string | null) =>
  ({ description = "", name, parameters = {}, strict }: typeof Function.Type): Tool => ({
    name,
    description,
    parameters,
    strict: strict === true,
    namespace
  })

const itemOf = (turn: Turn, id: string) =>
  turn._tag === "text"
    ? {
        type: "message",
        id: `msg_${id}`,
        status: "completed",
        role: "assistant",
        content: [{ type: "output_text", text: turn.text, annotations: [] }]
      }
    : {
        type: "function_call",
        id: `fc_${id}`,
        call_id: `call_${id}`,
        name: turn.call.name,
        ...(turn.call.namespace !== null && { namespace: turn.call.namespace }),
        arguments: JSON.stringify(turn.call.args),
        status: "completed"
      }

const usage = {
  input_tokens: 1,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 1,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 2
}

/** The events of one item, from start to end. */
const eventsOf = (turn: Turn, id: string) => {
  const item = itemOf(turn, id)
  const at = { output_index: 0, item_id: item.id }
  const inner =
    turn._tag === "text"
      ? [
          {
            type: "response.content_part.added",
            ...at,
            content_index: 0,
            part: { type: "output_text", text: "", annotations: [] }
          },
          { type: "response.output_text.delta", ...at, content_index: 0, delta: turn.text },
          { type: "response.output_text.done", ...at, content_index: 0, text: turn.text },
          {
            type: "response.content_part.done",
            ...at,
            content_index: 0,
            part: { type: "output_text", text: turn.text, annotations: [] }
          }
        ]
      : [
          { type: "response.function_call_arguments.delta", ...at, delta: JSON.stringify(turn.call.args) },
          { type: "response.function_call_arguments.done", ...at, arguments: JSON.stringify(turn.call.args) }
        ]
  const begun = { ...item, status: "in_progress", ...(turn._tag === "text" ? { content: [] } : { arguments: "" }) }
  return [
    { type: "response.output_item.added", output_index: 0, item: begun },
    ...inner,
    { type: "response.output_item.done", output_index: 0, item }
  ]
}

export const responses: Dialect = {
  path: /\/responses$/,
  read: (body) => {
    const { input, previous_response_id, stream, tools = [] } = Schema.decodeUnknownSync(Request)(body)
    const items = typeof input === "string" ? [] : input
    return {
      tools: tools.flatMap((tool): ReadonlyArray<Tool> => {
        if (isNamespace(tool)) return tool.tools.filter(isFunction).map(toolOf(tool.name))
        return isFunction(tool) ? [toolOf(null)(tool)] : []
      }),
      results: items
        .filter(({ type }) => type === "function_call_output")
        .map(({ output }) => (isText(output) ? plain(output) : JSON.stringify(output))),
      stream: stream === true,
      search: null,
      previous: previous_response_id ?? null
    }
  },
  write: (turn, stream, id) => {
    const response = {
      id: `resp_${id}`,
      object: "response",
      created_at: 1,
      status: "completed",
      model: "scripted",
      output: [itemOf(turn, id)],
      usage,
      error: null,
      incomplete_details: null,
      instructions: null,
      metadata: {},
      parallel_tool_calls: false,
      tool_choice: "auto",
      tools: []
    }
    if (!stream) return whole(response)
    const begun = { ...response, status: "in_progress", output: [], usage: null }
    const all = [
      { type: "response.created", response: begun },
      { type: "response.in_progress", response: begun },
      ...eventsOf(turn, id),
      { type: "response.completed", response }
    ]
    return events(all.map((one, sequence_number) => [one.type, { ...one, sequence_number }]))
  }
}
