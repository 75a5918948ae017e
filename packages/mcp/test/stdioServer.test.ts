import { assert, describe, it } from "@effect/vitest"
import { type JsonRpc, StdioServer } from "@quotewire/mcp"
import { Deferred, Effect, Fiber } from "effect"
import { program } from "./support/program.ts"

const line = (id: unknown, method = "echo", params = {}) =>
  `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`

/** Responds to `echo` immediately, and `wait` when it is released. */
const echoing = Effect.gen(function* () {
  const released = yield* Deferred.make<void>()
  const interrupted: Array<unknown> = []
  const answer = ({ id, method }: JsonRpc.Message) =>
    (method === "wait" ? Deferred.await(released) : Effect.void).pipe(
      Effect.as(id === null ? null : JSON.stringify({ jsonrpc: "2.0", id, result: { method } })),
      Effect.onInterrupt(() => Effect.sync(() => interrupted.push(id)))
    )
  return {
    settings: { answer, wake: Deferred.succeed(released, undefined).pipe(Effect.asVoid) },
    released,
    interrupted
  }
})

describe("a stdio server", () => {
  it.effect("responds to each line, however the line is split into chunks, and skips empty lines", () =>
    Effect.gen(function* () {
      const { hangUp, layer, read, write, writeBytes } = yield* program
      const { settings } = yield* echoing
      const served = yield* Effect.forkChild(Effect.provide(StdioServer.serve(settings), layer))
      yield* write(`${line(1)}\n\r\n${line("zwei")}`)
      assert.deepStrictEqual([yield* read, yield* read].map(({ id }) => id).sort(), [1, "zwei"])
      const bytes = new TextEncoder().encode(line("drei ü 🚗"))
      for (const byte of bytes) yield* writeBytes(Uint8Array.of(byte))
      assert.strictEqual((yield* read).id, "drei ü 🚗")
      yield* hangUp
      yield* Fiber.join(served)
    })
  )

  it.effect("returns an error for a malformed line, and continues with the next line", () =>
    Effect.gen(function* () {
      const { hangUp, layer, read, write, writeBytes } = yield* program
      const { settings } = yield* echoing
      const served = yield* Effect.forkChild(Effect.provide(StdioServer.serve(settings), layer))
      yield* write("{\n")
      assert.strictEqual((yield* read).error.code, -32700)
      yield* writeBytes(Uint8Array.of(0xff, 0x0a))
      assert.strictEqual((yield* read).error.code, -32700)
      yield* write(`[]\n`)
      assert.strictEqual((yield* read).error.code, -32600)
      yield* write(`"${"x".repeat(300 * 1024)}`)
      assert.strictEqual((yield* read).error.code, -32700)
      yield* write(`the rest of it is dropped\n${line(2)}`)
      assert.strictEqual((yield* read).id, 2)
      yield* hangUp
      yield* Fiber.join(served)
    })
  )

  it.effect("responds to the last line even if the line has no newline", () =>
    Effect.gen(function* () {
      const { hangUp, layer, read, write } = yield* program
      const { settings } = yield* echoing
      const served = yield* Effect.forkChild(Effect.provide(StdioServer.serve(settings), layer))
      yield* write(line(1).trim())
      yield* hangUp
      assert.strictEqual((yield* read).id, 1)
      yield* Fiber.join(served)
    })
  )

  it.effect("responds to calls as they finish, and refuses a call with the ID of a running call", () =>
    Effect.gen(function* () {
      const { hangUp, layer, read, write } = yield* program
      const { settings, released } = yield* echoing
      const served = yield* Effect.forkChild(Effect.provide(StdioServer.serve(settings), layer))
      yield* write(line("slow", "wait") + line("fast") + line("slow", "wait"))
      const answers = [yield* read, yield* read]
      assert.deepStrictEqual(
        answers.map(({ error, id }) => [id, error?.code]),
        [
          ["fast", undefined],
          ["slow", -32600]
        ]
      )
      yield* Deferred.succeed(released, undefined)
      assert.deepStrictEqual((yield* read).result, { method: "wait" })
      yield* hangUp
      yield* Fiber.join(served)
    })
  )

  it.effect("sends no response to a cancelled call", () =>
    Effect.gen(function* () {
      const { hangUp, layer, read, write } = yield* program
      const { interrupted, settings } = yield* echoing
      const served = yield* Effect.forkChild(Effect.provide(StdioServer.serve(settings), layer))
      yield* write(line(7, "wait") + line(8, "wait"))
      const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } }
      yield* write(`${JSON.stringify(cancel)}\n${line(9)}`)
      assert.strictEqual((yield* read).id, 9)
      assert.deepStrictEqual(interrupted, [7])
      // A program that disconnects need not wait: waiting calls are woken and return, and then the server ends.
      yield* hangUp
      assert.strictEqual((yield* read).id, 8)
      yield* Fiber.join(served)
    })
  )

  it.effect("continues with the next line while a notification is pending", () =>
    Effect.gen(function* () {
      const { hangUp, layer, read, write } = yield* program
      const { interrupted, settings } = yield* echoing
      const served = yield* Effect.forkChild(Effect.provide(StdioServer.serve(settings), layer))
      const notify = (method: string, params: object) => `${JSON.stringify({ jsonrpc: "2.0", method, params })}\n`
      yield* write(line(7, "wait") + notify("wait", {}) + notify("notifications/cancelled", { requestId: 7 }) + line(8))
      assert.strictEqual((yield* read).id, 8)
      assert.deepStrictEqual(interrupted, [7])
      yield* hangUp
      yield* Fiber.join(served)
    })
  )
})

