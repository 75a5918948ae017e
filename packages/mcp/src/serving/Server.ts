import { ApiError, type Caller, Ids, Json, Lines } from "@quotewire/core"
import { Effect, Option, Predicate } from "effect"
import type * as Peer from "../forms/Peer.ts"
import * as RequestState from "../forms/RequestState.ts"
import * as Form from "../protocol/Form.ts"
import * as JsonRpc from "../protocol/JsonRpc.ts"
import * as Protocol from "../protocol/Protocol.ts"
import * as View from "../protocol/View.ts"
import * as LenientArguments from "../tools/LenientArguments.ts"
import type { Listed, Tool, ToolAudience, ToolCall, ToolResult } from "../tools/Tool.ts"
import type { ServerAnswer } from "./Results.ts"
import * as Results from "./Results.ts"

export type { ServerAnswer } from "./Results.ts"

/** Settings of an MCP server. */
export interface Settings<R> {
  readonly tools: ReadonlyArray<Tool<R>>
  /** The version that the server reports. */
  readonly version: string
  /** Signs and seals the state of a call that asks the person a question. Without it, tools show no forms. */
  readonly asking?: RequestState.Crypto<R>
}

/** The sender of a message, and how the message arrived. */
export interface Sender extends Omit<ToolCall, "args"> {
  readonly era: Protocol.Era
  /** The kinds of caller that the sender could become by signing in; empty if the sender cannot sign in. */
  readonly obtainable_kinds: ReadonlyArray<Caller.CallerKind>
  /** Whether the client can show the person a form during this call. */
  readonly elicits: boolean
  /** Sends a notification to the client during this call; null if the transport cannot. */
  readonly notify: Peer.Peer["notify"] | null
}

/**
 * A refused call as a JSON-RPC error that contains the error envelope. Used for refusals that HTTP expresses as a
 * status, such as a wrong key.
 */
export const refused = (envelope: ApiError.ErrorEnvelope): ServerAnswer => ({
  _tag: "error",
  error: {
    code: JsonRpc.codes.refused,
    message: `Refused (${envelope.error.code}): ${envelope.error.message}`,
    data: envelope
  }
})

/** Encodes the response to the message with this ID as JSON text; null if the message gets no response. */
export const textOf = (id: JsonRpc.Id | null, outcome: ServerAnswer): string | null => {
  if (id === null || outcome._tag === "nothing") return null
  return outcome._tag === "result" ? JsonRpc.result(id, outcome.text) : JsonRpc.failure({ id, error: outcome.error })
}

/**
 * A call that waits for the person, from a client with a handshake. It continues only when the transport has shown its
 * forms.
 */
export interface Asking<out R> {
  readonly _tag: "asking"
  /** Runs the call to its end. `ask` shows the person each form in turn. */
  readonly finish: <R2>(ask: Form.Ask<R2>) => Effect.Effect<ServerAnswer, ApiError.ApiError, R | R2>
}

/** The outcome of a message: its response, or a call that must first wait for the person. */
export type Outcome<R> = ServerAnswer | Asking<R>

/** Responds to single messages. It keeps no state between messages, so any host can answer the next one. */
export interface Server<R> {
  readonly answer: Answers<R>
}

type Answers<R> = (
  message: JsonRpc.Message,
  sender: Sender
) => Effect.Effect<Outcome<R>, ApiError.ApiError, R | Ids.Ids>

/** The server's instructions for models. */
const instructionsOn: Effect.Effect<string> = Effect.map(Lines.Lines, (lines) => {
  const insured = Array.from(lines.values(), ({ name, insures }) => `${insures} (${name})`).join(", ")
  return `Insurance price quotes for ${insured}. Go in this order: get_capabilities for the line; ask the person for the facts it lists and for their consent; start_quote_request; get_quote_request, which waits for quotes; show them. A quote is an offer of a price, not coverage, and not a comparison of the whole market. Consent and facts come from the person: never invent either. Unknown values are null: say that they are unknown.`
})

