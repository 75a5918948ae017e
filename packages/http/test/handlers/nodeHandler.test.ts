import { mkdtempSync, rmSync } from "node:fs"
import { type IncomingMessage, request, type ServerResponse } from "node:http"
import { connect, createServer as createHttp2Server } from "node:http2"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Allowance, embed, Storage } from "@quotewire/core"
import { nodeHandler } from "@quotewire/http"
import { mcp } from "@quotewire/mcp"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Deferred, Effect, Layer } from "effect"
import express, { type RequestHandler } from "express"
import fastify from "fastify"
import { capturedLog, embedded, json, polling, serving, start } from "./support.ts"

type Handle = ReturnType<typeof nodeHandler>

const teapot = (_: IncomingMessage, response: ServerResponse) => void response.writeHead(418).end("another app")

describe("nodeHandler", () => {
  it.live("serves the whole service: REST, documentation, links, callbacks, health checks and agents", () =>
    Effect.gen(function* () {
      const { key, quotewire } = yield* embedded({ public_url: "https://shop.example" })
      const address = yield* serving(nodeHandler(quotewire, { mcp }))
      const statusOf = (path: string, init: RequestInit = {}) =>
        Effect.promise(async () => (await fetch(`${address}${path}`, init)).status)
      const headers = json(key)
      const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })
      assert.strictEqual(yield* statusOf("/v1/capabilities?line=pet", { headers }), 200)
      assert.strictEqual(yield* statusOf("/v1/mcp", { method: "POST", headers, body: message }), 200)
      assert.strictEqual(yield* statusOf("/carriers/acme/callbacks", { method: "POST", body: "{}" }), 404)
      assert.strictEqual(yield* statusOf("/go/unknown"), 404)
      for (const path of ["/", "/docs", "/openapi.json", "/docs/v1/errors", "/health/live", "/health/ready"]) {
        assert.strictEqual(yield* statusOf(path), 200, path)
      }
    })
  )

  describe("mounted below a path", () => {
    const inExpress = (use: (app: ReturnType<typeof express>, handle: Handle) => unknown) => (handle: Handle) =>
      Effect.suspend(() => {
        const app = express()
        use(app, handle)
        return serving(app)
      })
    const inFastify = (handle: Handle) =>
      Effect.gen(function* () {
        const app = fastify()
        app.register(
          async (scope) => {
            scope.removeAllContentTypeParsers()
            scope.addContentTypeParser("*", (_request, _body, done) => done(null))
            scope.all("/*", (request, reply) => {
              reply.hijack()
              handle(request.raw, reply.raw)
            })
          },
          { prefix: "/insurance" }
        )
        yield* Effect.addFinalizer(() => Effect.promise(() => app.close()))
        return yield* Effect.promise(() => app.listen({ port: 0, host: "127.0.0.1" }))
      })

    it.live.each([
      ["node:http", "/insurance", (handle: Handle) => serving((request, response) => handle(request, response))],
      ["Express", undefined, inExpress((app, handle) => app.use("/insurance", handle))],
      [
        "Express, with the path repeated in base_path",
        "/insurance/",
        inExpress((app, handle) => app.use("/insurance", handle))
      ],
      [
        "Express, behind a pattern that removes the whole path",
        "/insurance",
        inExpress((app, handle) => app.use("/insurance{/*path}", handle))
      ],
      ["Express, at the app's root", "/insurance", inExpress((app, handle) => app.use(handle))],
      [
        "Express, behind a body parser",
        undefined,
        inExpress((app, handle) => app.use("/insurance", express.json(), handle))
      ],
      ["Fastify, with a prefix", "/insurance", inFastify]
    ] as const)("works with %s", ([, base_path, serve]) =>
      Effect.gen(function* () {
        const { key, quotewire } = yield* embedded({ public_url: "https://shop.example/insurance" })
        const options = base_path === undefined ? {} : { base_path }
        const address = yield* serve(nodeHandler(quotewire, options))
        const call = (path: string, init: RequestInit) => Effect.promise(() => fetch(`${address}${path}`, init))
        const headers = json(key)
        const started = yield* call("/insurance/v1/quote-requests", { method: "POST", headers, body: start("first") })
        assert.strictEqual(started.status, 202)
        const location = started.headers.get("location") ?? ""
        assert.match(location, /^\/insurance\/v1\/quote-requests\/qreq_/)
        assert.strictEqual((yield* call(`${location}?wait_seconds=0`, { headers })).status, 200)
        const refused = yield* call("/insurance/v1/quote-requests", { method: "POST", body: start("second") })
        assert.include(yield* Effect.promise(() => refused.text()), '"https://shop.example/insurance/docs/v1/errors/')
        const home = yield* call("/insurance/", { headers: { accept: "text/html" } })
        assert.include(yield* Effect.promise(() => home.text()), 'href="/insurance/docs"')
      })
    )
  })

  it.live("passes unknown paths to the next handler at the app's root, but not below a mount path", () =>
    Effect.gen(function* () {
      const { quotewire } = yield* embedded()
      const handle = nodeHandler(quotewire)
      const app = express().use(handle).use("/insurance", handle).use(teapot)
      const address = yield* serving(app)
      const statusOf = (path: string) => Effect.promise(async () => (await fetch(`${address}${path}`)).status)
      assert.strictEqual(yield* statusOf("/"), 418)
      assert.strictEqual(yield* statusOf("/other"), 418)
      assert.strictEqual(yield* statusOf("/insurance/other"), 404)
      assert.strictEqual(yield* statusOf("/insurance"), 200)
      assert.strictEqual(yield* statusOf("/v1/quotes/quote_1"), 401)
    })
  )

  it.live("returns 404 for requests outside its base path if there is no next handler", () =>
    Effect.gen(function* () {
      const { quotewire } = yield* embedded()
      const handle = nodeHandler(quotewire, { base_path: "/insurance" })
      const address = yield* serving((request, response) => handle(request, response))
      const answer = yield* Effect.promise(() => fetch(`${address}/v1/quotes/quote_1`))
      assert.strictEqual(answer.status, 404)
      assert.strictEqual((yield* Effect.promise(() => answer.json())).error.code, "not_found")
    })
  )

  const oneRead = {
    ...Allowance.noLimits,
    keys: {
      ...Allowance.noLimits.keys,
      sandbox: { ...Allowance.noLimits.keys.sandbox, read: { per_minute: null, per_day: 1 } }
    }
  }

  it.live("applies the service's rate limits to outside callers if the handler sets no limits", () =>
    Effect.gen(function* () {
      const { key, quotewire } = yield* embedded({ limits: oneRead })
      const address = yield* serving(nodeHandler(quotewire))
      const statusOf = Effect.promise(
        async () => (await fetch(`${address}/v1/capabilities?line=pet`, { headers: json(key) })).status
      )
      assert.deepStrictEqual([yield* statusOf, yield* statusOf], [200, 429])
    })
  )

  it.live("applies the handler's rate limits to outside callers, but not to the program's own client", () =>
    Effect.gen(function* () {
      const { key, quotewire } = yield* embedded()
      const limits = oneRead
      const address = yield* serving(nodeHandler(quotewire, { limits }))
      const statusOf = Effect.promise(
        async () => (await fetch(`${address}/v1/capabilities?line=pet`, { headers: json(key) })).status
      )
      assert.deepStrictEqual([yield* statusOf, yield* statusOf], [200, 429])
      yield* Effect.promise(() => quotewire.client(key).get_capabilities({ line: "pet" }))
    })
  )

  it.live("counts all callers on a Unix socket together, unless an address function separates them", () =>
    Effect.gen(function* () {
      const { quotewire } = yield* embedded()
      const folder = mkdtempSync(join(tmpdir(), "quotewire-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
      const limits = { ...Allowance.noLimits, failed_authentication: { per_minute: null, per_day: 1 } }
      const statusesOf = Effect.fnUntraced(function* (name: string, options: object) {
        const socketPath = join(folder, name)
        yield* serving(nodeHandler(quotewire, { limits, ...options }), socketPath)
        const statusOf = (user: string) =>
          Effect.callback<number>((resume) => {
            const headers = { ...json(`sandbox_server_${"x".repeat(38)}`), "x-user": user }
            const sent = request({ socketPath, path: "/v1/capabilities?line=pet", headers }, (answer) => {
              answer.resume()
              resume(Effect.succeed(answer.statusCode ?? 0))
            })
            sent.end()
          })
        return [yield* statusOf("a"), yield* statusOf("b"), yield* statusOf("b")]
      })
      const address = ({ headers }: IncomingMessage) => `192.0.2.${headers["x-user"] === "a" ? 1 : 2}`
      assert.deepStrictEqual(yield* statusesOf("told", { address }), [401, 401, 429])
      assert.deepStrictEqual(yield* statusesOf("together", {}), [401, 429, 429])
    })
  )

  it.live("answers pending long polls when the service closes, and refuses later calls", () =>
    Effect.gen(function* () {
      const service = yield* embedded()
      const address = yield* serving(nodeHandler(service.quotewire))
      const poll = yield* polling(service, (path, init) => fetch(`${address}${path}`, init))
      yield* Effect.promise(() => service.quotewire.close())
      assert.strictEqual((yield* Effect.promise(() => poll)).status, 200)
      const late = yield* Effect.promise(() => fetch(`${address}/v1/capabilities?line=pet`))
      assert.strictEqual(late.status, 503)
      assert.strictEqual(late.headers.get("retry-after"), "1")
      assert.strictEqual((yield* Effect.promise(() => late.json())).error.code, "service_unavailable")
    })
  )

  it.live.each([
    ["fails", new Error("The disk is gone."), "The disk is gone."],
    ["is unavailable", new Storage.StorageUnavailable({ retry_after_seconds: 1 }), "could not start"]
  ] as const)(
    "returns 503 for its own paths, and passes on other requests, if the storage %s at startup",
    ([, error, line]) =>
      Effect.gen(function* () {
        const logged = yield* capturedLog
        const broken = Layer.effect(Storage.Storage, Effect.fail(error))
        const address = yield* serving(
          express()
            .use(nodeHandler(embed({ storage: broken })))
            .use(teapot)
        )
        const refused = yield* Effect.promise(() => fetch(`${address}/v1/capabilities?line=pet`))
        assert.strictEqual(refused.status, 503)
        assert.match(refused.headers.get("request-id") ?? "", /^req_/)
        assert.strictEqual((yield* Effect.promise(() => fetch(`${address}/other`))).status, 418)
        assert.include(logged.join("\n"), line)
      })
  )

  it.live.each([
    ["starts", MemoryStorage.layer],
    ["cannot start", Layer.effect(Storage.Storage, Effect.fail(new Error("The disk is gone.")))]
  ] as const)("ignores a request that the app has already answered if the service %s", ([, storage]) =>
    Effect.gen(function* () {
      yield* capturedLog
      const begin = yield* Deferred.make<void>()
      const quotewire = embed({ storage: Layer.unwrap(Effect.as(Deferred.await(begin), storage)) })
      yield* Effect.addFinalizer(() => Effect.promise(() => quotewire.close()))
      const handle = nodeHandler(quotewire, { cors_origins: ["https://shop.example"] })
      const faults: Array<unknown> = []
      const onFault = (fault: unknown) => void faults.push(fault)
      process.on("unhandledRejection", onFault)
      yield* Effect.addFinalizer(() => Effect.sync(() => process.off("unhandledRejection", onFault)))
      const address = yield* serving(
        express().use((request, response) => {
          response.end("too late")
          handle(request, response)
        })
      )
      const headers = { origin: "https://shop.example", "access-control-request-method": "GET" }
      for (const method of ["GET", "OPTIONS"]) {
        const answer = yield* Effect.promise(() => fetch(`${address}/v1/quotes/quote_1`, { method, headers }))
        assert.strictEqual(yield* Effect.promise(() => answer.text()), "too late")
      }
      yield* Deferred.succeed(begin, undefined)
      yield* Effect.promise(() => quotewire.ready.catch(() => {}))
      // Node reports a rejection after the promises of a turn have settled.
      yield* Effect.repeat(
        Effect.callback<void>((resume) => void setImmediate(() => resume(Effect.void))),
        { times: 5 }
      )
      assert.deepStrictEqual(faults, [])
    })
  )

  it.live("sends a large response through a middleware that wraps `write`, as compression does", () =>
    Effect.gen(function* () {
      const { quotewire } = yield* embedded()
      const app = express().use((_, response, next) => {
        const write = response.write.bind(response)
        response.write = (chunk: unknown) => write(chunk)
        next()
      })
      const address = yield* serving(app.use(nodeHandler(quotewire)))
      const headers = { "accept-encoding": "identity" }
      const answer = yield* Effect.promise(() => fetch(`${address}/openapi.json`, { headers }))
      assert.isAbove((yield* Effect.promise(() => answer.text())).length, 128 * 1024)
    })
  )

  it.live("reads a request body over HTTP/2, even without a Content-Length", () =>
    Effect.gen(function* () {
      const { key, quotewire } = yield* embedded()
      const server = createHttp2Server().on("request", nodeHandler(quotewire))
      yield* Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
      const bound = server.address()
      const client = connect(`http://127.0.0.1:${typeof bound === "object" && bound !== null ? bound.port : 0}`)
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          client.destroy()
          server.close()
        })
      )
      const statusOf = (body: string) =>
        Effect.callback<unknown>((resume) => {
          const sent = client.request({ ":path": "/v1/quote-requests", ":method": "POST", ...json(key) })
          sent.once("response", (headers) => resume(Effect.succeed(headers[":status"])))
          sent.end(body)
        })
      assert.strictEqual(yield* statusOf(start("announced")), 202)
      assert.strictEqual(yield* statusOf(""), 400)
      assert.strictEqual(yield* statusOf("x".repeat(256 * 1024 + 1)), 413)
    })
  )

  it.live("checks the caller's key before it reads the body", () =>
    Effect.gen(function* () {
      const logged = yield* capturedLog
      const { quotewire } = yield* embedded({ public_url: "https://shop.example" })
      const parser: RequestHandler = (request, _, next) => {
        const get = () => {
          throw new Error("The body cannot be read.")
        }
        request.resume().once("end", () => {
          Object.defineProperty(request, "body", { get })
          next()
        })
      }
      const address = yield* serving(express().use(parser, nodeHandler(quotewire)))
      const init = { method: "POST", body: start("unknown") }
      const answer = yield* Effect.promise(() => fetch(`${address}/v1/quote-requests`, init))
      assert.strictEqual(answer.status, 401)
      assert.deepStrictEqual(logged, [])
    })
  )

  it.live("never returns a Location on another host, even if the mount path begins with two slashes", () =>
    Effect.gen(function* () {
      const { key, quotewire } = yield* embedded()
      const address = yield* serving(express().use(/.*\/insurance/, nodeHandler(quotewire)))
      const init = { method: "POST", headers: json(key), body: start("elsewhere") }
      const answer = yield* Effect.promise(() => fetch(`${address}//other.example/insurance/v1/quote-requests`, init))
      assert.match(answer.headers.get("location") ?? "", /^\/other\.example\/insurance\/v1\//)
    })
  )

  it.live.each([
    [{ base_path: "insurance" }, / base_path: Must be a path that begins with \//],
    [{ base_path: "/50%" }, / base_path: Must .* %25/],
    [{ base_path: "/a?b" }, / base_path: Must/],
    [{ base_path: "//insurance" }, / base_path: Must .* empty segments/],
    [{ grace_ms: -1 }, / grace_ms: Must be a number, at least 0\.$/],
    [{ read_timeout_ms: 0 }, / read_timeout_ms: Must be a number, at least 1\.$/],
    [{ max_unread_bytes: Number.NaN }, / max_unread_bytes: Must be a number, at least 1\.$/],
    [{ base_url: "shop.example" }, / base_url: Must be an absolute/],
    [{ cors_origins: ["https://shop.example/path"] }, / cors_origins\.0: Must/],
    [{ mcp_origins: ["*"] }, / mcp_origins\.0: Must/],
    [{ proxies: 0 }, / proxies: Must be the number of proxies/],
    [{ proxies: "everyone" }, / proxies: Must be the number of proxies/],
    [JSON.parse("null"), / options: Must be an object/],
    [JSON.parse('{"base_path":5}'), / base_path: Must be a path, such as \/insurance\.$/],
    [JSON.parse('{"base_url":5}'), / base_url: Must be an address/],
    [JSON.parse('{"mcp":5}'), / mcp: Must be a function .*: pass mcp from @quotewire\/mcp without calling it\.$/],
    [
      JSON.parse('{"cors_origins":"https://shop.example"}'),
      / cors_origins: Must be a list of origins, such as \["https/
    ],
    [JSON.parse('{"mcp_origins":[5]}'), / mcp_origins: Must be a list of origins/],
    [JSON.parse('{"onAnswered":5}'), / onAnswered: Must be a function\.$/],
    [JSON.parse('{"address":5}'), / address: Must be a function\.$/],
    [JSON.parse('{"limits":5}'), / limits: Must be an object with every/],
    [{ oauth: { issuer: "https://login.example", environment: "live" } }, / oauth: Needs mcp/],
    [{ mcp, oauth: { issuer: "login.example", environment: "live" } }, / oauth\.issuer: Must be an https address/],
    [{ proxies: 1, proxy_header: JSON.parse('"x-real-ip"') }, / proxy_header: Must be x-forwarded-for or forwarded\.$/]
  ] as const)("throws an error for invalid options: %j", ([options, sentence]) =>
    Effect.gen(function* () {
      const { quotewire } = yield* embedded()
      assert.throws(() => nodeHandler(quotewire, options), sentence)
    })
  )
})
