import { assert, describe, it } from "@effect/vitest"
import { Ids } from "@quotewire/core"
import { World } from "@quotewire/core/testing"
import { MessageRoute } from "@quotewire/http"
import { mcp } from "@quotewire/mcp"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect } from "effect"
import manifest from "../package.json" with { type: "json" }

describe("the MCP endpoint of the whole service", () => {
  it.effect("returns the package's version and a session ID for an initialize request", () =>
    Effect.gen(function* () {
      const { keys } = yield* World.World
      const [post] = MessageRoute.make(mcp(), { allowed: [], loopback: false })
      const headers = { authorization: `Bearer ${keys.sandbox.server}`, "content-type": "application/json" }
      const initialize = {
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } }
      }
      const bytes = new TextEncoder().encode(JSON.stringify(initialize))
      const answer = yield* (post ?? assert.fail("no route")).handle({
        request_id: (yield* Ids.Ids).request(),
        method: "POST",
        params: {},
        query: "",
        header: (name) => new Headers(headers).get(name),
        headers,
        address: "",
        docs_url: "",
        public_path: "",
        read: () => Effect.succeed(bytes),
        readRaw: () => Effect.succeed(bytes)
      })
      assert.strictEqual(JSON.parse(String(answer.body)).result.serverInfo.version, manifest.version)
      assert.property(answer.headers, "mcp-session-id")
    }).pipe(Effect.provide(World.World.layer(MemoryStorage.layer)))
  )
})
