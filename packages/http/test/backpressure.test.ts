import { once } from "node:events"
import { createServer } from "node:http"
import { connect, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { type Answer, Http, Route } from "@quotewire/http"
import { Deferred, Effect } from "effect"
import { until } from "../../../test/support/eventually.ts"
import { services, start } from "./support/host.ts"
import * as Wire from "./support/wire.ts"

type Limits = Pick<Http.Settings<never>, "read_timeout_ms" | "max_unread_bytes">

/** More than the kernel buffers for a connection. */
const large = Buffer.alloc(24 * 1024 * 1024, "a")

/** Writes a body in pieces, as for server-sent events. */
const writingLarge: Answer.Streamed = (write) => Effect.sync(() => write(large.toString("latin1")))

const routesOf = (noted: { started: number }, gate: Effect.Effect<void>, onHangUp: Effect.Effect<void>) => {
  const answer = (body: string | Uint8Array) =>
    Effect.sync(() => {
      noted.started += 1
      return { status: 200, headers: {}, body }
    })
  return [
    Route.make("GET", "/large", () => answer(large)),
    Route.make("GET", "/small", () => answer("small")),
    Route.make("GET", "/streamed", () =>
      Effect.succeed({ status: 200, headers: {}, body: null, stream: writingLarge })
    ),
    Route.make("GET", "/gate", () => Effect.andThen(gate, answer("gate"))),
    Route.make("GET", "/never", () => Effect.onInterrupt(Effect.never, () => onHangUp))
  ]
}

/** A server with the handler, whose connections the test can inspect. */
const serving = Effect.fnUntraced(function* (limits: Limits = {}) {
  const noted = { started: 0 }
  const gate = yield* Deferred.make<void>()
  const hungUp = yield* Deferred.make<void>()
  const routes = routesOf(noted, Deferred.await(gate), Effect.asVoid(Deferred.succeed(hungUp, undefined)))
  const { handle } = yield* Http.handler({ operations: [], base_url: "https://host.example", routes, ...limits })
  const server = createServer((request, response) => handle(request, response))
  const sockets: Array<Socket> = []
  server.on("connection", (socket) => void sockets.push(socket))
  yield* Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
  )
  const bound = server.address()
  const port = typeof bound === "object" && bound !== null ? bound.port : 0
  return { port, noted, sockets, open: Deferred.succeed(gate, undefined), hungUp: Deferred.await(hungUp) }
})

