import { Schema } from "effect"

/** A tool as a model is told of it. */
export interface Tool {
  readonly name: string
  readonly description: string
  /** The JSON Schema of its arguments, or what the client made of it. */
  readonly parameters: unknown
  /** Whether the client asks the model's provider to enforce the schema. */
  readonly strict: boolean
  /** The namespace that the client put the tool in; null for none. */
  readonly namespace: string | null
}

/** A request to a model, the same for all providers' APIs. */
export interface Conversation {
  readonly tools: ReadonlyArray<Tool>
  /** What the model reads of the results of earlier calls, in their order. */
  readonly results: ReadonlyArray<string>
  /** A tool that loads declarations, and the names of ours that it can load; null where there is none. */
  readonly search: { readonly name: string; readonly names: ReadonlyArray<string> } | null
  readonly stream: boolean
  /** The answer that this request goes on from, where the provider keeps what was said before; null for none. */
  readonly previous: string | null
}

/** A call of a tool, under the name that the client gave it. */
export interface Call {
  readonly name: string
  readonly namespace: string | null
  readonly args: Readonly<Record<string, unknown>>
}

/** What the model answers: a call, or a text. */
export type Turn = { readonly _tag: "call"; readonly call: Call } | { readonly _tag: "text"; readonly text: string }

/** An answer of the model's server. */
export interface Answer {
  readonly type: "application/json" | "text/event-stream"
  readonly body: string
}

/** The API of a model provider: how requests are read, and how answers are written. */
export interface Dialect {
  /** The end of the path of a request. */
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

/** What a model reads of a text or of parts. */
export const plain = (text: typeof Text.Type): string =>
  typeof text === "string" ? text : text.map((part) => part.text ?? "").join("\n")

/** An answer in one piece. */
export const whole = (value: unknown): Answer => ({ type: "application/json", body: JSON.stringify(value) })

/** An answer as server-sent events, each with its name where the interface gives names. */
export const events = (list: ReadonlyArray<readonly [name: string | null, data: unknown]>, end = ""): Answer => ({
  type: "text/event-stream",
  body: `${list
    .map(([name, data]) => `${name === null ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`)
    .join("")}${end}`
})
