import { createServer, type RequestListener, type ServerResponse } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { type Answer, Http, Route } from "@quotewire/http"
import { Cause, Deferred, Effect, Exit } from "effect"
import express from "express"
import { makeKeys, services } from "./support/host.ts"
import { operations } from "./support/operations.ts"
import * as Wire from "./support/wire.ts"

/** Serves with a given handler, as a `node:http` server does. Returns the address. */
const serving = Effect.fnUntraced(function* (handle: RequestListener) {
  const server = createServer(handle)
  yield* Effect.callback<void>((resume) => void server.listen(0, () => resume(Effect.void)))
  yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
  const bound = server.address()
  return `http://127.0.0.1:${typeof bound === "object" && bound !== null ? bound.port : 0}`
})

describe("a service embedded in a server", () => {
  it.live("serves its paths inside an existing server, and leaves other paths to that server", () =>
    Effect.gen(function* () {
      const { handle } = yield* Http.handler({ operations, base_url: "https://api.quotewire.dev" })
      const address = yield* serving((request, response) =>
        handle(request, response, () => response.writeHead(418).end("another app"))
      )
      const get = (path: string) => Effect.promise(() => fetch(`${address}${path}`))
      assert.strictEqual((yield* get("/other")).status, 418)
      const refused = yield* get("/v1/things/th_1")
      assert.strictEqual(refused.status, 401)
      assert.include(yield* Effect.promise(() => refused.text()), "https://api.quotewire.dev/docs/v1/errors/")
    }).pipe(Effect.provide(services))
  )

  for (const base_url of ["https://host.example/insurance", "https://host.example/insurance/"]) {
    it.live(`includes its mount path in the Location of a created resource: ${base_url}`, () =>
      Effect.gen(function* () {
        const { server } = yield* makeKeys
        const { handle } = yield* Http.handler({ operations, base_url })
        const app = express().use("/insurance", handle)
        const address = yield* serving(app)
        const call = (path: string, init: RequestInit = {}) =>
          Effect.promise(() =>
            fetch(new URL(path, address), {
              ...init,
              headers: { authorization: `Bearer ${server}`, "idempotency-key": "k", "content-type": "application/json" }
            })
          )
        const made = yield* call("/insurance/v1/things", { method: "POST", body: '{"name":"a"}' })
        const location = made.headers.get("location") ?? ""
        assert.strictEqual(location, "/insurance/v1/things/th_new")
        assert.strictEqual((yield* call(location)).status, 200)
      }).pipe(Effect.provide(services))
    )
  }

  it.live.each([
    { base_url: "javascript:alert(1)" },
    { base_url: "http://x/'\"><script>" },
    { base_url: "https://user:secret@host.example" },
    { base_url: "https://host.example", docs_url: "https://host.example/docs?secret" },
    { base_url: "https://host.example", cors_origins: ["https://shop.example/secret"] },
    { base_url: "https://host.example", cors_origins: ["https://shop.example\r\nsecret: a"] }
  ])("reports which setting has an invalid address, without repeating the address: %j", (addresses) =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(Http.handler({ operations, ...addresses }))
      const [name = ""] = Object.keys(addresses).slice(-1)
      const said = Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "nothing"
      assert.match(said, new RegExp(`^InvalidArgument: .* ${name}(?:\\.0)?: Must `))
      assert.notMatch(said, /secret|script|alert/)
    }).pipe(Effect.provide(services))
  )

  it.live("normalizes allowed origins to the form that browsers send", () =>
    Effect.gen(function* () {
      const { handle } = yield* Http.handler({
        operations,
        base_url: "https://host.example",
        cors_origins: ["https://Shop.example:443/"]
      })
      const address = yield* serving(handle)
      const headers = { origin: "https://shop.example", "access-control-request-method": "GET" }
      const preflight = yield* Effect.promise(() => fetch(`${address}/v1/things/th_1`, { method: "OPTIONS", headers }))
      assert.strictEqual(preflight.headers.get("access-control-allow-origin"), "https://shop.example")
    }).pipe(Effect.provide(services))
  )

  const done: Answer.Answer = { status: 200, headers: {}, body: "done" }
  const settings = {
    operations: [],
    base_url: "https://host.example",
    routes: [
      Route.make("GET", "/now", () => Effect.succeed(done)),
      Route.make("GET", "/soon", () => Effect.as(Effect.yieldNow, done)),
      Route.make("POST", "/body", ({ read }) => Effect.as(read(1_000), done)),
      Route.make("GET", "/never", () => Effect.never)
    ]
  }

  it.live.each(["GET /now", "GET /soon", "POST /body"])("becomes idle only after all responses are sent (%s)", (line) =>
    Effect.gen(function* () {
      const { handle, idle } = yield* Http.handler(settings)
      const idleAfter = yield* Deferred.make<boolean>()
      const address = yield* serving((request, response) => {
        handle(request, response)
        Deferred.doneUnsafe(
          idleAfter,
          Effect.map(idle, () => response.writableEnded)
        )
      })
      const [method = "", path = ""] = line.split(" ")
      const asked = fetch(`${address}${path}`, { method, ...(method === "POST" && { body: "body" }) })
      assert.isTrue(yield* Deferred.await(idleAfter))
      assert.strictEqual((yield* Effect.promise(() => asked)).status, 200)
    }).pipe(Effect.provide(services))
  )

  it.live("answers each interrupted call with 503", () =>
    Effect.gen(function* () {
      const { handle, interruptAll } = yield* Http.handler(settings)
      const broken = yield* Deferred.make<number>()
      const address = yield* serving((request, response) => {
        handle(request, response)
        Deferred.doneUnsafe(
          broken,
          Effect.map(interruptAll, () => (response.writableEnded ? response.statusCode : 0))
        )
      })
      const asked = fetch(`${address}/never`)
      assert.strictEqual(yield* Deferred.await(broken), 503)
      assert.strictEqual((yield* Effect.promise(() => asked)).status, 503)
    }).pipe(Effect.provide(services))
  )

  it.live("does not answer a request that the server has already answered", () =>
    Effect.gen(function* () {
      const first = yield* Deferred.make<ServerResponse>()
      const answerFirst = () => Effect.runFork(Effect.map(Deferred.await(first), (response) => response.end("first")))
      const { handle } = yield* Http.handler({ ...settings, onAnswered: answerFirst })
      const address = yield* serving((request, response) => {
        // The first request on a connection blocks the responses to all later ones.
        if (request.url === "/first") return void Deferred.doneUnsafe(first, Effect.succeed(response))
        handle(request, response)
        if (request.url === "/now?impatient") response.writeHead(504).end("too late")
      })
      const wire = yield* Wire.open(Number(new URL(address).port))
      const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
      yield* wire.write(get("/first") + get("/now?impatient") + get("/now"))
      const answers = (yield* wire.until(/done$/)).split(/(?=HTTP\/1\.1)/)
      assert.deepStrictEqual(
        answers.map((text) => Wire.parse(text).status),
        [200, 504, 200]
      )
    }).pipe(Effect.provide(services), Effect.timeout(60_000))
  )
})
