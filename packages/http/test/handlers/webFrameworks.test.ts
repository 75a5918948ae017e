import { assert, describe, it, vi } from "@effect/vitest"
import { getRequestListener } from "@hono/node-server"
import { webHandler, webHandlers } from "@quotewire/http/web"
import { Effect } from "effect"
import { Hono } from "hono"
import { cloneRawRequest } from "hono/request"
import { embedded, json, serving, start } from "./support.ts"

const host = "https://shop.example"

const textOf = (answer: Response) => Effect.promise(() => answer.text())

describe("webHandler in a framework", () => {
  it.live("leaves the compression of its responses to the server", () =>
    Effect.gen(function* () {
      const { quotewire } = yield* embedded()
      const handle = webHandler(quotewire)
      const headers = { "accept-encoding": "gzip" }
      const answer = yield* Effect.promise(() => handle(new Request(`${host}/openapi.json`, { headers })))
      assert.isNull(answer.headers.get("content-encoding"))
      assert.strictEqual(JSON.parse(yield* textOf(answer)).openapi, "3.1.0")
    })
  )

  it.live("calls the function that creates the service once, at the first request", () =>
    Effect.gen(function* () {
      const { key, quotewire } = yield* embedded()
      let asked = 0
      const handle = webHandler(() => {
        asked++
        return quotewire
      })
      assert.strictEqual(asked, 0)
      const call = () => handle(new Request(`${host}/v1/capabilities?line=pet`, { headers: json(key) }))
      const answers = yield* Effect.promise(() => Promise.all([call(), call()]))
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200]
      )
      assert.strictEqual(asked, 1)
    })
  )

  it.live("returns 503 if the function that creates the service throws, and logs why", () =>
    Effect.gen(function* () {
      const spy = vi.spyOn(console, "log").mockImplementation(() => {})
      yield* Effect.addFinalizer(() => Effect.sync(() => spy.mockRestore()))
      const handle = webHandler(() => {
        throw new Error("No DATABASE_URL.")
      })
      const answer = yield* Effect.promise(() => handle(new Request(`${host}/v1/capabilities?line=pet`)))
      assert.strictEqual(answer.status, 503)
      assert.include(spy.mock.calls.flat().map(String).join(" "), "No DATABASE_URL.")
    })
  )

  it.live("accepts a copy of a request whose body Hono has already read", () =>
    Effect.gen(function* () {
      const { key, quotewire } = yield* embedded()
      const handle = webHandler(quotewire)
      const app = new Hono()
      app.use(async (c, next) => {
        await c.req.json()
        await next()
      })
      app.all("*", async (c) => handle(await cloneRawRequest(c.req)))
      const address = yield* serving(getRequestListener(app.fetch))
      const init = { method: "POST", headers: json(key), body: start("copied") }
      const answer = yield* Effect.promise(() => fetch(`${address}/v1/quote-requests`, init))
      assert.strictEqual(answer.status, 202)
    })
  )

  it.live("is available as one function per HTTP method, as a Next route file requires", () =>
    Effect.gen(function* () {
      const { key, quotewire } = yield* embedded()
      const { GET, POST } = webHandlers(quotewire, { base_path: "/api" })
      const made = yield* Effect.promise(() =>
        POST(new Request(`${host}/api/v1/quote-requests`, { method: "POST", headers: json(key), body: start("next") }))
      )
      assert.strictEqual(made.status, 202)
      const read = new Request(new URL(made.headers.get("location") ?? "", host), { headers: json(key) })
      assert.strictEqual((yield* Effect.promise(() => GET(read))).status, 200)
    })
  )
})
