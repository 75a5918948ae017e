import { assert, describe, it } from "@effect/vitest"
import { operations, type Quotewire } from "@quotewire/core"
import { World } from "@quotewire/core/testing"
import { asking, Local, StdioServer, Tools } from "@quotewire/mcp"
import { DateTime, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Agents, layer, modern, modernHeaders } from "./support/agents.ts"
import { followed, startOf } from "./support/journey.ts"
import { program } from "./support/program.ts"

const mimeType = "text/html;profile=mcp-app"
const shows = { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [mimeType] } } }
const uri = "ui://quotewire/quotes"

/** Sends a message of 2026-07-28 from a program with these capabilities. */
const ask = Effect.fnUntraced(function* (capabilities: object, method: string, params: object = {}, name?: string) {
  const { send } = yield* Agents
  return yield* send({
    as: "server",
    headers: modernHeaders(method, name),
    message: modern(method, params, capabilities)
  })
})

const pagesIn = (tools: ReadonlyArray<{ readonly name: string; readonly _meta?: object }>) =>
  tools.flatMap(({ _meta, name }) => (_meta === undefined ? [] : [[name, _meta]]))

const expected = ["get_quote_request", "get_quote"].map((name) => [name, { ui: { resourceUri: uri } }])

/** Checks the page and what it may do. */
const isPage = ({ contents }: { readonly contents: ReadonlyArray<Record<string, string>> }) => {
  assert.lengthOf(contents, 1)
  const [page] = contents
  assert.deepInclude(page, { uri, mimeType })
  assert.deepStrictEqual(Object(page)._meta.ui.csp, {
    connectDomains: [],
    resourceDomains: [],
    frameDomains: [],
    baseUriDomains: []
  })
  assert.match(page?.text ?? "", /^<!doctype html>/)
  assert.notMatch(page?.text ?? "", /\b(?:src|href)=|url\(|@import|https?:\/\//)
}

describe("the tools' UI pages", () => {
  it.effect("are offered only to programs that can show UI pages", () =>
    Effect.gen(function* () {
      const offered = (yield* ask(shows, "server/discover")).body.result.capabilities
      assert.deepStrictEqual(offered, { tools: {}, resources: {}, extensions: { "io.modelcontextprotocol/ui": {} } })
      assert.deepStrictEqual(pagesIn((yield* ask(shows, "tools/list")).body.result.tools), expected)
      for (const others of [
        {},
        { extensions: {} },
        { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html"] } } }
      ]) {
        assert.deepStrictEqual((yield* ask(others, "server/discover")).body.result.capabilities, { tools: {} })
        assert.deepStrictEqual(pagesIn((yield* ask(others, "tools/list")).body.result.tools), [])
        const refused = yield* ask(others, "resources/list")
        assert.deepStrictEqual([refused.status, refused.body.error.code], [404, -32601])
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("can be listed and read, and load no other files", () =>
    Effect.gen(function* () {
      const { resources } = (yield* ask(shows, "resources/list")).body.result
      assert.deepStrictEqual(
        resources.map((one: Record<string, unknown>) => [one.uri, one.mimeType]),
        [[uri, mimeType]]
      )
      const read = yield* ask(shows, "resources/read", { uri }, uri)
      isPage(read.body.result)
      assert.deepInclude(read.body.result, { resultType: "complete", cacheScope: "public" })
      assert.deepStrictEqual((yield* ask(shows, "resources/templates/list")).body.result.resourceTemplates, [])
    }).pipe(Effect.provide(layer()))
  )

  it.effect("cannot be read at an unknown URI, or if the header contains a different URI", () =>
    Effect.gen(function* () {
      const { error } = (yield* ask(shows, "resources/read", { uri: "ui://x/y" }, "ui://x/y")).body
      assert.deepStrictEqual([error.code, error.data], [-32602, { uri: "ui://x/y" }])
      for (const name of ["ui://x/y", undefined]) {
        const wrong = yield* ask(shows, "resources/read", { uri }, name)
        assert.deepStrictEqual([wrong.status, wrong.body.error.code], [400, -32020])
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("are available in a session with a handshake", () =>
    Effect.gen(function* () {
      const { send } = yield* Agents
      const handshake = (capabilities: object) => ({
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "a-client", version: "1" } }
      })
      const sessionOf = Effect.fnUntraced(function* (capabilities: object) {
        const { body, headers } = yield* send({ as: "server", message: handshake(capabilities) })
        const session = { "mcp-session-id": headers["mcp-session-id"] ?? "" }
        const list = { jsonrpc: "2.0", id: 2, method: "tools/list" }
        const { tools } = (yield* send({ as: "server", message: list, headers: session })).body.result
        const read = { jsonrpc: "2.0", id: 3, method: "resources/read", params: { uri } }
        return {
          capabilities: body.result.capabilities,
          pages: pagesIn(tools),
          read: (yield* send({ as: "server", message: read, headers: session })).body
        }
      })
      const shown = yield* sessionOf(shows)
      assert.property(shown.capabilities, "resources")
      assert.deepStrictEqual(shown.pages, expected)
      isPage(shown.read.result)
      const others = yield* sessionOf({})
      assert.deepStrictEqual([others.capabilities, others.pages, others.read.error.code], [{ tools: {} }, [], -32601])
    }).pipe(Effect.provide(layer()))
  )

  it.effect("can be read over stdio", () =>
    Effect.gen(function* () {
      const pipe = yield* program
      const answer = yield* Local.make<Quotewire.Services>({
        tools: Tools.of<Quotewire.Services>(operations),
        version: "1",
        asking,
        key: (yield* World.World).keys.sandbox.server,
        docs_url: "https://docs.example"
      })
      const served = yield* Effect.forkChild(
        Effect.provide(StdioServer.serve({ answer, wake: Effect.void }), pipe.layer)
      )
      const say = (id: number, method: string, params: object = {}) =>
        Effect.andThen(pipe.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`), pipe.read)
      const { result } = yield* say(1, "initialize", { protocolVersion: "2025-11-25", capabilities: shows })
      assert.property(result.capabilities, "resources")
      assert.deepStrictEqual(pagesIn((yield* say(2, "tools/list")).result.tools), expected)
      isPage((yield* say(3, "resources/read", { uri })).result)
      yield* pipe.hangUp
      yield* Fiber.join(served)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("receive all quotes even if the model's response contains only changes", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(DateTime.toEpochMillis(DateTime.makeUnsafe("2026-11-20T12:00:00Z")))
      const started = (yield* ask(
        {},
        "tools/call",
        { name: "start_quote_request", arguments: startOf("quotes_ready") },
        "start_quote_request"
      )).body.result.structuredContent
      const reads = yield* followed(started.id, started.version)
      const [before, last] = reads.slice(-2).map(({ structuredContent }) => structuredContent.quote_request)
      const arguments_ = { id: started.id, since_version: before.version, only_changes: true }
      const read = (capabilities: object) =>
        Effect.map(
          ask(capabilities, "tools/call", { name: "get_quote_request", arguments: arguments_ }, "get_quote_request"),
          ({ body }) => body.result
        )
      const shown = yield* read(shows)
      const card = shown._meta["quotewire/card"]
      assert.deepStrictEqual(
        card.quotes.map(({ id }: { id: string }) => id),
        last.quote_ids
      )
      assert.isBelow(shown.structuredContent.quotes.length, card.quotes.length)
      assert.include(card.notices, "This is a sandbox: carriers and prices are fictional.")
      const plain = yield* read({})
      assert.notProperty(plain._meta, "quotewire/card")
      assert.deepStrictEqual(plain.structuredContent, shown.structuredContent)
    }).pipe(Effect.provide(layer()))
  )
})
