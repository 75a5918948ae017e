import { assert, describe, it } from "@effect/vitest"
import { Bridge, JsonRpc } from "@quotewire/mcp"
import { Effect, Fiber, Stream } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"

/** A bridge to a host that gives this response. */
const bridgeTo = (respond: (body: string) => Effect.Effect<Response>) => {
  const client = HttpClient.make((request) => {
    const { body } = request
    const text = body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""
    return Effect.map(respond(text), (response) => HttpClientResponse.fromWeb(request, response))
  })
  const answer = Bridge.make({ base_url: "http://127.0.0.1:1", key: null })
  return Effect.map(
    Effect.provideService(answer, HttpClient.HttpClient, client),
    (answer) => (message: JsonRpc.Message, peer: Parameters<typeof answer>[2]) =>
      Effect.provideService(answer(message, JsonRpc.textOf(message), peer), HttpClient.HttpClient, client)
  )
}

const closed = { action: "cancel" } as const
const silent = { ask: () => Effect.never, notify: () => Effect.void }

/** A response with these messages as events. */
const eventsOf = (...messages: ReadonlyArray<object>) =>
  new Response(
    messages.map((message) => `: comment\n\nevent: message\ndata: ${JSON.stringify(message)}\n\n`).join(""),
    {
      headers: { "content-type": "text/event-stream" }
    }
  )
const form = { message: "Well?", requestedSchema: { type: "object", properties: {}, required: [] } }
const asks = { jsonrpc: "2.0", id: "form-1", method: "elicitation/create", params: form }

/** JSON text that is nested too deeply to be serialized again. */
const deep = `${"[".repeat(60_000)}${"]".repeat(60_000)}`

