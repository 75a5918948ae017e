import { once } from "node:events"
import { createServer, type RequestListener, type Server } from "node:http"
import { afterEach, assert, describe, it } from "@effect/vitest"
import { type ConnectOptions, connect, HostError, type RemoteClient } from "@quotewire/http/client"
import { undiciTransport } from "@quotewire/http/undici"
import { Agent } from "undici"
import { rejectionOf } from "./scripted.ts"

/*
 * What a client does with a host that responds wrongly, through each transport.
 */

const servers: Array<Server> = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close()
    server.closeAllConnections()
  }
})

const listen = async (respond: RequestListener): Promise<string> => {
  const server = createServer(respond)
  servers.push(server)
  await once(server.listen(0, "127.0.0.1"), "listening")
  const bound = server.address()
  return `http://127.0.0.1:${typeof bound === "object" && bound !== null ? bound.port : 0}`
}

const asJson = { "content-type": "application/json", "service-version": "2026-09-26" }

describe.each<[string, () => Pick<ConnectOptions, "transport">]>([
  ["fetch", () => ({})],
  ["undici", () => ({ transport: undiciTransport() })]
])("a client that sends with %s", (_, transport) => {
  const clientOf = (base_url: string): RemoteClient => connect({ base_url, key: "k", max_retries: 0, ...transport() })

  const errorOf = async (respond: RequestListener): Promise<HostError> => {
    const error = await rejectionOf(clientOf(await listen(respond)).get_quote({ id: "qt_1" }))
    return error instanceof HostError ? error : assert.fail(String(error))
  }

  it("sends the method, the path, the headers and the body", async () => {
    const base = await listen(async (request, response) => {
      const chunks: Array<string> = []
      for await (const chunk of request.setEncoding("utf8")) chunks.push(chunk)
      const { authorization, "content-type": type } = request.headers
      const value = { got: [request.method, request.url, authorization, type, chunks.join("")] }
      response.writeHead(200, asJson).end(JSON.stringify(value))
    })
    const client = clientOf(`${base}/insurance`)
    const got = async (call: Promise<unknown>) => JSON.stringify(await call)
    assert.include(
      await got(client.advance_time({ seconds: 60 })),
      JSON.stringify(["POST", "/insurance/v1/sandbox/time", "Bearer k", "application/json", '{"seconds":60}'])
    )
    assert.include(
      await got(client.get_quote({ id: "é", version: 2 })),
      JSON.stringify(["GET", "/insurance/v1/quotes/%C3%A9?version=2", "Bearer k", null, ""])
    )
  })

  it("reads a body that arrives in pieces", async () => {
    const text = JSON.stringify({ id: "qt_é" })
    const bytes = Buffer.from(text)
    const base = await listen((_request, response) => {
      response.writeHead(200, asJson)
      // The second piece begins in the middle of a character.
      const middle = bytes.indexOf(0xa9)
      response.write(bytes.subarray(0, middle), () => response.end(bytes.subarray(middle)))
    })
    assert.deepStrictEqual<unknown>(await clientOf(base).get_quote({ id: "qt_1" }), JSON.parse(text))
  })

  it("does not follow a redirect", async () => {
    const paths: Array<string | undefined> = []
    const error = await errorOf((request, response) => {
      paths.push(request.url)
      response.writeHead(308, { location: "/elsewhere" }).end()
    })
    assert.match(error.message, /redirects \(HTTP 308\)\. Set base_url to the address that it redirects to\.$/)
    assert.deepStrictEqual(paths, ["/v1/quotes/qt_1"])
  })

  it("closes the connection instead of reading the rest of an HTML page", async () => {
    const closed = Promise.withResolvers<void>()
    const error = await errorOf((_request, response) => {
      response.once("close", closed.resolve)
      response.writeHead(502, { "content-type": "text/html", "retry-after": "7" }).write("<html>")
    })
    await closed.promise
    assert.deepInclude(error, { status: 502, content_type: "text/html", retry_action: "retry", retry_after_seconds: 7 })
  })

  it("stops reading a response at the maximum size", async () => {
    const closed = Promise.withResolvers<void>()
    const error = await errorOf((_request, response) => {
      response.once("close", closed.resolve)
      response.writeHead(200, asJson)
      const more = () => void response.write(Buffer.alloc(4 * 1024 * 1024, " "), (failed) => failed ?? more())
      more()
    })
    await closed.promise
    assert.match(error.message, /with more than 33554432 bytes\.$/)
  })

  it("reports an unreachable host if the connection breaks before or during the response", async () => {
    const before = await errorOf((request) => request.socket.destroy())
    assert.deepInclude(before, { reason: "unreachable", retry_action: "retry" })
    const within = await errorOf((request, response) => {
      response.writeHead(200, { ...asJson, "content-length": "100" })
      response.write("{", () => request.socket.destroy())
    })
    assert.deepInclude(within, { reason: "unreachable", retry_action: "retry" })
  })

  it("reports the system's error code if it cannot connect", async () => {
    const base = await listen(() => {})
    const [server] = servers.splice(0)
    server?.close()
    const error = await rejectionOf(clientOf(base).get_quote({ id: "qt_1" }))
    assert.match(String(error), /Cannot reach the host at .* \(ECONNREFUSED\)\.$/)
  })

  it("closes the connection of a cancelled call", async () => {
    const controller = new AbortController()
    const reason = new Error("The page was left.")
    const closed = Promise.withResolvers<void>()
    const base = await listen((_request, response) => {
      response.once("close", closed.resolve)
      controller.abort(reason)
    })
    const call = clientOf(base).get_quote({ id: "qt_1" }, { signal: controller.signal })
    assert.strictEqual(await rejectionOf(call), reason)
    await closed.promise
  })
})

