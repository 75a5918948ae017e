import { Schema } from "effect"

/** A tool as the model sees it. */
export interface Tool {
  readonly name: string
  readonly description: string
  /** The JSON Schema of its arguments, or the client's conversion of it. */
  readonly parameters: unknown
  /** Whether the client asks the model's provider to enforce the schema. */
  readonly strict: boolean
  /** The namespace that the client put the tool in; null if none. */
  readonly namespace: string | null
}

/** A request to a model, the same for all providers' APIs. */
export interface Conversation {
  readonly tools: ReadonlyArray<Tool>
  /** What the model reads from the results of earlier calls, in order. */
  readonly results: ReadonlyArray<string>
  /** A tool that loads declarations, and the names of our tools that it can load; null if there is none. */
  readonly search: { readonly name: string; readonly names: ReadonlyArray<string> } | null
  readonly stream: boolean
  /** The answer that this request continues from, if the provider stores the conversation; otherwise null. */
  readonly previous: string | null
}

/** A call of a tool, under the name that the client gave it. */
export interface Call {
  readonly name: string
  readonly namespace: string | null
  readonly args: Readonly<Record<string, unknown>>
}

/** The model's answer: a call or a text. */
export type Turn = { readonly _tag: "call"; readonly call: Call } | { readonly _tag: "text"; readonly text: string }

/** An answer of the model's server. */
export interface Answer {
  readonly type: "application/json" | "text/event-stream"
  readonly body: string
}

/** The API of a model provider: parses requests and writes answers. */
export interface Dialect {
  /** The end of a request's path. */
  readonly path: RegExp
  readonly read: (body: unknown, path: string) => Conversation
  readonly write: (turn: Turn, stream: boolean, id: string) => Answer
}

/** Adds the earlier turns to a request that continues from a stored answer. */
export const after = (request: Conversation, earlier: ReadonlyMap<string, Conversation>): Conversation => {
  const before = earlier.get(request.previous?.replace(/^[a-z]+_/, "") ?? "")
  if (before === undefined) return request
  return {
    ...request,
    tools: request.tools.length > 0 ? request.tools : before.tools,
    results: [...before.results, ...request.results]
  }
}

/** A text, or a list of parts of which some are texts. */
export const Text = Schema.Union([
  Schema.String,
  Schema.Array(Schema.Struct({ text: Schema.optionalKey(Schema.String) }))
])

/** What a model reads from a text or from parts. */
export const plain = (text: typeof Text.Type): string =>
  typeof text === "string" ? text : text.map((part) => part.text ?? "").join("\n")

/** A complete answer as JSON. */
export const whole = (value: unknown): Answer => ({ type: "application/json", body: JSON.stringify(value) })

/** An answer as server-sent events, named if the API names them. */
export const events = (list: ReadonlyArray<readonly [name: string | null, data: unknown]>, end = ""): Answer => ({
  type: "text/event-stream",
  body: `${list
    .map(([name, data]) => `${name === null ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`)
    .join("")}${end}`
})
