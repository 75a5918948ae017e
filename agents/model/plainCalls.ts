import { Schema } from "effect"
import { type Dialect, whole } from "./Conversation.ts"

/* For clients without a model: their program sends the tools and results, and gets the next call. */

const Request = Schema.Struct({
  tools: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      description: Schema.optionalKey(Schema.String),
      inputSchema: Schema.optionalKey(Schema.Unknown)
    })
  ),
  results: Schema.Array(Schema.String)
})

export const plainCalls: Dialect = {
  path: /\/plain$/,
  read: (body) => {
    const { results, tools } = Schema.decodeUnknownSync(Request)(body)
    return {
      tools: tools.map(({ description = "", inputSchema = {}, name }) => ({
        name,
        description,
        parameters: inputSchema,
        strict: false,
        namespace: null
      })),
      results,
      stream: false,
      search: null,
      previous: null
    }
  },
  write: (turn) => whole(turn)
}