describe("a stdio bridge to a host", () => {
  for (const [what, text, type] of [
    ["a response", `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"","data":${deep}}}`, "application/json"],
    ["an HTTP error", `{"error":{"code":"internal_error","message":"","more":${deep}}}`, "application/json"],
    ["a notification", `data: {"jsonrpc":"2.0","method":"a","params":{"a":${deep}}}\n\n`, "text/event-stream"],
    [
      "a form",
      `data: {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"a":${deep}}}\n\n`,
      "text/event-stream"
    ]
  ] as const) {
    it.effect(`responds to a call even if the host sends ${what} with very deep nesting`, () =>
      Effect.gen(function* () {
        const headers = { "content-type": type }
        const answer = yield* bridgeTo(() => Effect.succeed(new Response(text, { headers })))
        const writing = {
          ask: (form: object) => Effect.sync(() => JSON.stringify(form)).pipe(Effect.as(closed)),
          notify: (_: string, params: object) => Effect.asVoid(Effect.sync(() => JSON.stringify(params)))
        }
        const said = yield* answer({ id: 7, method: "tools/call", params: {} }, writing)
        assert.strictEqual(JSON.parse(said ?? "").id, 7)
      })
    )
  }

  it.effect("returns an error for a call that the host leaves unanswered for two minutes", () =>
    Effect.gen(function* () {
      const answer = yield* bridgeTo(() => Effect.never)
      const message = { jsonrpc: "2.0", method: "tools/list", params: {} } as const
      const both = yield* Effect.forkChild(
        Effect.all([answer({ ...message, id: 1 }, silent), answer({ ...message, id: null }, silent)], {
          concurrency: "unbounded"
        })
      )
      yield* TestClock.adjust("2 minutes")
      const [called, notified] = yield* Fiber.join(both)
      assert.strictEqual(JSON.parse(called ?? "").error.message, "Cannot reach the host at http://127.0.0.1:1.")
      assert.isNull(notified)
    })
  )

  it.effect("forwards the host's notifications, and refuses the host's requests other than forms", () =>
    Effect.gen(function* () {
      const told: Array<unknown> = []
      const sent: Array<string> = []
      const progress = { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 5 } }
      const answer = yield* bridgeTo((body) =>
        Effect.sync(() => {
          sent.push(body)
          return eventsOf(progress, { jsonrpc: "2.0", id: 7, method: "roots/list" })
        })
      )
      const notify = (method: string, params: object) => Effect.sync(() => void told.push({ method, params }))
      const text = yield* answer({ id: 1, method: "tools/call", params: {} }, { ...silent, notify })
      assert.include(text, "Cannot reach the host")
      assert.deepStrictEqual(told, [{ method: progress.method, params: progress.params }])
      assert.deepInclude(JSON.parse(sent[1] ?? ""), { id: 7 })
      assert.strictEqual(JSON.parse(sent[1] ?? "").error.code, -32601)
    })
  )

  it.effect("closes a form if the host cancels the form or the call ends", () =>
    Effect.gen(function* () {
      const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: asks.id } }
      const result = { jsonrpc: "2.0", id: 1, result: { isError: true } }
      for (const messages of [
        [asks, cancelled, result],
        [asks, result]
      ]) {
        let withdrawn = 0
        const answer = yield* bridgeTo(() => Effect.sync(() => eventsOf(...messages)))
        const ask = () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => ++withdrawn))
        const text = yield* answer({ id: 1, method: "tools/call", params: {} }, { ...silent, ask })
        assert.deepStrictEqual(JSON.parse(text ?? ""), result)
        assert.strictEqual(withdrawn, 1)
      }
    })
  )

  const call = { id: 1, method: "tools/call", params: {} }
  const result = { jsonrpc: "2.0", id: 1, result: { isError: false } }

  for (const [what, text] of [
    ["an invalid message", "<html>"],
    ["a message that is not a response", '{"jsonrpc":"2.0"}'],
    ["the response to another call", JSON.stringify({ ...result, id: 2 })],
    ["a request", '{"jsonrpc":"2.0","id":1,"method":"roots/list"}']
  ] as const) {
    it.effect(`returns an error for a call if the host sends ${what}`, () =>
      Effect.gen(function* () {
        const answer = yield* bridgeTo(() => Effect.sync(() => new Response(text)))
        const { error, id } = JSON.parse((yield* answer(call, silent)) ?? "")
        assert.deepStrictEqual([id, error], [1, { code: -32000, message: "The host returned HTTP 200." }])
      })
    )
  }

  const large = JSON.stringify({ ...result, more: "a".repeat(33 * 1024 * 1024) })
  const json = { "content-type": "application/json" }
  const events = { "content-type": "text/event-stream" }
  for (const [what, headers, text, chunk] of [
    ["JSON in one chunk", json, large, large.length],
    ["spaces after JSON", json, JSON.stringify(result) + " ".repeat(33 * 1024 * 1024), 65_536],
    ["an event in one chunk", events, `data: ${large}\n\n`, Number.POSITIVE_INFINITY],
    ["an event in chunks", events, `data: ${large}\n\n`, 65_536]
  ] as const) {
    it.effect(`reports that a response is too large if the host sends more than 32 MiB as ${what}`, () =>
      Effect.gen(function* () {
        const bytes = new TextEncoder().encode(text)
        const size = Math.min(chunk, bytes.length)
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
          bytes.subarray(at * size, (at + 1) * size)
        )
        const body = Stream.toReadableStream(Stream.fromIterable(chunks))
        const answer = yield* bridgeTo(() => Effect.sync(() => new Response(body, { headers })))
        const { error, id } = JSON.parse((yield* answer(call, silent)) ?? "")
        assert.deepStrictEqual(
          [id, error],
          [1, { code: -32000, message: "The host's response is larger than 32 MiB." }]
        )
      })
    )
  }

  for (const [what, requests] of [
    ["thousands of requests", Array.from({ length: 5_000 }, (_, id) => ({ jsonrpc: "2.0", id, method: "roots/list" }))],
    ["thousands of forms", Array.from({ length: 5_000 }, (_, i) => ({ ...asks, id: `form-${i}` }))],
    ["a request with a very long ID", [{ jsonrpc: "2.0", id: "a".repeat(1_000_000), method: "roots/list" }]]
  ] as const) {
    it.effect(`ends a call with an error if the host sends ${what}`, () =>
      Effect.gen(function* () {
        const sent: Array<string> = []
        const answer = yield* bridgeTo((body) =>
          Effect.sync(() => {
            if (JSON.parse(body).method !== undefined) return eventsOf(...requests, result)
            sent.push(body)
            return new Response(null, { status: 202 })
          })
        )
        const text = yield* answer(call, { ...silent, ask: () => Effect.succeed(closed) })
        const { error, id } = JSON.parse(text ?? "")
        assert.deepStrictEqual(
          [id, error],
          [1, { code: -32000, message: "The host sent too many requests, or a request that cannot be answered." }]
        )
        assert.isAtMost(sent.length, 16)
        assert.isBelow(sent.join("").length, 16 * 1_024)
      })
    )
  }

  it.effect("forwards the host's error even if the host could not read the call's ID", () =>
    Effect.gen(function* () {
      const error = { code: -32700, message: "This is not valid JSON." }
      const answer = yield* bridgeTo(() => Effect.sync(() => Response.json({ jsonrpc: "2.0", id: null, error })))
      assert.deepStrictEqual(JSON.parse((yield* answer(call, silent)) ?? ""), { jsonrpc: "2.0", id: 1, error })
    })
  )

  it.effect("responds as soon as the host's response arrives, and skips the rest of the stream", () =>
    Effect.gen(function* () {
      const other = { ...result, id: 2 }
      const events = [{}, other, result, other].map((message) => `data: ${JSON.stringify(message)}\n\n`)
      const open = Stream.toReadableStream(Stream.concat(Stream.encodeText(Stream.fromIterable(events)), Stream.never))
      const answer = yield* bridgeTo(() =>
        Effect.sync(() => new Response(open, { headers: { "content-type": "text/event-stream" } }))
      )
      assert.deepStrictEqual(JSON.parse((yield* answer(call, silent)) ?? ""), result)
    })
  )

  it.effect("sends only a few form answers at a time while the host does not respond", () =>
    Effect.gen(function* () {
      let open = 0
      const forms = Array.from({ length: 500 }, (_, i) => ({ ...asks, id: `form-${i}` }))
      const answer = yield* bridgeTo((body) =>
        Effect.suspend(() => {
          if (JSON.parse(body).method !== undefined) return Effect.succeed(eventsOf(...forms, result))
          open += 1
          return Effect.never
        })
      )
      const calling = yield* Effect.forkChild(answer(call, { ...silent, ask: () => Effect.succeed(closed) }))
      yield* TestClock.adjust("1 second")
      assert.isAtLeast(open, 1)
      assert.isAtMost(open, 10)
      yield* Fiber.interrupt(calling)
    })
  )

  it.effect("resends the answer to a form while the host returns 503 or 429", () =>
    Effect.gen(function* () {
      const sent: Array<string> = []
      const started = JSON.stringify(asks)
      const answer = yield* bridgeTo((body) =>
        Effect.sync(() => {
          if (JSON.parse(body).method !== undefined) {
            const open = Stream.concat(Stream.make(`data: ${started}\n\n`), Stream.never)
            const stream = Stream.toReadableStream(Stream.encodeText(open))
            return new Response(stream, { headers: { "content-type": "text/event-stream" } })
          }
          sent.push(body)
          return new Response(null, { status: [503, 429][sent.length - 1] ?? 202 })
        })
      )
      const ask = () => Effect.succeed({ action: "accept", content: { agree: true } } as const)
      const calling = yield* Effect.forkChild(answer(call, { ...silent, ask }))
      while (sent.length === 0) yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.interrupt(calling)
      assert.lengthOf(sent, 3)
      assert.deepStrictEqual(new Set(sent).size, 1)
    })
  )
})