/** Creates a server with these tools. */
export const make = <R>({ asking, tools, version }: Settings<R>): Server<R> => {
  const info = { name: "quotewire", title: "Quotewire insurance quotes", version }
  const results = Results.make(info)
  const { complete } = results
  const views = new Map(tools.flatMap(({ view }) => (view === undefined ? [] : [[view.uri, view]])))
  const toolMethods: Methods<R> = {
    "tools/list": makeList(tools, results),
    "tools/call": makeCall(tools, results, asking ?? null)
  }
  const viewMethods = makeViews(views, results)
  const capabilitiesFor = ({ shows_views }: Sender) =>
    shows_views && views.size > 0 ? { ...capabilities, ...viewCapabilities } : capabilities
  const modern: Methods<R> = {
    "server/discover": (_message, sender) =>
      Effect.map(instructionsOn, (instructions) => {
        const offered = { supportedVersions: Protocol.supported, capabilities: capabilitiesFor(sender), instructions }
        return complete(Json.encode({ ...offered, ...cached }), sender.era)
      }),
    ...toolMethods
  }
  const legacy: Methods<R> = {
    initialize: ({ params }, sender) => {
      const agreed = {
        protocolVersion: Protocol.negotiate(params.protocolVersion),
        capabilities: capabilitiesFor(sender)
      }
      return Effect.map(instructionsOn, (instructions) =>
        complete(Json.encode({ ...agreed, serverInfo: info, instructions }), sender.era)
      )
    },
    ping: (_message, { era }) => Effect.succeed(complete(Json.encode({}), era)),
    ...toolMethods
  }
  const withoutViews: Readonly<Record<Protocol.Era, Methods<R>>> = { modern, legacy }
  const withViews: typeof withoutViews = {
    modern: { ...modern, ...viewMethods },
    legacy: { ...legacy, ...viewMethods }
  }
  return {
    answer: (message, sender) => {
      if (message.id === null) return nothing
      const methods = (sender.shows_views ? withViews : withoutViews)[sender.era]
      const method = Object.hasOwn(methods, message.method) ? methods[message.method] : undefined
      return method === undefined ? unknownMethod : method(message, sender)
    }
  }
}

/** Creates the method that lists the tools that a caller may call. */
const makeList = <R>(tools: ReadonlyArray<Tool<R>>, { complete }: Results.Results): Methods<R>[string] => {
  // Caches the encoded list, because it is the longest response and is the same for all callers of a kind.
  const listings = Lines.oncePerLines(() => new Map<string, ServerAnswer>())
  return Effect.fnUntraced(function* (_message, { caller: { environment, kind }, elicits, era, shows_views }) {
    const lines = yield* Lines.Lines
    const offered = yield* Effect.filter(tools, (tool) => tool.isOffered)
    const cachedListings = listings(lines)
    const key = [era, environment, kind, elicits, shows_views, ...offered.map(({ name }) => name)].join(" ")
    const cachedListing = cachedListings.get(key)
    if (cachedListing !== undefined) return cachedListing
    const audience: ToolAudience = { elicits, environment, kind, lines, shows_views }
    const listed = offered.flatMap((tool) => listedWithView(tool, audience) ?? [])
    const answer = complete(Json.encode({ tools: listed, ...(era === "modern" && cached) }), era)
    cachedListings.set(key, answer)
    return answer
  })
}

/** A tool as `tools/list` shows it. Clients that show pages also get its page. */
const listedWithView = <R>({ list, view }: Tool<R>, audience: ToolAudience): Listed | null => {
  const listed = list(audience)
  if (listed === null || view === undefined || !audience.shows_views) return listed
  return { ...listed, _meta: { ui: { resourceUri: view.uri } } }
}

/** Creates the methods that list and read the tools' pages, which are the same for every caller. */
const makeViews = (views: ReadonlyMap<string, View.View>, { complete }: Results.Results): Methods<never> => {
  const answer = (fields: object, era: Protocol.Era): ServerAnswer =>
    complete(Json.encode({ ...fields, ...(era === "modern" && { ...cached, cacheScope: "public" }) }), era)
  return {
    "resources/list": (_message, { era }) =>
      Effect.succeed(answer({ resources: Array.from(views.values(), View.listed) }, era)),
    "resources/templates/list": (_message, { era }) => Effect.succeed(answer({ resourceTemplates: [] }, era)),
    "resources/read": ({ params: { uri } }, { era }) => {
      const view = typeof uri === "string" ? views.get(uri) : undefined
      if (view === undefined) return invalid("params.uri must name a resource listed by resources/list.", { uri })
      return Effect.succeed(answer({ contents: [View.contents(view)] }, era))
    }
  }
}

/** Creates the method that calls a tool. */
const makeCall = <R>(
  tools: ReadonlyArray<Tool<R>>,
  results: Results.Results,
  crypto: RequestState.Crypto<R> | null
): Methods<R>[string] => {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  return (message, sender) => {
    const { params } = message
    const { elicits, era, notify, ...rest } = sender
    const { arguments: args = {}, name } = params
    const calledTool = typeof name === "string" ? byName.get(name) : undefined
    if (calledTool === undefined) return unknownTool
    const tool = offeringSignIn(calledTool, sender)
    return Effect.flatMap(tool.isOffered, (isOffered) => {
      if (!isOffered) return unknownTool
      if (!Predicate.isObject(args)) return noArguments
      const call = { ...rest, ...progressOf(message, notify), args }
      if (crypto === null || !elicits) return Effect.flatMap(tool.call(call), results.calledWithoutQuestion(era))
      if (LenientArguments.isTooDeep(args)) return tooDeep
      return era === "modern"
        ? askInResult(tool, call, { params, results, crypto })
        : askDuringCall(tool, call, results)
    })
  }
}