describe("a batch over stdio", () => {
  const initialize = (protocolVersion: string) => line("hello", "initialize", { protocolVersion })
  const batch = (...messages: ReadonlyArray<object>) =>
    `${JSON.stringify(messages.map((message) => ({ jsonrpc: "2.0", ...message })))}\n`

  it.effect("gets its responses in one list, in call order, once all calls are done", () =>
    Effect.gen(function* () {
      const { hangUp, layer, read, write } = yield* program
      const { settings, released } = yield* echoing
      const served = yield* Effect.forkChild(Effect.provide(StdioServer.serve(settings), layer))
      yield* write(initialize("2025-03-26"))
      assert.strictEqual((yield* read).id, "hello")
      const messages = [{ id: 1, method: "wait" }, { method: "echo" }, { id: 2 }, { id: 3, method: "echo" }]
      yield* write(batch(...messages, { id: 4, method: "initialize" }) + line(5))
      assert.strictEqual((yield* read).id, 5)
      yield* Deferred.succeed(released, undefined)
      const answers: ReadonlyArray<{ id: number; error?: { code: number } }> = yield* read
      assert.deepStrictEqual(
        answers.map(({ id, error }) => [id, error?.code ?? null]),
        [
          [1, null],
          [2, -32600],
          [3, null],
          [4, -32600]
        ]
      )
      yield* hangUp
      yield* Fiber.join(served)
    })
  )

  it.effect("gets no response for notifications or cancelled calls", () =>
    Effect.gen(function* () {
      const { hangUp, layer, read, write } = yield* program
      const { interrupted, settings } = yield* echoing
      const served = yield* Effect.forkChild(Effect.provide(StdioServer.serve(settings), layer))
      yield* write(batch({ method: "echo" }, { method: "echo" }))
      yield* write(batch({ id: 7, method: "wait" }, { id: 8, method: "echo" }))
      yield* write(batch({ method: "notifications/cancelled", params: { requestId: 7 } }))
      assert.deepStrictEqual(
        (yield* read).map(({ id }: { readonly id: number }) => id),
        [8]
      )
      assert.deepStrictEqual(interrupted, [7])
      yield* hangUp
      yield* Fiber.join(served)
    })
  )

  it.effect("is refused in revisions without batches", () =>
    Effect.gen(function* () {
      const { hangUp, layer, read, write } = yield* program
      const { settings } = yield* echoing
      const served = yield* Effect.forkChild(Effect.provide(StdioServer.serve(settings), layer))
      for (const revision of ["2025-11-25", "2025-06-18", "2024-11-05"]) {
        yield* write(initialize(revision))
        assert.strictEqual((yield* read).id, "hello")
        yield* write(batch({ id: 1, method: "echo" }))
        assert.strictEqual((yield* read).error.code, -32600)
      }
      yield* hangUp
      yield* Fiber.join(served)
    })
  )
})
