import { Schema } from "effect"
import { type Dialect, events, whole } from "./Conversation.ts"

/* Google's generateContent. */

const Part = Schema.Struct({
  functionResponse: Schema.optionalKey(Schema.Struct({ response: Schema.optionalKey(Schema.Unknown) }))
})

const Request = Schema.Struct({
  contents: Schema.Array(Schema.Struct({ parts: Schema.optionalKey(Schema.Array(Part)) })),
  tools: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        functionDeclarations: Schema.optionalKey(
          Schema.Array(
            Schema.Struct({
              name: Schema.String,
              description: Schema.optionalKey(Schema.String),
              parameters: Schema.optionalKey(Schema.Unknown),
              parametersJsonSchema: Schema.optionalKey(Schema.Unknown)
            })
          )
        )
      })
    )
  )
})

export const gemini: Dialect = {
  path: /:(stream)?[gG]enerateContent$/,
  read: (body, path) => {
    const { contents, tools = [] } = Schema.decodeUnknownSync(Request)(body)
    return {
      tools: tools
        .flatMap(({ functionDeclarations = [] }) => functionDeclarations)
        .map(({ description = "", name, parameters, parametersJsonSchema }) => ({
          name,
          description,
          parameters: parameters ?? parametersJsonSchema ?? {},
          strict: false,
          namespace: null
        })),
      results: contents
        .flatMap(({ parts = [] }) => parts)
        .flatMap(({ functionResponse }) => (functionResponse === undefined ? [] : [functionResponse]))
        .map(({ response }) => JSON.stringify(response)),
      stream: path.endsWith(":streamGenerateContent"),
      search: null,
      previous: null
    }
  },
  write: (turn, stream, id) => {
    const part =
      turn._tag === "text"
        ? { text: turn.text }
        : { functionCall: { id: `call_${id}`, name: turn.call.name, args: turn.call.args } }
    const answer = {
      candidates: [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
      modelVersion: "scripted",
      responseId: id
    }
    return stream ? events([[null, answer]]) : whole(answer)
  }
}