/** How a call reports its progress; empty if the client did not ask for progress or the transport cannot send it. */
const progressOf = (message: JsonRpc.Message, notify: Sender["notify"]): Pick<ToolCall, "progress"> => {
  const progressToken = Protocol.progressTokenOf(message)
  if (progressToken === null || notify === null) return {}
  return {
    progress: (progress, text) => notify("notifications/progress", { progressToken, progress, message: text })
  }
}

/** The parameters that may answer an earlier question, and what is needed to ask another question. */
interface AskingInResult<R> {
  readonly params: JsonRpc.Message["params"]
  readonly results: Results.Results
  readonly crypto: RequestState.Crypto<R>
}

/** Calls a tool whose result can be a question. The client answers the question with another call (MCP 2026-07-28). */
const askInResult = Effect.fnUntraced(function* <R>(
  tool: Tool<R>,
  call: ToolCall,
  { crypto, params: { inputResponses, requestState }, results }: AskingInResult<R>
) {
  // Copies the arguments, because the tool may change them, and the state belongs to the original arguments.
  const subject = { tool: tool.name, caller: call.caller, args: structuredClone(call.args) }
  const state = typeof requestState === "string" ? yield* RequestState.read(crypto, subject, requestState) : null
  if (state !== null && Option.isNone(state)) return yield* staleState
  const question = state?.value ?? null
  const responses = Predicate.isObject(inputResponses) ? inputResponses : {}
  const answer =
    question !== null && Object.hasOwn(responses, question.name) ? Form.readAnswer(responses[question.name]) : null
  const result = yield* tool.call({ ...call, round: { state: question?.state ?? null, answer } })
  return "form" in result
    ? results.asked(result, yield* RequestState.write(crypto, subject, result))
    : results.called(result, "modern")
})

/** Calls a tool that can ask the person while the call runs (MCP 2025-06-18 and later, with a handshake). */
const askDuringCall = Effect.fnUntraced(function* <R>(tool: Tool<R>, call: ToolCall, results: Results.Results) {
  const ids = yield* Ids.Ids
  // A shallow copy is enough. The tool removes null values in place, so the message that waits with this call no longer
  // holds them either; a deep copy would keep them in memory.
  const run = (changes: Partial<ToolCall>) => tool.call({ ...call, args: { ...call.args }, ...changes })
  const first = yield* run({ round: Form.first })
  if (!("form" in first)) return results.called(first, "legacy")
  const finish = Effect.fnUntraced(function* <R2>(ask: Form.Ask<R2>) {
    let result: ToolResult | Form.Question = first
    while ("form" in result) {
      const { form, state }: Form.Question = result
      // Only the first round counts toward the rate limits. If they refused a later round, the person would have
      // answered in vain.
      const round: Form.Round = { state, answer: yield* ask(form) }
      result = yield* run({ request_id: ids.request(), round, is_paid: true })
    }
    return results.called(result, "legacy")
  })
  return { _tag: "asking", finish } satisfies Asking<R>
})

type Methods<R> = Readonly<Record<string, Answers<R>>>

/** Wraps a tool so that a refused call fails with `forbidden` if the sender could call the tool after signing in. */
const offeringSignIn = <R>(tool: Tool<R>, { caller, elicits, obtainable_kinds, shows_views }: Sender): Tool<R> => {
  if (obtainable_kinds.length === 0) return tool
  const offerSignIn = Lines.Lines.use((lines) => {
    const { environment } = caller
    const canCall = (kind: Caller.CallerKind) => tool.list({ elicits, environment, kind, lines, shows_views }) !== null
    const signInHelps = !canCall(caller.kind) && obtainable_kinds.some(canCall)
    return signInHelps ? Effect.fail(ApiError.make("forbidden")) : Effect.void
  })
  return {
    ...tool,
    call: (call) =>
      Effect.tap(tool.call(call), (result) => ("isError" in result && result.isError ? offerSignIn : Effect.void))
  }
}

const capabilities = { tools: {} }

/** Additional server capabilities for clients that show pages. */
const viewCapabilities = { resources: {}, extensions: { [View.extension]: {} } }

/** How long a client may cache a list, in milliseconds. The cache must be private, because lists differ by caller. */
const cached = { ttlMs: 300_000, cacheScope: "private" }

const nothing: Effect.Effect<ServerAnswer> = Effect.succeed({ _tag: "nothing" })

const invalid = (message: string, data?: object): Effect.Effect<ServerAnswer> =>
  Effect.succeed({
    _tag: "error",
    error: { code: JsonRpc.codes.invalid_params, message, ...(data !== undefined && { data }) }
  })

const unknownTool = invalid("params.name must name a tool listed by tools/list.")
const staleState = invalid(
  "params.requestState does not belong to this call, or has expired. Send the call again without requestState."
)
const tooDeep = invalid(`params.arguments must not be nested deeper than ${LenientArguments.maxDepth} levels.`)
const noArguments = invalid("params.arguments must be an object.")

const unknownMethod: Effect.Effect<ServerAnswer> = Effect.succeed({
  _tag: "error",
  error: { code: JsonRpc.codes.method_not_found, message: "This method is not supported." }
})
