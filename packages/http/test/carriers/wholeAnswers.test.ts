import { randomBytes } from "node:crypto"
import * as Net from "node:net"
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, type Scope } from "effect"
import fc from "fast-check"
import { until } from "../../../../test/support/eventually.ts"
import { client, json, outcome, serve } from "./support.ts"

/*
 * Answers that are written byte by byte, well-formed and malformed, as a carrier or something in between may send them.
 */

interface RawCarrier {
  readonly origin: string
  readonly requests: () => number
  readonly connections: () => { readonly all: number; readonly open: number }
}

/** A carrier that answers each request by writing to its socket. */
const serveRaw = (answer: (socket: Net.Socket, path: string) => void): Effect.Effect<RawCarrier, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<{ readonly server: Net.Server; readonly open: Set<Net.Socket>; readonly carrier: RawCarrier }>(
        (resume) => {
          const open = new Set<Net.Socket>()
          let [all, requests] = [0, 0]
          const server = Net.createServer((socket) => {
            all++
            open.add(socket)
            socket.on("close", () => open.delete(socket)).on("error", () => socket.destroy())
            socket.on("data", (bytes) => {
              for (const [, path = ""] of bytes.toString("latin1").matchAll(/^GET (\S+) /gm)) {
                requests++
                answer(socket, path)
              }
            })
          })
          server.listen(0, "127.0.0.1", () => {
            const address = server.address()
            if (address === null || typeof address === "string") return resume(Effect.die("bound to no port"))
            const carrier: RawCarrier = {
              origin: `http://localhost:${address.port}`,
              requests: () => requests,
              connections: () => ({ all, open: open.size })
            }
            resume(Effect.succeed({ server, open, carrier }))
          })
        }
      ),
      ({ open, server }) =>
        Effect.sync(() => {
          server.close()
          for (const socket of open) socket.destroy()
        })
    ),
    ({ carrier }) => carrier
  )

const head = (...lines: ReadonlyArray<string>) =>
  `HTTP/1.1 200 OK\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`

/** An answer of a carrier, and how it travels. */
const answers = fc.record({
  body: fc.uint8Array({ maxLength: 40_000 }),
  isCompressed: fc.boolean(),
  framing: fc.constantFrom("length", "chunks", "close"),
  interim: fc.array(fc.constantFrom("102 Processing", "103 Early Hints"), { maxLength: 3 }),
  cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 })
})

type Answer = typeof answers extends fc.Arbitrary<infer A> ? A : never

/** The bytes of an answer, in the parts in which they are written. */
const partsOf = ({ body, cuts, framing, interim, isCompressed }: Answer): ReadonlyArray<Buffer> => {
  const sent = isCompressed ? gzipSync(body) : Buffer.from(body)
  const framed =
    framing === "chunks"
      ? Buffer.concat([
          ...(sent.length > 0 ? [Buffer.from(`${sent.length.toString(16)}\r\n`), sent, Buffer.from("\r\n")] : []),
          Buffer.from("0\r\n\r\n")
        ])
      : sent
  const lines = [
    ...(isCompressed ? ["Content-Encoding: gzip"] : []),
    framing === "length"
      ? `Content-Length: ${sent.length}`
      : framing === "chunks"
        ? "Transfer-Encoding: chunked"
        : "Connection: close"
  ]
  const all = Buffer.concat([
    Buffer.from(interim.map((status) => `HTTP/1.1 ${status}\r\n\r\n`).join("") + head(...lines)),
    framed
  ])
  const ends = [...cuts.map((cut) => Math.floor(cut * all.length)), all.length].toSorted((a, b) => a - b)
  return ends.map((end, index) => all.subarray(ends[index - 1] ?? 0, end))
}

/** Writes parts one after another, each in its own turn of the event loop. */
const write = (socket: Net.Socket, parts: ReadonlyArray<Buffer>, onEnd: () => void): void => {
  const [part, ...others] = parts
  if (part === undefined) onEnd()
  else socket.write(part, () => setImmediate(() => write(socket, others, onEnd)))
}

