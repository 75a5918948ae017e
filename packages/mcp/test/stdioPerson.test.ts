import { assert, describe, it } from "@effect/vitest"
import { Access, Hints, operations, type Quotewire, type Storage } from "@quotewire/core"
import { ExampleApplications, World } from "@quotewire/core/testing"
import { asking, type JsonRpc, Local, StdioServer, Tools } from "@quotewire/mcp"
import { MemoryStorage } from "@quotewire/storage-memory"
import { DateTime, Deferred, Effect, Fiber, PlatformError, Sink, Stdio, Stream } from "effect"
import { TestClock } from "effect/testing"
import { advanced } from "./support/journey.ts"
import { program } from "./support/program.ts"

type Services = Quotewire.Services | Storage.Storage

/** A program with these capabilities that has completed the handshake with its own service. */
const connected = Effect.fnUntraced(function* (capabilities: object, protocolVersion = "2025-06-18") {
  yield* TestClock.setTime(DateTime.toEpochMillis(DateTime.makeUnsafe("2026-11-20T12:00:00Z")))
  const { organization } = yield* World.World
  const { hangUp, layer, read, write } = yield* program
  const answer = yield* Local.make<Services>({
    tools: Tools.of<Services>(operations),
    version: "1",
    asking,
    key: null,
    docs_url: "https://docs.example/docs"
  })
  const keyless = {
    organization_id: organization.id,
    workspace_id: organization.workspaces.sandbox,
    environment: "sandbox"
  } as const
  const served = yield* Effect.forkChild(
    StdioServer.serve({ answer, wake: Effect.void }).pipe(
      Effect.provide(layer),
      Effect.provideService(Access.KeylessWorkspace, keyless)
    )
  )
  const send = (message: object) => write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
  const call = (id: number, name: string, args: object, meta: object = {}) =>
    send({ id, method: "tools/call", params: { name, arguments: args, _meta: meta } })
  yield* send({ id: 0, method: "initialize", params: { protocolVersion, capabilities, clientInfo: { name: "a" } } })
  yield* read
  return { call, hangUp, read, send, served }
})

const start = {
  line: "renters",
  request_key: "0d9c9b1e-7f51-4c2e-9d3e-0a4f5f1f7c11",
  application: ExampleApplications.smallest.renters
}
const forms = { elicitation: {} }
const world = World.World.layer(MemoryStorage.layer)

describe("a stdio client that shows forms", () => {
  it.effect("gets the disclosure as a form, and its call continues when the person answers", () =>
    Effect.gen(function* () {
      const { call, read, send } = yield* connected(forms)
      yield* call(1, "start_quote_request", start)
      const asked = yield* read
      assert.strictEqual(asked.method, "elicitation/create")
      assert.deepStrictEqual(Object.keys(asked.params.requestedSchema.properties), ["agree"])
      yield* send({ id: asked.id, result: { action: "accept", content: { agree: true } } })
      const started = yield* read
      assert.strictEqual(started.id, 1)
      assert.strictEqual(started.result.structuredContent.quote_consent.asked_by, "elicitation")
    }).pipe(Effect.provide(world))
  )

  it.effect("is told to close a form when the call is cancelled or ten minutes have passed", () =>
    Effect.gen(function* () {
      const { call, read, send } = yield* connected(forms)
      yield* call(1, "start_quote_request", start)
      const first = yield* read
      yield* send({ method: "notifications/cancelled", params: { requestId: 1 } })
      assert.deepInclude(yield* read, { method: "notifications/cancelled" })
      // An answer to a form that was withdrawn starts nothing.
      yield* send({ id: first.id, result: { action: "accept", content: { agree: true } } })
      yield* call(2, "start_quote_request", start)
      const second = yield* read
      assert.notStrictEqual(second.id, first.id)
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual((yield* read).params.requestId, second.id)
      const refused = yield* read
      assert.strictEqual(refused.id, 2)
      assert.strictEqual(refused.result.structuredContent.error.retry_action.type, "none")
    }).pipe(Effect.provide(world))
  )

  it.effect("can disconnect while a form is open, and can refuse to show a form", () =>
    Effect.gen(function* () {
      const { call, hangUp, read, send, served } = yield* connected(forms)
      yield* call(1, "start_quote_request", start)
      yield* send({ id: (yield* read).id, error: { code: -32601, message: "No forms here" } })
      assert.isTrue((yield* read).result.isError)
      yield* call(2, "start_quote_request", start)
      assert.strictEqual((yield* read).method, "elicitation/create")
      yield* hangUp
      assert.isTrue((yield* read).result.isError)
      yield* Fiber.join(served)
    }).pipe(Effect.provide(world))
  )

  for (const [says, capabilities, revision] of [
    ["declares no form support", {}, "2025-06-18"],
    ["speaks a revision without forms", forms, "2025-03-26"]
  ] as const) {
    it.effect(`gets no form if it ${says}`, () =>
      Effect.gen(function* () {
        const { call, read } = yield* connected(capabilities, revision)
        const agreement = { quote_disclosure_version: "2026-09-26", quote_disclosure_accepted: true }
        yield* call(1, "start_quote_request", { ...start, ...agreement })
        assert.strictEqual((yield* read).result.structuredContent.quote_consent.asked_by, "argument")
      }).pipe(Effect.provide(world))
    )
  }
})

