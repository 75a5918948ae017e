import { createHash } from "node:crypto"
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Route, readInSlices } from "@quotewire/http"
import { Deferred, Effect } from "effect"
import fc from "fast-check"
import { start } from "./support/host.ts"
import * as Wire from "./support/wire.ts"

const get = (headers = "") => `GET /v1/events HTTP/1.1\r\nHost: x\r\n${headers}\r\n`
const padding = `X-Padding: ${"x".repeat(1_000)}\r\n`
const last = get("Connection: close\r\n")

/** Counts the request objects that Node creates on any server of this process. */
const requestsMade = Effect.gen(function* () {
  const made = { requests: 0 }
  const count = () => {
    made.requests += 1
  }
  subscribe("http.server.request.start", count)
  yield* Effect.addFinalizer(() => Effect.sync(() => void unsubscribe("http.server.request.start", count)))
  return made
})

/** A host that reads all connections in slices, because it saw one with many requests at a time. */
const wary = Effect.fnUntraced(function* (settings: Parameters<typeof start>[0] = {}) {
  const host = yield* start(settings)
  yield* Wire.exchange(host.port, get().repeat(8) + last)
  return host
})

const empty = { status: 200, headers: {}, body: "" }

const hash = () => createHash("sha256")

/** A server that responds to each request with the hash of its body. */
const hashing = Effect.gen(function* () {
  const server = createServer((request, response) => {
    const body = hash()
    request.on("data", (chunk) => void body.update(chunk)).on("end", () => response.end(body.digest("hex")))
  })
  readInSlices(server)
  yield* Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
  yield* Effect.addFinalizer(() => Effect.sync(() => void server.close().closeAllConnections()))
  const bound = server.address()
  return typeof bound === "object" && bound !== null ? bound.port : 0
})

describe("data received on a connection", () => {
  it.live("is no longer parsed once it contains too many requests", () =>
    Effect.gen(function* () {
      const { port } = yield* wary()
      const made = yield* requestsMade
      const wire = yield* Wire.open(port)
      yield* wire.write(get().repeat(1_700))
      yield* wire.closed
      assert.isBelow(made.requests, 400)
    }).pipe(Effect.scoped, Effect.timeout(60_000))
  )

  it.live("is parsed in slices after any connection has sent data that is slow to parse", () =>
    Effect.gen(function* () {
      const many = Array.from({ length: 150 }, (_, number) => `X-${number}: x\r\n`).join("")
      const pieces = "POST /v1/feedback HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n\r\n"
      for (const suspicious of [get().repeat(8), get(many), pieces]) {
        const { port } = yield* start()
        const wire = yield* Wire.open(port)
        yield* wire.write(get())
        yield* Wire.exchange(port, suspicious + last)
        const made = yield* requestsMade
        yield* wire.write(get().repeat(1_700))
        yield* wire.closed
        assert.isBelow(made.requests, 400)
      }
    }).pipe(Effect.scoped, Effect.timeout(60_000))
  )

  it.live("is parsed in small parts while earlier requests await their responses", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { port } = yield* wary({
        routes: [Route.make("GET", "/gate", () => Effect.as(Deferred.await(gate), empty))]
      })
      const made = yield* requestsMade
      const wire = yield* Wire.open(port)
      const filler = `X-Padding: ${"x".repeat(70)}\r\n`
      yield* wire.write(`GET /gate HTTP/1.1\r\nHost: x\r\n${filler}\r\n`.repeat(400) + last)
      // Its response shows that everything sent before it was read.
      yield* Wire.exchange(port, last)
      assert.isAtMost(made.requests - 1, 20)
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual((yield* wire.closed).match(/HTTP\/1\.1 \d/g)?.length, 401)
    }).pipe(Effect.scoped, Effect.timeout(60_000))
  )

  it.live("leads to a response for every request, even if hundreds of requests arrive together", () =>
    Effect.gen(function* () {
      const { port } = yield* wary()
      const text = yield* Wire.exchange(port, get(padding).repeat(300) + last)
      assert.strictEqual(text.match(/HTTP\/1\.1 \d/g)?.length, 301)
    }).pipe(Effect.scoped, Effect.timeout(60_000))
  )

  it.live("is parsed alternately with other connections' data", () =>
    Effect.gen(function* () {
      const { port } = yield* wary()
      const made = yield* requestsMade
      const [burst, other] = yield* Effect.all([Wire.open(port), Wire.open(port)])
      yield* burst.write(get(padding).repeat(1_000) + last)
      yield* other.write(last)
      yield* other.closed
      // Requests that arrive together are not all served before others.
      assert.isBelow(made.requests, 1_000)
      yield* burst.closed
      assert.strictEqual(made.requests, 1_002)
    }).pipe(Effect.scoped, Effect.timeout(60_000))
  )

  it.live("reaches the handler unchanged, whatever the size of its pieces", () =>
    Effect.gen(function* () {
      const port = yield* hashing
      const sends = async (pieces: ReadonlyArray<Uint8Array>) => {
        const body = Buffer.concat(pieces)
        const head = `POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`
        const exchange = Effect.gen(function* () {
          const wire = yield* Wire.open(port)
          for (const piece of [Buffer.from(head), ...pieces]) yield* wire.write(piece)
          yield* Effect.sync(() => wire.socket.end())
          return Wire.parse(yield* wire.closed).text
        })
        assert.include(await Effect.runPromise(Effect.scoped(exchange)), hash().update(body).digest("hex"))
      }
      const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40_000 }), { minLength: 1, maxLength: 8 })
      yield* Effect.promise(() => fc.assert(fc.asyncProperty(pieces, sends), { numRuns: 30 }))
    }).pipe(Effect.scoped, Effect.timeout(60_000))
  )
})
