/** What a single connection of an attack does. */
export interface Shape {
  readonly name: string
  /** What it writes, piece by piece. The next piece follows after `pause_ms`. */
  readonly pieces: () => Iterable<string>
  readonly pause_ms: number
  /** Whether it reads the responses. */
  readonly reads: boolean
  /** Closes its side after the last piece, like a caller that is done. */
  readonly half_closes?: true
  /** Opens another connection as soon as this one ends, until the attack is over. */
  readonly reopens?: true
}

const get = (path: string, headers = "") => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`

const post = (path: string, body: string, headers = "") =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`

const listTools = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} })

/** The largest body that a keyless caller of the agent endpoint may send. */
const largeMessage = (bytes: number) =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { filler: "x".repeat(bytes) } })

const once = (name: string, text: () => string, reads = true): Shape => ({
  name,
  pieces: () => [text()],
  pause_ms: 0,
  reads
})

const tinyChunks = function* (count: number) {
  yield "POST /v1/mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
  for (let left = count; left > 0; left -= 10_000) yield "1\r\n \r\n".repeat(10_000)
}

const slowHeaders = function* () {
  yield "GET /v1/events HTTP/1.1\r\nHost: x\r\n"
  for (let number = 0; ; number++) yield `x-${number}: ${"x".repeat(100)}\r\n`
}

const slowBody = function* () {
  const body = largeMessage(240_000)
  yield `POST /v1/mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  yield body.slice(0, -1_000)
  for (let at = -1_000; at < -1; at++) yield body.slice(at, at + 1)
}

/** How many requests one write pipelines: 61 KB of the shortest. */
const burst = 1_700

/** The shapes of attacks by callers without a key. */
export const shapes: ReadonlyArray<Shape> = [
  once("pipelined events", () => get("/v1/events").repeat(burst)),
  once("pipelined events, unread", () => get("/v1/events").repeat(burst), false),
  { ...once("pipelined events, half-closed", () => get("/v1/events").repeat(burst)), half_closes: true },
  { ...once("pipelined events, again and again", () => get("/v1/events").repeat(burst)), reopens: true },
  once("pipelined starts", () => post("/v1/quote-requests", "{}").repeat(burst)),
  once("pipelined messages of agents", () => post("/v1/mcp", listTools).repeat(burst / 4)),
  once("pipelined health", () => get("/health/live").repeat(burst)),
  once("pipelined unknown paths", () => get("/unknown").repeat(burst)),
  once("pipelined documents", () => get("/openapi.json").repeat(burst)),
  once("pipelined documents, unread", () => get("/openapi.json").repeat(burst), false),
  once("a few documents, unread", () => get("/openapi.json").repeat(20), false),
  once("thousands of headers", () => get("/v1/events", "a:\r\n".repeat(3_000)).repeat(20)),
  { name: "tiny chunks", pieces: () => tinyChunks(200_000), pause_ms: 1, reads: true },
  { name: "slow headers", pieces: slowHeaders, pause_ms: 200, reads: true, reopens: true },
  { name: "slow bodies", pieces: slowBody, pause_ms: 200, reads: true, reopens: true },
  { ...once("a connection for each request", () => get("/v1/events", "Connection: close\r\n")), reopens: true }
]
