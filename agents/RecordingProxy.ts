import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Schema } from "effect"
import { close, listen, textOf } from "./loopback.ts"

/** What a client sent to the host. */
export interface Recorded {
  /** The methods of its messages, in order of first appearance. */
  readonly methods: Set<string>
  /** The protocol versions in its headers. */
  readonly versions: Set<string>
  /** The client's own name and version. */
  readonly names: Set<string>
  /** Refused requests: method, path and status. */
  readonly refused: Set<string>
}

/** A reverse proxy in front of the host that records the traffic. */
export interface RecordingProxy {
  readonly url: string
  readonly recorded: Recorded
  readonly close: () => Promise<void>
}

const Info = Schema.Struct({ name: Schema.String, version: Schema.String })
const Message = Schema.Struct({
  method: Schema.String,
  params: Schema.optionalKey(
    Schema.Struct({
      clientInfo: Schema.optionalKey(Info),
      _meta: Schema.optionalKey(Schema.Struct({ "io.modelcontextprotocol/clientInfo": Schema.optionalKey(Info) }))
    })
  )
})
const isMessage = Schema.is(Message)

/** Starts a proxy for one client. */
export const open = async (baseUrl: string): Promise<RecordingProxy> => {
  const recorded: Recorded = { methods: new Set(), versions: new Set(), names: new Set(), refused: new Set() }
  const record = (request: IncomingMessage, body: string) => {
    const version = request.headers["mcp-protocol-version"]
    if (typeof version === "string") recorded.versions.add(version)
    const message: unknown = body === "" ? null : JSON.parse(body)
    if (!isMessage(message)) return
    recorded.methods.add(message.method)
    const info = message.params?.clientInfo ?? message.params?._meta?.["io.modelcontextprotocol/clientInfo"]
    if (info !== undefined) recorded.names.add(`${info.name} ${info.version}`)
  }
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await textOf(request)
    record(request, body)
    const headers = Object.entries(request.headers).flatMap(
      ([name, value]): ReadonlyArray<[string, string]> =>
        typeof value === "string" && !hopByHop.has(name) ? [[name, value]] : []
    )
    const method = request.method ?? "GET"
    const answer = await fetch(`${baseUrl}${request.url}`, {
      method,
      headers,
      ...(method !== "GET" && method !== "HEAD" && body !== "" && { body })
    })
    if (answer.status >= 400) recorded.refused.add(`${method} ${request.url} ${answer.status}`)
    const kept = [...answer.headers].filter(([name]) => !hopByHop.has(name))
    response.writeHead(answer.status, Object.fromEntries(kept)).flushHeaders()
    // Streamed: a client may have to answer a form in a stream before the stream continues.
    const decoder = new TextDecoder()
    let text = ""
    for await (const bytes of answer.body ?? []) {
      response.write(bytes)
      text += decoder.decode(bytes, { stream: true })
    }
    response.end()
    const agreed = /"protocolVersion":"([\d-]+)"/.exec(text)?.[1]
    if (agreed !== undefined) recorded.versions.add(agreed)
  }
  const server = createServer((request, response) => {
    pass(request, response).catch(() => response.destroy())
  })
  return { url: await listen(server), recorded, close: () => close(server) }
}

/** The headers that belong to one connection and are not forwarded. */
const hopByHop = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "content-encoding",
  "keep-alive"
])