/** Sends requests on a separate connection and reads none of the responses. */
const sendUnread = (port: number, text: string) =>
  Effect.acquireRelease(
    Effect.callback<Socket>((resume) => {
      const socket = connect(port, "127.0.0.1").on("error", () => {})
      socket.pause()
      socket.write(text, () => resume(Effect.succeed(socket)))
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
const last = "GET /small HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
const closed = (socket: Socket | undefined) =>
  Effect.promise(async () => socket?.closed === false && (await once(socket, "close")))
const answersIn = (text: string) => text.match(/HTTP\/1\.1 200/g)?.length ?? 0

describe("pipelined requests", () => {
  it.live("are handled a few at a time, and get their responses in order", () =>
    Effect.gen(function* () {
      const { port, noted, open } = yield* serving()
      const wire = yield* Wire.open(port)
      yield* wire.write(get("/gate") + get("/small").repeat(25) + last)
      // Its response shows that everything sent before it was read.
      yield* Wire.exchange(port, last)
      assert.isBelow(noted.started, 25)
      yield* open
      const text = yield* wire.closed
      assert.strictEqual(answersIn(text), 27)
      assert.match(text, /gate(?!.*gate).*small$/s)
      assert.strictEqual(noted.started, 28)
    }).pipe(Effect.provide(services), Effect.timeout(60_000))
  )

  it.live("get every response, even if the last body arrives while earlier requests are handled", () =>
    Effect.gen(function* () {
      const echo = Route.make("POST", "/echo", ({ read }) =>
        Effect.map(read(1_000), (body) => ({ status: 200, headers: {}, body }))
      )
      const { port } = yield* start({ routes: [echo] })
      for (const bytes of [100, 200, 300, 400]) {
        const chunks = `${bytes.toString(16)}\r\n${"a".repeat(bytes)}\r\n0\r\n\r\n`
        const head = "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
        const requests = `${head}\r\n${chunks}`.repeat(20)
        const text = yield* Wire.exchange(port, `${requests}${head}Connection: close\r\n\r\n${chunks}`)
        assert.strictEqual(answersIn(text), 21)
      }
    }).pipe(Effect.scoped, Effect.timeout(60_000))
  )

  it.live("make the host close the connection if there are too many", () =>
    Effect.gen(function* () {
      const { port, noted } = yield* serving()
      const shapes = [
        get("/small"),
        get("/unknown"),
        get("/large"),
        `POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`,
        `POST /small HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n`
      ]
      for (const shape of shapes) {
        const wire = yield* Wire.open(port)
        yield* wire.write(shape.repeat(400))
        yield* wire.closed
      }
      assert.isBelow(noted.started, 32 * shapes.length)
      assert.strictEqual(answersIn(yield* Wire.exchange(port, last)), 1)
    }).pipe(Effect.scoped, Effect.provide(services), Effect.timeout(60_000))
  )

  it.live("are cancelled when the caller disconnects, even while an earlier response is pending", () =>
    Effect.gen(function* () {
      const { port, hungUp } = yield* serving()
      const wire = yield* Wire.open(port)
      yield* wire.write(get("/gate") + get("/never"))
      yield* Wire.exchange(port, last)
      wire.socket.destroy()
      yield* hungUp
    }).pipe(Effect.provide(services), Effect.timeout(60_000))
  )

  it.live("get their responses before a later malformed request is refused", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { port } = yield* start({ routes: routesOf({ started: 0 }, Deferred.await(gate), Effect.void) })
      const wire = yield* Wire.open(port)
      yield* wire.write(`${get("/small")}${get("/gate")}HELLO\r\n\r\n`)
      yield* Wire.exchange(port, last)
      yield* Deferred.succeed(gate, undefined)
      const text = yield* wire.closed
      assert.deepStrictEqual(text.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 200", "HTTP/1.1 200", "HTTP/1.1 400"])
    }).pipe(Effect.scoped, Effect.timeout(60_000))
  )
})

describe("a connection with unread responses", () => {
  it.live("is closed after a timeout, before the host handles every pipelined request", () =>
    Effect.gen(function* () {
      const { port, noted, sockets } = yield* serving({
        read_timeout_ms: 300,
        max_unread_bytes: Number.MAX_SAFE_INTEGER
      })
      yield* sendUnread(port, get("/large").repeat(20))
      yield* closed(sockets[0])
      assert.isBelow(noted.started, 20)
    }).pipe(Effect.provide(services), Effect.timeout(60_000))
  )

  it.live("is closed after a timeout even if the host writes the response in pieces", () =>
    Effect.gen(function* () {
      const { port, sockets } = yield* serving({ read_timeout_ms: 300 })
      yield* sendUnread(port, get("/streamed"))
      yield* closed(sockets[0])
    }).pipe(Effect.provide(services), Effect.timeout(60_000))
  )

  it.live("is closed after a timeout even if the caller has closed its end", () =>
    Effect.gen(function* () {
      const { port, sockets } = yield* serving({ read_timeout_ms: 300 })
      const socket = yield* sendUnread(port, get("/large"))
      socket.end()
      yield* closed(sockets[0])
    }).pipe(Effect.provide(services), Effect.timeout(60_000))
  )

  it.live("stays open past the timeout while the host is still producing a response", () =>
    Effect.gen(function* () {
      const { port, noted, sockets, open } = yield* serving({ read_timeout_ms: 100 })
      const wire = yield* Wire.open(port)
      yield* wire.write(get("/gate") + get("/small") + last)
      yield* sendUnread(port, get("/large"))
      // The other connection had the same amount of time.
      yield* closed(sockets[1])
      assert.strictEqual(noted.started, 3)
      yield* open
      assert.strictEqual(answersIn(yield* wire.closed), 3)
    }).pipe(Effect.provide(services), Effect.timeout(60_000))
  )

  it.live("is closed if it has the most unread bytes when the total exceeds the limit", () =>
    Effect.gen(function* () {
      const { port, sockets } = yield* serving({ max_unread_bytes: 4 * large.length })
      yield* sendUnread(port, get("/large"))
      yield* sendUnread(port, get("/large").repeat(2))
      yield* Wire.exchange(port, last)
      assert.deepStrictEqual(
        sockets.slice(0, 2).map(({ destroyed }) => destroyed),
        [false, false]
      )
      yield* sendUnread(port, get("/large").repeat(2))
      yield* closed(sockets[1])
      assert.isFalse(sockets[0]?.destroyed)
    }).pipe(Effect.provide(services), Effect.timeout(60_000))
  )
})

describe("large responses", () => {
  it.live("are sent completely", () =>
    Effect.gen(function* () {
      const { port } = yield* serving()
      const response = yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}/large`))
      assert.isTrue(large.equals(Buffer.from(yield* Effect.promise(() => response.arrayBuffer()))))
      const head = yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}/large`, { method: "HEAD" }))
      assert.strictEqual(head.headers.get("content-length"), String(large.length))
    }).pipe(Effect.provide(services))
  )
})

describe("a connection whose request is refused", () => {
  it.live("is closed even if the caller keeps its end open", () =>
    Effect.gen(function* () {
      const { port } = yield* start()
      const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }).on("error", () => {})
      yield* Effect.addFinalizer(() => Effect.sync(() => socket.destroy()))
      socket.resume().write("CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n")
      yield* Effect.promise(() => once(socket, "end"))
      // A closed connection responds to further data with a reset.
      yield* until(() => {
        socket.write("\r\n")
        return socket.closed
      })
    }).pipe(Effect.scoped, Effect.timeout(60_000))
  )
})
