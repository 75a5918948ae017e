import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { until } from "../../../../test/support/eventually.ts"
import * as Endpoint from "./support/endpoint.ts"
import { make, outcome, request, sendTo } from "./support/sender.ts"

/** Writes a first part, and then small pieces endlessly. */
const drip =
  (beginning: string, drop: string): Endpoint.Script =>
  (socket) => {
    socket.write(beginning)
    const timer = setInterval(() => (socket.destroyed ? clearInterval(timer) : socket.write(drop)), 5)
  }

/** Writes an end. */
const last =
  (text: string): Endpoint.Script =>
  (socket) =>
    void socket.end(text)

/** Long enough for any endpoint of these tests, and short enough to wait for those that hang. */
const shortMs = 250

interface Case {
  readonly script: Endpoint.Script
  readonly status: number | null
  readonly failure: string
  readonly deadline_ms?: number
}

const broken = (script: Endpoint.Script, status: number | null = null): Case => ({
  script,
  status,
  failure: "connection_failed"
})
const garbled = (script: Endpoint.Script, status: number | null = null): Case => ({
  script,
  status,
  failure: "bad_response"
})
const slow = (script: Endpoint.Script, status: number | null = null): Case => ({
  script,
  status,
  failure: "timeout",
  deadline_ms: shortMs
})
const large = (script: Endpoint.Script): Case => ({ script, status: 200, failure: "too_large" })

const ok = "HTTP/1.1 200 OK\r\n"

const cases: { readonly [name: string]: Case } = {
  "resets the connection": broken((socket) => void socket.resetAndDestroy()),
  "closes the connection": broken((socket) => void socket.destroy()),
  "closes without a response": broken(last("")),
  "closes during its headers": broken(last(`${ok}content-le`), 200),
  "sends an unrequested 100 Continue": broken(Endpoint.raw("HTTP/1.1 100 Continue\r\n\r\n")),
  "asks to switch protocols": broken(
    Endpoint.raw("HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"),
    101
  ),
  "closes during its status line": broken(last("HTTP/1.1 20")),
  "never responds": slow(() => {}),
  "hangs during its status line": slow(Endpoint.raw("HTTP/1.1 2")),
  "hangs after its status line": slow(Endpoint.raw(ok), 200),
  "hangs before its body": slow(Endpoint.raw(`${ok}content-length: 9\r\n\r\n`), 200),
  "sends its headers byte by byte": slow(drip(`${ok}x: `, "x"), 200),
  "sends its body byte by byte": slow(drip(`${ok}content-length: 9999\r\n\r\n`, "x"), 200),
  "sends a refusal byte by byte": slow(drip("HTTP/1.1 410 Gone\r\ncontent-length: 9999\r\n\r\n", "x"), 410),
  "sends early hints forever": garbled(drip("", "HTTP/1.1 103 Early Hints\r\n\r\n")),
  "sends garbage": garbled(Endpoint.raw("\0\x01\x02 what?\r\n\r\n")),
  "has a garbled status": garbled(Endpoint.raw("HTTP/1.1 2x0 OK\r\n\r\n")),
  "speaks SMTP": garbled(Endpoint.raw("220 mail.example.com ESMTP\r\n")),
  "sends two content lengths": garbled(Endpoint.raw(`${ok}content-length: 1\r\ncontent-length: 2\r\n\r\nab`), 200),
  "has a garbled chunk": garbled(Endpoint.raw(`${ok}transfer-encoding: chunked\r\n\r\nzz\r\n`), 200),
  "closes during its body": garbled(last(`${ok}content-length: 9\r\n\r\nab`), 200),
  "closes during its chunks": garbled(last(`${ok}transfer-encoding: chunked\r\n\r\n5\r\nab`), 200),
  "resets during its body": garbled((socket) => {
    socket.write(`${ok}content-length: 9\r\n\r\nab`, () => setImmediate(() => socket.destroy()))
  }, 200),
  "sends an endless reason phrase": large(drip("HTTP/1.1 200 ", "x".repeat(50_000))),
  "sends an endless chunk extension": large(drip(`${ok}transfer-encoding: chunked\r\n\r\n1;`, "x".repeat(50_000))),
  "sends only newlines": { ...large(drip("", "\r\n".repeat(25_000))), status: null },
  "has a large header": large(Endpoint.raw(`${ok}x: ${"x".repeat(17 * 1_024)}\r\n\r\n`)),
  "has many headers": large(Endpoint.raw(`${ok}${"x: y\r\n".repeat(20_000)}\r\n`))
}