describe("a whole answer of a carrier", () => {
  it.live("is read as it was sent, however it is framed, compressed and cut into packets", () =>
    Effect.gen(function* () {
      let next: Answer | null = null
      const carrier = yield* serveRaw((socket) => {
        const answer = next
        if (answer !== null)
          write(socket, partsOf(answer), () => (answer.framing === "close" ? socket.end() : undefined))
      })
      const http = yield* client(carrier.origin)
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(answers, async (answer) => {
            next = answer
            const { bytes, headers, status } = await Effect.runPromise(http.get("/q"))
            assert.strictEqual(status, 200)
            assert.deepStrictEqual(Buffer.from(bytes), Buffer.from(answer.body))
            assert.notProperty(headers, "content-encoding")
          }),
          { numRuns: 60 }
        )
      )
    })
  )

  it.live("that is broken off anywhere fails, and is never read as complete", () =>
    Effect.gen(function* () {
      const all = Buffer.concat([Buffer.from(head("Content-Length: 50")), Buffer.alloc(50, "x")])
      let end = 0
      const carrier = yield* serveRaw((socket) => socket.write(all.subarray(0, end), () => socket.resetAndDestroy()))
      const http = yield* client(carrier.origin)
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(fc.integer({ min: 0, max: all.length - 1 }), async (cut) => {
            end = cut
            const [reason] = await Effect.runPromise(outcome(http.get("/q")))
            assert.strictEqual(reason, "carrier_error")
          }),
          { numRuns: 40 }
        )
      )
      yield* until(() => carrier.connections().open === 0)
    })
  )

  it.live(
    "that is shorter than its declared length fails, and bytes after its length do not reach the next answer",
    () =>
      Effect.gen(function* () {
        const carrier = yield* serveRaw((socket, path) => {
          if (path === "/short") socket.end(`${head("Content-Length: 9")}short`)
          else
            socket.write(
              `${head("Content-Length: 5")}right${path === "/long" ? "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong" : ""}`
            )
        })
        const http = yield* client(carrier.origin)
        assert.strictEqual((yield* outcome(http.get("/short")))[0], "carrier_error")
        const texts = yield* Effect.forEach(["/long", "/right", "/right"], (path) =>
          Effect.map(http.get(path), ({ text }) => text)
        )
        assert.deepStrictEqual(texts, ["right", "right", "right"])
      })
  )

  it.live("is refused if it is truncated inside the compressed body", () =>
    Effect.gen(function* () {
      const compressed = gzipSync("a".repeat(1_000))
      const half = compressed.subarray(0, compressed.length >> 1)
      const carrier = yield* serveRaw((socket) => {
        socket.write(head("Content-Encoding: gzip", `Content-Length: ${half.length}`))
        socket.write(half)
      })
      const http = yield* client(carrier.origin)
      assert.deepStrictEqual(yield* outcome(http.get("/q")), ["unreadable_answer", "Z_BUF_ERROR"])
    })
  )

  it.live("that is no HTTP, an upgrade, or has headers without end, fails", () =>
    Effect.gen(function* () {
      const carrier = yield* serveRaw((socket, path) => {
        if (path === "/noise") socket.write("220 mail.example.com ESMTP\r\n")
        else if (path === "/upgrade")
          socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
        else socket.write(`HTTP/1.1 200 OK\r\nX: ${"x".repeat(17 * 1_024)}`)
      })
      const http = yield* client(carrier.origin)
      for (const path of ["/noise", "/upgrade", "/headers"]) {
        assert.strictEqual((yield* outcome(http.get(path)))[0], "carrier_error", path)
      }
      yield* until(() => carrier.connections().open === 0)
    })
  )
})

describe("a compressed answer", () => {
  it.live("with bytes after the compressed data is read, and its connection is closed", () =>
    Effect.gen(function* () {
      const carrier = yield* serveRaw((socket, path) => {
        const [size = 0, zeros = 0] = path.slice(1).split("/").map(Number)
        const sent = Buffer.concat([gzipSync(randomBytes(size)), Buffer.alloc(zeros)])
        socket.write(head("Content-Encoding: gzip", `Content-Length: ${sent.length}`))
        socket.write(sent)
      })
      const http = yield* client(carrier.origin, { connections_per_origin: 1 })
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(
            fc.integer({ min: 1, max: 70_000 }),
            fc.integer({ min: 0, max: 200_000 }),
            async (size, zeros) => {
              const { bytes } = await Effect.runPromise(http.get(`/${size}/${zeros}`))
              assert.lengthOf(bytes, size)
            }
          ),
          { numRuns: 40 }
        )
      )
    })
  )

  it.live("may be empty", () =>
    Effect.gen(function* () {
      const carrier = yield* serveRaw((socket) => socket.write(head("Content-Encoding: gzip", "Content-Length: 0")))
      const http = yield* client(carrier.origin)
      assert.lengthOf((yield* http.get("/q")).bytes, 0)
    })
  )
})

describe("a request for a whole answer", () => {
  it.live("closes its connection when it is interrupted: before the answer, after its head, or in its body", () =>
    Effect.gen(function* () {
      const begun: ReadonlyArray<string> = ["", head("Content-Length: 9"), `${head("Content-Length: 9")}half`]
      const carrier = yield* serveRaw((socket, path) => socket.write(begun[Number(path.slice(1))] ?? ""))
      const http = yield* client(carrier.origin)
      for (const [index] of begun.entries()) {
        const request = yield* Effect.forkChild(http.get(`/${index}`))
        yield* until(() => carrier.requests() === index + 1)
        yield* Fiber.interrupt(request)
        yield* until(() => carrier.connections().open === 0)
      }
    })
  )

  it.live("reuses its connection after an answer, an error status and an answer without a body", () =>
    Effect.gen(function* () {
      const server = yield* serve((request, response) => {
        const status = Number(request.url?.slice(1))
        if (status === 204) response.writeHead(status).end()
        else json(response, {}, status)
      })
      const http = yield* client(server.origin, { connections_per_origin: 1 })
      for (const status of [200, 404, 204, 500, 200]) yield* outcome(http.get(`/${status}`))
      assert.lengthOf(server.requests, 5)
      assert.strictEqual(server.connections().all, 1)
    })
  )

  it.live("does not block later requests if undici refuses it", () =>
    Effect.gen(function* () {
      const server = yield* serve((_request, response) => json(response, {}))
      const http = yield* client(server.origin, { connections_per_origin: 2 })
      yield* http.get("/first")
      for (const value of ["abc–def", "a\n", "Łukasz", "日本"]) {
        const sent = yield* outcome(http.get("/q", { headers: { "x-ref": value } }))
        assert.strictEqual(sent[0], "carrier_error")
      }
      yield* http.get("/last")
      assert.deepStrictEqual(server.requests, ["GET /first", "GET /last"])
    })
  )

  it.live("cannot break out of its header with a value from an adapter", () =>
    Effect.gen(function* () {
      const server = yield* serve((_request, response) => json(response, {}))
      const http = yield* client(server.origin)
      const sent = yield* outcome(http.get("/q", { headers: { "x-ref": "a\r\nx-injected: b" } }))
      assert.strictEqual(sent[0], "carrier_error")
      assert.deepStrictEqual(server.requests, [])
    })
  )
})
