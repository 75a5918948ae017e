import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { embed, Storage } from "@quotewire/core"
import { nodeHandler } from "@quotewire/http"
import { type WebHandlerOptions, webHandler } from "@quotewire/http/web"
import { mcp } from "@quotewire/mcp"
import { Deferred, Effect, Layer } from "effect"
import { capturedLog, embedded, json, polling, serving, start, waiting } from "./support.ts"

const host = "https://shop.example"

const textOf = (answer: Response) => Effect.promise(() => answer.text())

/** Requests of every kind that a host handles or refuses. */
const requestsWith = (key: string): ReadonlyArray<readonly [string, RequestInit]> => {
  const headers = json(key)
  const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })
  const params = { name: "get_capabilities", arguments: { line: "pet" }, _meta: { progressToken: 1 } }
  const call = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params })
  const preflight = { origin: host, "access-control-request-method": "GET" }
  return [
    ["/v1/capabilities?line=pet", { headers }],
    ["/v1/capabilities?line=pet", { headers, method: "HEAD" }],
    ["/v1/capabilities?line=pet", { headers: { ...preflight }, method: "OPTIONS" }],
    ["/v1/capabilities?line=pet", { headers: { ...preflight, origin: "https://other.example" }, method: "OPTIONS" }],
    ["/v1/capabilities?line=pet&line=pet", { headers }],
    ["/v1/quotes/quote_1", { headers: { ...headers, "service-version": "1999-01-01" } }],
    ["/v1/quotes/quote_1", {}],
    ["/v1/quotes", { headers, method: "DELETE" }],
    ["/v1/nothing", { headers }],
    ["/nothing", {}],
    ["/v1/quote-requests", { headers, method: "POST", body: "{" }],
    ["/v1/quote-requests", { headers, method: "POST" }],
    ["/v1/quote-requests", { headers, method: "POST", body: `"${"a".repeat(256 * 1024)}"` }],
    ["/v1/mcp", { headers, method: "POST", body: message }],
    ["/v1/mcp", { headers: { ...headers, accept: "application/json, text/event-stream" }, method: "POST", body: call }],
    ["/v1/mcp", { headers }],
    ["/v1/mcp", { headers: { origin: "https://other.example" }, method: "POST", body: message }],
    ["/go/unknown", {}],
    ["/carriers/acme/callbacks", { method: "POST", body: "{}" }],
    ["/docs/v1/errors/not_found", {}],
    ["/openapi.json", { headers: { "accept-encoding": "gzip" } }],
    ["/health/ready", {}],
    ["/", { headers: { accept: "text/html" } }],
    ["/", {}]
  ]
}

/** Headers of one response or connection. The server adds the length of responses with a body. */
const own = /^(?:request-id|date|connection|keep-alive|transfer-encoding|content-length)$/

/** What must be the same on both handlers. */
const shown = async (answer: Response) => ({
  status: answer.status,
  headers: [...answer.headers].filter(([name]) => !own.test(name)).sort(),
  text: (await answer.text()).replace(/req_\w{26}/g, "req_")
})