describe("the webhook sender", () => {
  for (const [name, { script, status, failure, deadline_ms }] of Object.entries(cases)) {
    it.live(`reports ${failure} for an endpoint that ${name}`, () =>
      Effect.gen(function* () {
        const { endpoint, sent } = yield* sendTo(script, deadline_ms)
        assert.deepStrictEqual(sent, [status, failure])
        assert.strictEqual(endpoint.requests.length, 1)
        yield* until(() => endpoint.connections().open === 0)
      }).pipe(Effect.scoped)
    )
  }

  it.live("accepts a response that the endpoint ends by closing the connection", () =>
    Effect.gen(function* () {
      const { endpoint, sent } = yield* sendTo(last(`${ok}\r\nall of it`))
      assert.deepStrictEqual(sent, [200, null])
      yield* until(() => endpoint.connections().open === 0)
    }).pipe(Effect.scoped)
  )

  it.live("ignores an endpoint's second response to one request", () =>
    Effect.gen(function* () {
      const twice = `${ok}content-length: 2\r\n\r\nok`
      const { endpoint, sender, sent } = yield* sendTo(Endpoint.raw(twice + twice.replace("200", "500")))
      assert.deepStrictEqual(sent, [200, null])
      for (let i = 0; i < 3; i++) {
        const again = yield* sender.send(request(`http://127.0.0.1:${endpoint.port}/`))
        assert.strictEqual(again.response_status_code, 200)
      }
    }).pipe(Effect.scoped)
  )

  it.live("does not retry if the endpoint closes a reused connection during the response", () =>
    Effect.gen(function* () {
      let count = 0
      const endpoint = yield* Endpoint.start((socket, got) =>
        ++count === 1 ? Endpoint.answer(200)(socket, got) : void socket.end(`${ok}content-le`)
      )
      const sender = yield* make()
      const send = Effect.map(sender.send(request(`http://127.0.0.1:${endpoint.port}/`)), outcome)
      assert.deepStrictEqual(
        [yield* send, yield* send],
        [
          [200, null],
          [200, "connection_failed"]
        ]
      )
      assert.strictEqual(endpoint.requests.length, 2)
      assert.strictEqual(endpoint.connections().all, 1)
    }).pipe(Effect.scoped)
  )

  it.live("reports connection_failed if nothing listens at the endpoint's port", () =>
    Effect.gen(function* () {
      const { port } = yield* Effect.scoped(Endpoint.start(Endpoint.answer(200)))
      const sender = yield* make()
      const sent = yield* sender.send(request(`http://127.0.0.1:${port}/`))
      assert.deepStrictEqual(outcome(sent), [null, "connection_failed"])
    }).pipe(Effect.scoped)
  )

  it.live("closes the connection when a delivery is interrupted", () =>
    Effect.gen(function* () {
      const endpoint = yield* Endpoint.start(() => {})
      const sender = yield* make()
      const fiber = yield* Effect.forkChild(sender.send(request(`http://127.0.0.1:${endpoint.port}/`)))
      yield* until(() => endpoint.requests.length === 1)
      yield* Fiber.interrupt(fiber)
      yield* until(() => endpoint.connections().open === 0)
    }).pipe(Effect.scoped)
  )
})
