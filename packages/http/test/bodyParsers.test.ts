import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { CarrierCallbacks, Http } from "@quotewire/http"
import { Cause, Effect, Logger } from "effect"
import express, { type RequestHandler } from "express"
import fastify from "fastify"
import { makeKeys, services } from "./support/host.ts"
import { operations } from "./support/operations.ts"

const baseUrl = "https://api.quotewire.dev"

type Handle = (request: IncomingMessage, response: ServerResponse) => void

const expressBehind = (parser: RequestHandler) => (handle: Handle) =>
  Effect.gen(function* () {
    const server = createServer(express().use(parser, handle))
    yield* Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
    yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
    const bound = server.address()
    return `http://127.0.0.1:${typeof bound === "object" && bound !== null ? bound.port : 0}`
  })

/** Fastify parses every body before its handlers, and keeps the result in its own request object. */
const fastifyBehindItsParser = (leave: (raw: IncomingMessage, body: unknown) => void) => (handle: Handle) =>
  Effect.gen(function* () {
    const app = fastify({ bodyLimit: 1_000_000 })
    app.all("/*", (request, reply) => {
      reply.hijack()
      leave(request.raw, request.body)
      handle(request.raw, reply.raw)
    })
    yield* Effect.addFinalizer(() => Effect.promise(() => app.close()))
    return yield* Effect.promise(() => app.listen({ port: 0, host: "127.0.0.1" }))
  })

/** The API behind a body parser, with its log and what a carrier's callback receives. */
const start = Effect.fnUntraced(function* (serve: ReturnType<typeof expressBehind>) {
  const logged: Array<string> = []
  const received: Array<string> = []
  const logger = Logger.make(({ message, cause }) => logged.push(`${String(message)} ${Cause.pretty(cause)}`))
  const callbacks = CarrierCallbacks.route((_, { body }) =>
    Effect.sync(() => received.push(Buffer.from(body).toString("hex")) > 0)
  )
  const { server: key } = yield* makeKeys
  const { handle } = yield* Http.handler({ operations, base_url: baseUrl, routes: [callbacks] }).pipe(
    Effect.provide(Logger.layer([logger]))
  )
  const address = yield* serve(handle)
  const send = (method: string, path: string, type: string, body: BodyInit | null) =>
    Effect.promise(async () => {
      const headers = { authorization: `Bearer ${key}`, "idempotency-key": "k", "content-type": type }
      const response = await fetch(`${address}${path}`, { method, headers, body, duplex: "half" } as RequestInit)
      return { status: response.status, text: await response.text() }
    })
  return { send, logged, received }
})

const json = "application/json"
const thing = '{"name":"Motörhead","application":{"floor":2}}'
const streamed = (text: string) => new Blob([text]).stream()

describe("a host behind a body parser", () => {
  it.live.each([
    ["express.json()", expressBehind(express.json())],
    ["express.raw()", expressBehind(express.raw({ type: json }))],
    ["express.text()", expressBehind(express.text({ type: json }))],
    ["express.urlencoded(), which leaves JSON alone", expressBehind(express.urlencoded({ extended: true }))],
    ["Fastify's own parser", fastifyBehindItsParser((raw, body) => Object.assign(raw, { body }))]
  ] as const)("uses the parsed body: %s", ([, serve]) =>
    Effect.gen(function* () {
      const { send, logged } = yield* start(serve)
      for (const body of [thing, streamed(thing)]) {
        const made = yield* send("POST", "/v1/things", json, body)
        assert.strictEqual(made.status, 201, made.text)
        assert.strictEqual(JSON.parse(made.text).name, "Motörhead")
      }
      const read = yield* send("GET", "/v1/things/th_1", json, null)
      assert.strictEqual(read.status, 200, read.text)
      assert.deepStrictEqual(logged, [])
    }).pipe(Effect.provide(services))
  )

  it.live("refuses a parsed body that is invalid or too large", () =>
    Effect.gen(function* () {
      const everything = express().use(express.json({ limit: "1mb", strict: false }), express.urlencoded())
      const { send, logged } = yield* start(expressBehind(everything))
      const codeOf = (type: string, body: BodyInit) =>
        Effect.map(send("POST", "/v1/things", type, body), ({ text }) => JSON.parse(text).error.code)
      assert.strictEqual(yield* codeOf("application/x-www-form-urlencoded", "name=a"), "invalid_json")
      assert.strictEqual(yield* codeOf("text/plain", thing), "invalid_json")
      assert.strictEqual(yield* codeOf(json, "[]"), "invalid_input")
      assert.strictEqual(yield* codeOf(json, "{}"), "invalid_input")
      const large = JSON.stringify({ name: "a", application: { text: "a".repeat(256 * 1024) } })
      assert.strictEqual(yield* codeOf(json, large), "request_too_large")
      assert.strictEqual(yield* codeOf(json, streamed(large)), "request_too_large")
      const deep = `${'{"a":'.repeat(14_000)}1${"}".repeat(14_000)}`
      assert.strictEqual(yield* codeOf(json, deep), "invalid_input")
      assert.deepStrictEqual(logged, [])
    }).pipe(Effect.provide(services))
  )

  it.live.each([
    ["Express", expressBehind((request, _, next) => void request.resume().once("end", () => next()))],
    ["Fastify", fastifyBehindItsParser(() => {})]
  ] as const)("returns 500 if the parser keeps no body, and logs what to do: %s", ([, serve]) =>
    Effect.gen(function* () {
      const { send, logged } = yield* start(serve)
      const { status, text } = yield* send("POST", "/v1/things", json, thing)
      assert.strictEqual(status, 500)
      assert.strictEqual(JSON.parse(text).error.code, "internal_error")
      assert.strictEqual(logged.length, 1)
      assert.match(logged[0] ?? "", /already consumed by a body parser.*Mount Quotewire first/)
      assert.notInclude(text + logged[0], "Motörhead")
    }).pipe(Effect.provide(services))
  )

  it.live("returns 500 for a carrier's callback if the parser keeps no raw bytes", () =>
    Effect.gen(function* () {
      const bytes = '{ "a": 1.0 }'
      const raw = yield* start(expressBehind(express.raw({ type: json })))
      assert.strictEqual((yield* raw.send("POST", "/carriers/acme/callbacks", json, bytes)).status, 204)
      assert.deepStrictEqual(raw.received, [Buffer.from(bytes).toString("hex")])
      const parsed = yield* start(expressBehind(express.json()))
      assert.strictEqual((yield* parsed.send("POST", "/carriers/acme/callbacks", json, bytes)).status, 500)
      assert.deepStrictEqual(parsed.received, [])
      assert.match(parsed.logged.join(), /byte for byte.*Mount Quotewire first/)
    }).pipe(Effect.provide(services))
  )
})
