import { type ApiError, Json, Lines } from "@quotewire/core"
import { Effect, Predicate } from "effect"
import { codes, type Message, type RpcError } from "./JsonRpc.ts"
import * as Protocol from "./Protocol.ts"
import type { Tool, ToolCall, ToolResult } from "./Tool.ts"

/** Settings of a server. */
export interface Settings<R> {
  readonly tools: ReadonlyArray<Tool<R>>
  /** The version that the server reports. */
  readonly version: string
}

/** The sender of a message, and how it came. */
export interface Sender extends Omit<ToolCall, "args"> {
  readonly era: Protocol.Era
}

/** The result of a message: the text of a result, an error of the protocol, or nothing. */
export type ServerAnswer =
  | { readonly _tag: "result"; readonly text: string }
  | { readonly _tag: "error"; readonly error: RpcError }
  | { readonly _tag: "nothing" }

/** Answers single messages. It is stateless, so any host can answer the next one. */
export interface Server<R> {
  readonly answer: (message: Message, sender: Sender) => Effect.Effect<ServerAnswer, ApiError.ApiError, R>
}

/** The server's instructions for models. */
const instructionsOn: Effect.Effect<string> = Effect.map(Lines.Lines, (lines) => {
  const insured = Array.from(lines.values(), ({ name, insures }) => `${insures} (${name})`).join(", ")
  return `Insurance price quotes for ${insured}. Go in this order: get_capabilities for the line; ask the person for the facts it lists and for their consent; start_quote_request; get_quote_request, which waits for quotes; show them. A quote is an offer of a price, not coverage, and not a comparison of the whole market. Consent and facts come from the person: never invent either. Unknown values are null: say that they are unknown.`
})

/** Makes a server of these tools. */
export const make = <R>({ tools, version }: Settings<R>): Server<R> => {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const info = { name: "quotewire", title: "Quotewire insurance quotes", version }
  /** The end of every result, by era. */
  const ends: Readonly<Record<Protocol.Era, string>> = {
    modern: `,${JSON.stringify({ resultType: "complete", _meta: { [Protocol.serverKey]: info } }).slice(1)}`,
    legacy: "}"
  }
  const complete = ({ text }: Json.Json<object>, era: Protocol.Era): ServerAnswer => ({
    _tag: "result",
    text: text.slice(0, -1) + ends[era]
  })
  // Concatenated, because tool results are the largest ones and are encoded already.
  const called = ({ content, isError, structuredContent }: ToolResult, era: Protocol.Era): ServerAnswer => {
    const structured = structuredContent === undefined ? "" : `,"structuredContent":${structuredContent.text}`
    return { _tag: "result", text: `{"content":${content.text}${structured},"isError":${isError}${ends[era]}` }
  }
  // The text of a whole result, by caller and era: it is the longest answer, and the same for all callers of a kind.
  const listings = Lines.oncePerLines(() => new Map<string, ServerAnswer>())
  const list: Methods<R>[string] = Effect.fnUntraced(function* (_message, { caller: { environment, kind }, era }) {
    const lines = yield* Lines.Lines
    const offered = yield* Effect.filter(tools, (tool) => tool.isOffered)
    const known = listings(lines)
    const key = [era, environment, kind, ...offered.map(({ name }) => name)].join(" ")
    const listed =
      known.get(key) ??
      complete(
        inAscii(
          Json.encode({
            tools: offered.map((tool) => tool.list({ environment, kind, lines })).filter(Predicate.isNotNull),
            ...(era === "modern" && cached)
          })
        ),
        era
      )
    known.set(key, listed)
    return listed
  })
  const call: Methods<R>[string] = ({ params }, sender) => {
    const { arguments: args = {}, name } = params
    const tool = typeof name === "string" ? byName.get(name) : undefined
    if (tool === undefined) return unknownTool
    return Effect.flatMap(tool.isOffered, (isOffered) => {
      if (!isOffered) return unknownTool
      if (!Predicate.isObject(args)) return noArguments
      return Effect.map(tool.call({ ...sender, args }), (result) => called(result, sender.era))
    })
  }
  const modern: Methods<R> = {
    "server/discover": (_message, { era }) =>
      Effect.map(instructionsOn, (instructions) =>
        complete(Json.encode({ supportedVersions: Protocol.supported, capabilities, instructions, ...cached }), era)
      ),
    "tools/list": list,
    "tools/call": call
  }
  const legacy: Methods<R> = {
    initialize: ({ params }, { era }) => {
      const protocolVersion = Protocol.negotiate(params.protocolVersion)
      return Effect.map(instructionsOn, (instructions) =>
        complete(Json.encode({ protocolVersion, capabilities, serverInfo: info, instructions }), era)
      )
    },
    ping: (_message, { era }) => Effect.succeed(complete(Json.encode({}), era)),
    "tools/list": list,
    "tools/call": call
  }
  return {
    answer: (message, sender) => {
      if (message.id === null) return nothing
      const methods = sender.era === "modern" ? modern : legacy
      const method = Object.hasOwn(methods, message.method) ? methods[message.method] : undefined
      return method === undefined ? unknownMethod : method(message, sender)
    }
  }
}

/** The same JSON with other characters escaped: Node sends a text in ASCII as it is and converts any other each time. */
const inAscii = <A>({ text }: Json.Json<A>): Json.Json<A> =>
  Json.fromText(text.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`))

type Methods<R> = Readonly<
  Record<string, (message: Message, sender: Sender) => Effect.Effect<ServerAnswer, ApiError.ApiError, R>>
>

const capabilities = { tools: {} }

/** How long a client may cache a list. It depends on the caller, so the cache is private. */
const cached = { ttlMs: 300_000, cacheScope: "private" }

const nothing: Effect.Effect<ServerAnswer> = Effect.succeed({ _tag: "nothing" })

const invalid = (message: string): Effect.Effect<ServerAnswer> =>
  Effect.succeed({ _tag: "error", error: { code: codes.invalid_params, message } })

const unknownTool = invalid("The member params.name must name a tool of tools/list.")
const noArguments = invalid("The member params.arguments must be an object.")

const unknownMethod: Effect.Effect<ServerAnswer> = Effect.succeed({
  _tag: "error",
  error: { code: codes.method_not_found, message: "This method is not served." }
})
