import { assert, describe, it } from "@effect/vitest"
import { nodeHandler } from "@quotewire/http"
import { webHandler } from "@quotewire/http/web"
import { Effect } from "effect"
import fc from "fast-check"
import { embedded } from "./handlers/support.ts"
import { type Keys, start } from "./support/host.ts"
import * as Wire from "./support/wire.ts"

const post = ({ server }: Pick<Keys, "server">, path: string, framing: string) =>
  [
    `POST ${path} HTTP/1.1`,
    "Host: x",
    `Authorization: Bearer ${server}`,
    "Idempotency-Key: k",
    "Content-Type: application/json",
    framing,
    "",
    ""
  ].join("\r\n")

/** A valid body of this length. */
const body = (length: number) => '{"name":"a"}'.padEnd(length)

const assertRefusedForNow = (text: string) => {
  const { headers, status, text: json } = Wire.parse(text)
  assert.deepStrictEqual([status, headers.get("retry-after")], [503, "1"])
  assert.strictEqual(JSON.parse(json).error.code, "service_unavailable")
}

/** Sends the first part of a body, and waits until it is read. */
const begin = Effect.fnUntraced(function* (port: number, head: string, part: string) {
  const wire = yield* Wire.open(port)
  yield* wire.write(head)
  yield* Wire.exchange(port, "GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
  yield* wire.write(part)
  yield* Wire.exchange(port, "GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
  return wire
})

describe("request bodies that are still arriving", () => {
  it.live("are refused, oldest first, when their total size exceeds the limit", () =>
    Effect.gen(function* () {
      const { keys, port } = yield* start({ max_arriving_bytes: 300_000 })
      const head = post(keys, "/v1/things", "Content-Length: 200000")
      const slow = yield* begin(port, head, body(160_000))
      const other = yield* begin(port, head, body(160_000))
      assertRefusedForNow(yield* slow.until(/\}$/))
      yield* other.write(" ".repeat(40_000))
      assert.match(yield* other.until(/\}$/), /^HTTP\/1\.1 201/)
      // A refused or complete body no longer counts.
      const again = yield* begin(port, head, body(160_000))
      yield* again.write(" ".repeat(40_000))
      assert.match(yield* again.until(/\}$/), /^HTTP\/1\.1 201/)
    }).pipe(Effect.scoped, Effect.timeout(60_000))
  )

  it.live("stop counting toward the limit when their callers disconnect", () =>
    Effect.gen(function* () {
      const { keys, port } = yield* start({ max_arriving_bytes: 400_000 })
      const head = post(keys, "/v1/things", "Content-Length: 200000")
      const first = yield* begin(port, head, body(160_000))
      for (let left = 20; left > 0; left--) {
        const gone = yield* begin(port, head, body(20_000))
        gone.socket.destroy()
      }
      yield* first.write(" ".repeat(40_000))
      assert.match(yield* first.until(/\}$/), /^HTTP\/1\.1 201/)
    }).pipe(Effect.scoped, Effect.timeout(60_000))
  )

  it.live("are read completely, whatever the size of their chunks", () =>
    Effect.gen(function* () {
      const { keys, port } = yield* start()
      const sends = (name: string, sizes: ReadonlyArray<number>) => {
        const json = JSON.stringify({ name })
        const chunks: Array<string> = []
        for (let at = 0, turn = 0; at < json.length; turn++) {
          const chunk = json.slice(at, at + (sizes[turn % sizes.length] ?? 1))
          chunks.push(`${chunk.length.toString(16)}\r\n${chunk}\r\n`)
          at += chunk.length
        }
        const key = `Idempotency-Key: ${name.length}-${sizes.join("-")}`
        const head = post(keys, "/v1/things", `Transfer-Encoding: chunked\r\nConnection: close`).replace(
          "Idempotency-Key: k",
          key
        )
        return Wire.exchange(port, `${head}${chunks.join("")}0\r\n\r\n`)
      }
      const names = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 20_000 })
      const sizes = fc.array(fc.integer({ min: 1, max: 9_000 }), { minLength: 1, maxLength: 3 })
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(names, sizes, async (name, sizes) => {
            const { status, text } = Wire.parse(await Effect.runPromise(sends(name, sizes)))
            assert.strictEqual(status, 201)
            assert.strictEqual(JSON.parse(text).name, name)
          }),
          { numRuns: 20 }
        )
      )
    }).pipe(Effect.scoped, Effect.timeout(60_000))
  )

  it.live("share one size limit in webHandler", () =>
    Effect.gen(function* () {
      const { key, quotewire } = yield* embedded({ public_url: "https://shop.example" })
      const handle = webHandler(quotewire, { max_arriving_bytes: 300_000 })
      const send = () => {
        const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
        const writer = writable.getWriter()
        const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
        const init = { method: "POST", headers, body: readable, duplex: "half" }
        const answer = handle(new Request("https://shop.example/v1/quote-requests", init))
        return { answer, write: (text: string) => writer.write(new TextEncoder().encode(text)) }
      }
      const slow = send()
      yield* Effect.promise(() => slow.write(" ".repeat(200_000)))
      const other = send()
      yield* Effect.promise(() => other.write(" ".repeat(200_000)))
      assert.strictEqual((yield* Effect.promise(() => slow.answer)).status, 503)
    }).pipe(Effect.scoped, Effect.timeout(60_000))
  )

  it.live("cannot have a total size limit below the maximum size of one body", () =>
    Effect.gen(function* () {
      const { quotewire } = yield* embedded()
      const wrong = { max_arriving_bytes: 256 * 1024 - 1 }
      assert.throws(() => nodeHandler(quotewire, wrong), /max_arriving_bytes/)
      assert.throws(() => webHandler(quotewire, wrong), /max_arriving_bytes/)
    }).pipe(Effect.scoped)
  )
})