/** More calls than can run at once. */
const many = Array.from({ length: 1_100 }, (_, id) => id)

/** A service whose calls show the person a form, except `ping`, which is answered immediately. */
const askingAlways = (begun: Array<JsonRpc.Id | null> = []): StdioServer.Settings<never> => ({
  answer: ({ id, method }, _line, peer) => {
    begun.push(id)
    const form = { message: "Well?", requestedSchema: { type: "object", properties: {}, required: [] } } as const
    return Effect.map(method === "ping" ? Effect.succeed({}) : peer.ask(form), (result) =>
      JSON.stringify({ jsonrpc: "2.0", id, result })
    )
  },
  wake: Effect.void
})
const lineOf = (id: unknown, method: string) => `${JSON.stringify({ jsonrpc: "2.0", id, method })}\n`

describe("many open forms", () => {
  it.effect("do not block the client's other messages", () =>
    Effect.gen(function* () {
      const { hangUp, layer, read, write } = yield* program
      const served = yield* Effect.forkChild(Effect.provide(StdioServer.serve(askingAlways()), layer))
      yield* write(many.map((id) => lineOf(id, "ask")).join("") + lineOf("p", "ping"))
      while ((yield* read).id !== "p");
      yield* hangUp
      yield* Fiber.join(served)
    })
  )

  it.effect("do not keep the service alive once the output pipe breaks", () =>
    Effect.gen(function* () {
      const broken = yield* Deferred.make<void, PlatformError.PlatformError>()
      const begun: Array<JsonRpc.Id | null> = []
      // More responses than the service buffers for a program that reads none.
      const lines = lineOf("form", "ask") + many.map((id) => lineOf(id, "ping")).join("")
      const stdin = Stream.concat(Stream.make(new TextEncoder().encode(lines)), Stream.never)
      const stuck = Sink.fromEffect(Deferred.await(broken))
      const served = yield* Effect.forkChild(
        Effect.provide(StdioServer.serve(askingAlways(begun)), Stdio.layerTest({ stdin, stdout: () => stuck }))
      )
      while (begun.length <= many.length) yield* Effect.yieldNow
      yield* Deferred.fail(broken, PlatformError.systemError({ _tag: "Unknown", module: "Stdio", method: "write" }))
      yield* Fiber.join(served)
    })
  )
})

describe("a waiting call's progress", () => {
  it.effect("is reported every five seconds to a client that asks for progress", () =>
    Effect.gen(function* () {
      const { call, read } = yield* connected({})
      const agreement = { quote_disclosure_version: "2026-09-26", quote_disclosure_accepted: true }
      yield* call(1, "start_quote_request", { ...start, ...agreement })
      const { id, read_handle } = (yield* read).result.structuredContent
      yield* advanced(1)
      yield* call(2, "get_quote_request", { id, read_handle, wait_seconds: 0 })
      const { version } = (yield* read).result.structuredContent.quote_request
      yield* call(3, "get_quote_request", { id, read_handle, since_version: version }, { progressToken: "p" })
      const longPolls = yield* Hints.LongPolls
      while ((yield* longPolls.count) === 0) yield* Effect.yieldNow
      for (const progress of [5, 10]) {
        yield* TestClock.adjust("5 seconds")
        const told = yield* read
        assert.strictEqual(told.method, "notifications/progress")
        assert.deepInclude(told.params, { progressToken: "p", progress })
        assert.match(told.params.message, /^\d+ of \d+ carriers answered$/)
      }
      yield* advanced(60)
      assert.strictEqual((yield* read).id, 3)
      yield* TestClock.adjust("10 seconds")
      yield* call(4, "get_quote_request", { id, read_handle, wait_seconds: 0 })
      assert.strictEqual((yield* read).id, 4)
    }).pipe(Effect.provide(world))
  )
})
