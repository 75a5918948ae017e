import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { Effect, type Scope } from "effect"

/** The official clients, one for each way to negotiate a revision. */
export const kinds = ["2.4.0, default", "2.4.0, auto", "2.4.0, pinned", "1.32.2"] as const
export type Kind = (typeof kinds)[number]

/** What a client received from a tool. */
export interface ToolAnswer {
  readonly isError: boolean
  readonly texts: ReadonlyArray<string>
  // Responses are read as a program in a different language would read them.
  // biome-ignore lint/suspicious/noExplicitAny: the client has checked it against the tool's outputSchema
  readonly structured: any
}

/** A connected client. */
export interface Connected {
  /** The names of the listed tools. A client that has read the list validates every result against its schema. */
  readonly tools: Effect.Effect<ReadonlyArray<string>>
  readonly call: (name: string, args?: Record<string, unknown>) => Effect.Effect<ToolAnswer>
  /** How many requests each host received. */
  readonly requests: ReadonlyArray<number>
}

const info = { name: "an-agent", version: "3.2.1" }

/** Sends every request to the next host, like a load balancer. */
export const roundRobin = (baseUrls: ReadonlyArray<string>) => {
  const requests = baseUrls.map(() => 0)
  let turn = 0
  const fetchNext = (url: string | URL, init?: RequestInit): Promise<Response> => {
    const index = turn++ % baseUrls.length
    requests[index] = (requests[index] ?? 0) + 1
    return fetch(new URL(new URL(url).pathname, baseUrls[index]), init)
  }
  return { requests, fetch: fetchNext }
}

const modes = { "2.4.0, default": "legacy", "2.4.0, auto": "auto", "2.4.0, pinned": { pin: "2026-07-28" } } as const

/** Connects a client, which is closed with the scope. */
export const connect = (
  kind: Kind,
  baseUrls: readonly [string, ...Array<string>],
  key: string | null
): Effect.Effect<Connected, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { fetch, requests } = roundRobin(baseUrls)
    const url = new URL(`${baseUrls[0]}/v1/mcp`)
    const options = { fetch, requestInit: { headers: key === null ? {} : { authorization: `Bearer ${key}` } } }
    const client = yield* Effect.acquireRelease(
      Effect.promise(() => (kind === "1.32.2" ? older(url, options) : newer(kind, url, options))),
      ({ close }) => Effect.promise(close)
    )
    return {
      requests,
      tools: Effect.promise(client.tools),
      call: (name, args) => Effect.promise(async () => answerOf(await client.call(name, args)))
    }
  })

interface Options {
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>
  readonly requestInit: { readonly headers: Record<string, string> }
}

/** What all versions of the official client have in common. */
interface OfficialClient {
  readonly listTools: () => Promise<{ readonly tools: ReadonlyArray<{ readonly name: string }> }>
  readonly callTool: (call: { readonly name: string; readonly arguments: Record<string, unknown> }) => Promise<object>
  readonly close: () => Promise<void>
}

/** The methods of an official client that tests use. */
export const methodsOf = (client: OfficialClient) => ({
  tools: async () => (await client.listTools()).tools.map(({ name }) => name),
  call: (name: string, args: Record<string, unknown> = {}) => client.callTool({ name, arguments: args }),
  close: () => client.close()
})

const newer = async (kind: keyof typeof modes, url: URL, options: Options) => {
  const client = new Client(info, { versionNegotiation: { mode: modes[kind] } })
  await client.connect(new StreamableHTTPClientTransport(url, options))
  return methodsOf(client)
}

const older = async (url: URL, options: Options) => {
  const client = new OlderClient(info)
  await client.connect(new OlderTransport(url, options))
  return methodsOf(client)
}

const answerOf = (result: object): ToolAnswer => {
  const { content, isError, structuredContent } = { content: [], isError: false, structuredContent: null, ...result }
  const texts = content.flatMap((part: object) => ("text" in part && typeof part.text === "string" ? [part.text] : []))
  return { isError, texts, structured: structuredContent }
}
