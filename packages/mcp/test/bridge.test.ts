import { assert, describe, it } from "@effect/vitest"
import { Bridge, JsonRpc } from "@quotewire/mcp"
import { Effect, Fiber, Stream } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"

/** A bridge to a host that answers in this way. */
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

const silent = { ask: () => Effect.never, notify: () => Effect.void }

/** An answer with these messages as events. */
const eventsOf = (...messages: ReadonlyArray<object>) =>
  new Response(
    messages.map((message) => `: comment\n\nevent: message\ndata: ${JSON.stringify(message)}\n\n`).join(""),
    {
      headers: { "content-type": "text/event-stream" }
    }
  )
const form = { message: "Well?", requestedSchema: { type: "object", properties: {}, required: [] } }
const asks = { jsonrpc: "2.0", id: "form-1", method: "elicitation/create", params: form }

describe("a bridge", () => {
  it.effect("answers a call that the host does not answer for two minutes, and drops a notification", () =>
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
      assert.strictEqual(JSON.parse(called ?? "").error.message, "The host at http://127.0.0.1:1 gives no answer.")
      assert.isNull(notified)
    })
  )

  it.effect(
    "passes notifications on, refuses other requests of the host, and answers if the stream has no answer",
    () =>
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
        assert.include(text, "gives no answer")
        assert.deepStrictEqual(told, [{ method: progress.method, params: progress.params }])
        assert.deepInclude(JSON.parse(sent[1] ?? ""), { id: 7 })
        assert.strictEqual(JSON.parse(sent[1] ?? "").error.code, -32601)
      })
  )

  it.effect("withdraws a form that the host withdraws, and one whose call ends", () =>
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
    ["no message", "<html>"],
    ["a message that is no answer", '{"jsonrpc":"2.0"}'],
    ["the answer to another call", JSON.stringify({ ...result, id: 2 })],
    ["a request", '{"jsonrpc":"2.0","id":1,"method":"roots/list"}'],
    ["more than 32 MiB", JSON.stringify(result) + " ".repeat(33 * 1024 * 1024)]
  ] as const) {
    it.effect(`answers a call if the host sends ${what}`, () =>
      Effect.gen(function* () {
        const answer = yield* bridgeTo(() => Effect.sync(() => new Response(text)))
        const { error, id } = JSON.parse((yield* answer(call, silent)) ?? "")
        assert.deepStrictEqual([id, error], [1, { code: -32000, message: "The host has answered with HTTP 200." }])
      })
    )
  }

  it.effect("answers a call with the error of a host that could not read its id", () =>
    Effect.gen(function* () {
      const error = { code: -32700, message: "This is not valid JSON." }
      const answer = yield* bridgeTo(() => Effect.sync(() => Response.json({ jsonrpc: "2.0", id: null, error })))
      assert.deepStrictEqual(JSON.parse((yield* answer(call, silent)) ?? ""), { jsonrpc: "2.0", id: 1, error })
    })
  )

  it.effect("answers as soon as the answer is there, and skips what else a stream holds", () =>
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

  it.effect("sends the answer to a form again if the host cannot take it now", () =>
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