describe("webHandler", () => {
  it.live("gives the same responses as nodeHandler", () =>
    Effect.gen(function* () {
      const { key, quotewire } = yield* embedded({ public_url: host })
      const options = { mcp, mcp_origins: [host], cors_origins: [host] }
      const overWeb = webHandler(quotewire, options)
      const address = yield* serving(nodeHandler(quotewire, options))
      for (const [path, init] of requestsWith(key)) {
        const [web, node] = yield* Effect.promise(async () => [
          await shown(
            await overWeb(new Request(`${host}${path}`, { headers: { "accept-encoding": "identity" }, ...init }))
          ),
          await shown(await fetch(`${address}${path}`, { headers: { "accept-encoding": "identity" }, ...init }))
        ])
        const name = `${init.method ?? "GET"} ${path}`
        // `fetch` decompresses the bodies, so their headers differ.
        if (path === "/openapi.json") assert.strictEqual(web?.status, node?.status, name)
        else assert.deepStrictEqual(web, node, name)
      }
    })
  )

  it.live("interrupts an event stream if the caller cancels it", () =>
    Effect.gen(function* () {
      const { key, quotewire } = yield* embedded()
      const hungUp = yield* Deferred.make<void>()
      const events = (send: (text: string) => void) =>
        Effect.sync(() => send("{}")).pipe(
          Effect.andThen(Effect.never),
          Effect.onInterrupt(() => Deferred.succeed(hungUp, undefined))
        )
      const endpoint = { ...mcp(), answer: () => Effect.succeed({ status: 200, headers: {}, text: null, events }) }
      const handle = webHandler(quotewire, { mcp: () => endpoint })
      const answer = yield* Effect.promise(() =>
        handle(new Request(`${host}/v1/mcp`, { headers: json(key), method: "POST", body: "{}" }))
      )
      const reader = answer.body?.getReader()
      const read = yield* Effect.promise(async () => reader?.read())
      assert.strictEqual(new TextDecoder().decode(read?.value), "event: message\ndata: {}\n\n")
      yield* Effect.promise(async () => reader?.cancel())
      yield* Deferred.await(hungUp)
    })
  )

  it.live.each<readonly [WebHandlerOptions, string, string | null]>([
    [{}, "/v1/quote-requests", ""],
    [{ base_path: "/" }, "/v1/quote-requests", ""],
    [{ base_path: "/insurance" }, "/insurance/v1/quote-requests", "/insurance"],
    [{ base_path: "/api/insurance/" }, "/api/insurance/v1/quote-requests", "/api/insurance"],
    [{ base_path: "/insurance" }, "/v1/quote-requests", null],
    [{ base_path: "/insurance" }, "/insurances/v1/quote-requests", null],
    [{ base_path: "/insurance" }, "/Insurance/v1/quote-requests", null],
    [{ base_path: "/insurance" }, "//insurance/v1/quote-requests", null],
    [
      { base_path: "/versicherungsmöglichkeiten" },
      "/versicherungsm%C3%B6glichkeiten/v1/quote-requests",
      "/versicherungsm%C3%B6glichkeiten"
    ],
    [
      { base_path: "/versicherungsm%C3%B6glichkeiten" },
      "/versicherungsm%c3%b6glichkeiten/v1/quote-requests",
      "/versicherungsm%C3%B6glichkeiten"
    ],
    [{ base_path: "/50%25" }, "/50%25/v1/quote-requests", "/50%25"],
    [{ base_path: "/a%2Fb" }, "/a%2fb/v1/quote-requests", "/a%2Fb"],
    [{ base_path: "/a%2Fb" }, "/a/b/v1/quote-requests", null],
    [{ base_path: "/insurance" }, "/insur%61nce/v1/quote-requests", "/insurance"],
    [{ base_path: "/insurance" }, "/%zz/v1/quote-requests", null],
    [{ base_path: "/api", base_url: "https://shop.example/public" }, "/api/v1/quote-requests", "/public"]
  ])("serves only paths below its base path (options %j, path %s)", ([options, path, location]) =>
    Effect.gen(function* () {
      const { key, quotewire } = yield* embedded()
      const handle = webHandler(quotewire, options)
      const init = { method: "POST", headers: json(key), body: start("one") }
      const answer = yield* Effect.promise(() => handle(new Request(`${host}${path}`, init)))
      const { id } = JSON.parse(yield* textOf(answer))
      if (location === null) assert.strictEqual(answer.status, 404)
      else assert.strictEqual(answer.headers.get("location"), `${location}/v1/quote-requests/${id}`)
    })
  )

  it.live("does not use the request's host in links, and logs that public_url is missing", () =>
    Effect.gen(function* () {
      const logged = yield* capturedLog
      const { quotewire } = yield* embedded()
      const handle = webHandler(quotewire)
      const answer = yield* Effect.promise(() => handle(new Request("https://evil.example/v1/quotes/quote_1")))
      assert.notInclude(yield* textOf(answer), "evil.example")
      assert.include(logged.join("\n"), "set embed's public_url option")
    })
  )

  it.live("describes the service at its base path as HTML for browsers, and otherwise as text", () =>
    Effect.gen(function* () {
      const { key, quotewire } = yield* embedded({ public_url: `${host}/insurance` })
      const handle = webHandler(quotewire, { base_path: "/insurance", mcp })
      const get = (accept: string) =>
        Effect.promise(() => handle(new Request(`${host}/insurance`, { headers: { accept } })))
      const page = yield* get("text/html,application/xhtml+xml")
      assert.match(page.headers.get("content-security-policy") ?? "", /^default-src 'none'; /)
      const html = yield* textOf(page)
      for (const path of ["/docs", "/openapi.json", "/health/ready", "/v1/mcp"]) {
        assert.include(html, `href="/insurance${path}"`)
      }
      const answer = yield* get("*/*")
      assert.include(answer.headers.get("content-type") ?? "", "text/plain")
      assert.strictEqual(answer.headers.get("vary"), "Accept")
      const text = yield* textOf(answer)
      const [, address = "", body = ""] = /curl -s (\S+)[\s\S]*-d '([^']*)'/.exec(text) ?? []
      const started = yield* Effect.promise(() =>
        handle(new Request(address, { method: "POST", headers: json(key), body }))
      )
      assert.strictEqual(started.status, 202)
    })
  )

  it.live("interrupts a call whose caller has disconnected", () =>
    Effect.gen(function* () {
      const service = yield* embedded()
      const handle = webHandler(service.quotewire)
      const caller = new AbortController()
      yield* polling(service, (path, init) => handle(new Request(`${host}${path}`, init)), caller.signal)
      caller.abort()
      yield* waiting(service.quotewire, 0)
    })
  )

  it.live("does not wait for the body of a caller that has already disconnected", () =>
    Effect.gen(function* () {
      const { key, quotewire } = yield* embedded()
      const handle = webHandler(quotewire)
      const body = new ReadableStream({ pull: () => new Promise(() => {}) })
      const init = { method: "POST", headers: json(key), body, signal: AbortSignal.abort(), duplex: "half" }
      const answer = yield* Effect.promise(() => handle(new Request(`${host}/v1/quote-requests`, init)))
      assert.strictEqual(answer.status, 503)
    })
  )

  it.live("stops reading a request body at the size limit", () =>
    Effect.gen(function* () {
      const { key, quotewire } = yield* embedded()
      const handle = webHandler(quotewire)
      let pulled = 0
      let cancelled = false
      const body = new ReadableStream(
        {
          pull: (controller) => {
            pulled++
            controller.enqueue(new Uint8Array(64 * 1024))
          },
          cancel: () => {
            cancelled = true
          }
        },
        { highWaterMark: 0 }
      )
      const init = { method: "POST", headers: json(key), body, duplex: "half" }
      const answer = yield* Effect.promise(() => handle(new Request(`${host}/v1/quote-requests`, init)))
      assert.strictEqual(answer.status, 413)
      assert.strictEqual(pulled, 5)
      assert.isTrue(cancelled)
    })
  )

  it.live("returns 500 if the request's body was already read, and logs why", () =>
    Effect.gen(function* () {
      const logged = yield* capturedLog
      const { key, quotewire } = yield* embedded()
      const handle = webHandler(quotewire)
      const request = new Request(`${host}/v1/quote-requests`, {
        method: "POST",
        headers: json(key),
        body: start("read")
      })
      yield* Effect.promise(() => request.json())
      const answer = yield* Effect.promise(() => handle(request))
      assert.strictEqual(answer.status, 500)
      assert.strictEqual(JSON.parse(yield* textOf(answer)).error.code, "internal_error")
      assert.match(logged.join("\n"), /already consumed before Quotewire was called/)
    })
  )

  it.live.each<readonly [string, () => string]>([
    [
      "throws",
      () => {
        throw new Error("no address")
      }
    ],
    ["returns a value that is not text", () => JSON.parse("5")]
  ])("handles the request even if the address function %s, and logs the failure", ([, address]) =>
    Effect.gen(function* () {
      const logged = yield* capturedLog
      const { key, quotewire } = yield* embedded()
      const handle = webHandler(quotewire, { address })
      const request = new Request(`${host}/v1/capabilities?line=pet`, { headers: json(key) })
      assert.strictEqual((yield* Effect.promise(() => handle(request))).status, 200)
      assert.include(logged.join(), "address failed")
    })
  )

  it.live("ignores a URL's fragment", () =>
    Effect.gen(function* () {
      const { key, quotewire } = yield* embedded()
      const handle = webHandler(quotewire)
      const request = new Request(`${host}/v1/capabilities?line=pet#offers`, { headers: json(key) })
      assert.strictEqual((yield* Effect.promise(() => handle(request))).status, 200)
    })
  )

  it.live("answers pending long polls when the service closes, and refuses later calls", () =>
    Effect.gen(function* () {
      const service = yield* embedded()
      const handle = webHandler(service.quotewire)
      const send = (path: string, init: RequestInit) => handle(new Request(`${host}${path}`, init))
      const poll = yield* polling(service, send)
      yield* Effect.promise(() => service.quotewire.close())
      assert.strictEqual((yield* Effect.promise(() => poll)).status, 200)
      const late = yield* Effect.promise(() => send("/v1/capabilities?line=pet", {}))
      assert.strictEqual(late.status, 503)
      assert.strictEqual(late.headers.get("retry-after"), "1")
    })
  )

  it.live("refuses requests as soon as the service begins to close, even while the program's own call runs", () =>
    Effect.gen(function* () {
      const { quotewire } = yield* embedded({ public_url: host })
      const web = webHandler(quotewire)
      const address = yield* serving(nodeHandler(quotewire))
      const live = () => web(new Request(`${host}/health/live`))
      assert.strictEqual((yield* Effect.promise(live)).status, 200)
      assert.strictEqual((yield* Effect.promise(() => fetch(`${address}/health/live`))).status, 200)
      const finish = yield* Deferred.make<void>()
      const own = quotewire.run(Deferred.await(finish))
      const closed = quotewire.close()
      assert.strictEqual((yield* Effect.promise(live)).status, 503)
      assert.strictEqual((yield* Effect.promise(() => fetch(`${address}/health/live`))).status, 503)
      yield* Deferred.succeed(finish, undefined)
      yield* Effect.promise(() => own)
      yield* Effect.promise(() => closed)
    })
  )

  it.live("uses the service's logger to log why the service could not start", () =>
    Effect.gen(function* () {
      const printed = yield* capturedLog
      const entries: Array<string> = []
      const note = (...entry: ReadonlyArray<unknown>) => void entries.push(entry.map((part) => inspect(part)).join(" "))
      const broken = Layer.effect(Storage.Storage, Effect.fail(new Error("The disk is gone.")))
      const logger = { debug: note, info: note, warn: note, error: note }
      const handle = webHandler(embed({ storage: broken, logger }))
      assert.strictEqual((yield* Effect.promise(() => handle(new Request(`${host}/health/live`)))).status, 503)
      assert.include(entries.join("\n"), "The disk is gone.")
      assert.deepStrictEqual(printed, [])
    })
  )

  it.live("refuses new requests while another handler of the closing service finishes a request", () =>
    Effect.gen(function* () {
      const { key, quotewire } = yield* embedded({ public_url: host })
      const [handle, other] = [webHandler(quotewire), webHandler(quotewire)]
      const body = new TransformStream<Uint8Array, Uint8Array>()
      const writer = body.writable.getWriter()
      const init = { method: "POST", headers: json(key), body: body.readable, duplex: "half" }
      const last = other(new Request(`${host}/v1/quote-requests`, init))
      // From here on its body is being read.
      yield* Effect.promise(() => writer.write(new TextEncoder().encode(" ")))
      const closed = quotewire.close()
      yield* Effect.repeat(
        Effect.promise(async () => (await handle(new Request(`${host}/health/live`))).status),
        { until: (status) => status === 503 }
      )
      yield* Effect.promise(() => writer.write(new TextEncoder().encode(start("last"))))
      yield* Effect.promise(() => writer.close())
      assert.strictEqual((yield* Effect.promise(() => last)).status, 202)
      yield* Effect.promise(() => closed)
    })
  )
})