describe("undiciTransport", () => {
  it("sends calls through the dispatcher that the program passes", async () => {
    const base_url = await listen((_request, response) => void response.writeHead(200, asJson).end('{"id":"qt_1"}'))
    const dispatcher = new Agent({ connections: 1 })
    const client = connect({ base_url, key: "k", max_retries: 0, transport: undiciTransport({ dispatcher }) })
    const all = await Promise.all(["a", "b", "c"].map((id) => client.get_quote({ id })))
    assert.deepStrictEqual<unknown>(all, [{ id: "qt_1" }, { id: "qt_1" }, { id: "qt_1" }])
    await dispatcher.close()
    assert.deepInclude(await rejectionOf(client.get_quote({ id: "a" })), { reason: "unreachable" })
  })

  it("never sends a call that is cancelled while waiting for a connection", async () => {
    const paths: Array<string | undefined> = []
    const first = Promise.withResolvers<() => void>()
    const base_url = await listen((request, response) => {
      paths.push(request.url)
      first.resolve(() => void response.writeHead(200, asJson).end('{"id":"qt_1"}'))
      if (request.url === "/v1/quotes/c") response.writeHead(200, asJson).end("{}")
    })
    const transport = undiciTransport({ dispatcher: new Agent({ connections: 1 }) })
    const client = connect({ base_url, key: "k", max_retries: 0, transport })
    const controller = new AbortController()
    const a = client.get_quote({ id: "a" })
    const b = client.get_quote({ id: "b" }, { signal: controller.signal })
    const c = client.get_quote({ id: "c" })
    const respond = await first.promise
    controller.abort()
    await rejectionOf(b)
    respond()
    await Promise.all([a, c])
    assert.deepStrictEqual(paths, ["/v1/quotes/a", "/v1/quotes/c"])
  })

  it("sends nothing if the signal was already aborted", async () => {
    const paths: Array<string | undefined> = []
    const origin = await listen((request, response) => {
      paths.push(request.url)
      response.end()
    })
    const transport = undiciTransport()
    const request = { origin, method: "GET", headers: {}, body: null } as const
    await rejectionOf(transport({ ...request, path: "/aborted", signal: AbortSignal.abort() }))
    const { status } = await transport({ ...request, path: "/sent", signal: new AbortController().signal })
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(paths, ["/sent"])
  })
})
