import { assert, describe, it } from "@effect/vitest"
import { Allowance } from "@quotewire/core"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Agents, layer, modern, type Sent, toolsCall } from "./support/agents.ts"

const send = (sent: Sent) => Effect.flatMap(Agents, (agents) => agents.send(sent))
const ping = { jsonrpc: "2.0", id: "p", method: "ping" }
const note = { jsonrpc: "2.0", method: "notifications/initialized" }
const pets = { ...toolsCall("get_capabilities", { line: "pet" }), id: 7 }

describe("a JSON-RPC batch", () => {
  for (const headers of [{}, { "mcp-protocol-version": "2025-03-26" }]) {
    it.effect(`gets a response for each message, in order: ${JSON.stringify(headers)}`, () =>
      Effect.gen(function* () {
        const message = [ping, note, pets, { ...ping, id: null }, { ...ping, id: 8, method: "no/such" }]
        const { body, headers: got, status } = yield* send({ as: "server", headers, message })
        assert.deepStrictEqual([status, got["content-type"]], [200, "application/json"])
        assert.deepStrictEqual(
          body.map(({ id, error }: { id: unknown; error?: { code: number } }) => [id, error?.code ?? null]),
          [
            ["p", null],
            [7, null],
            [null, -32600],
            [8, -32601]
          ]
        )
        assert.strictEqual(body[1].result.structuredContent.capabilities.line, "pet")
      }).pipe(Effect.provide(layer()))
    )
  }

  it.effect("gets a 202 without a body if it contains only notifications", () =>
    Effect.gen(function* () {
      const { body, status } = yield* send({ as: "server", message: [note, note] })
      assert.deepStrictEqual([status, body], [202, null])
    }).pipe(Effect.provide(layer()))
  )

  it.effect("is refused unless it contains one to ten messages", () =>
    Effect.gen(function* () {
      const of = (length: number) => send({ as: "server", message: Array.from({ length }, () => ping) })
      assert.lengthOf((yield* of(10)).body, 10)
      for (const length of [0, 11]) {
        const { body, status } = yield* of(length)
        assert.deepStrictEqual([status, body.id, body.error.code], [400, null, -32600])
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("gets an error for a handshake or for a message of the revision without handshakes", () =>
    Effect.gen(function* () {
      const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-03-26" } }
      const { body } = yield* send({ as: "server", message: [initialize, modern("tools/list"), ping] })
      assert.deepStrictEqual(
        body.map(({ id, error }: { id: unknown; error?: { code: number } }) => [id, error?.code ?? null]),
        [
          [1, -32600],
          ["m-1", -32600],
          ["p", null]
        ]
      )
    }).pipe(Effect.provide(layer()))
  )

  it.effect("is refused in revisions without batches", () =>
    Effect.gen(function* () {
      for (const version of ["2026-07-28", "2025-11-25", "2025-06-18", "2024-11-05"]) {
        const { body, status } = yield* send({ headers: { "mcp-protocol-version": version }, message: [ping] })
        assert.deepStrictEqual([status, body.error.code], [400, -32600], version)
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("is refused as a whole if the key is wrong", () =>
    Effect.gen(function* () {
      const { body, status } = yield* send({ as: { authorization: "Bearer x" }, message: [ping, pets] })
      assert.deepStrictEqual([status, body.error], [401, "authentication_failed"])
    }).pipe(Effect.provide(layer()))
  )

  it.effect("is logged as separate calls, each with its own request ID", () =>
    Effect.gen(function* () {
      yield* send({ as: "server", message: [pets, { ...pets, id: 8 }, ping, { nonsense: true }] })
      yield* TestClock.adjust(1_000)
      const { call } = yield* Agents
      const { requests } = (yield* call("list_api_requests", {}, "server")).structuredContent
      assert.sameMembers(
        requests.map(({ error_code, operation, status }: Record<string, unknown>) =>
          [operation, status, error_code].join(" ")
        ),
        ["get_capabilities 200 ", "get_capabilities 200 ", " 200 ", " 200 invalid_json"]
      )
      assert.strictEqual(new Set(requests.map(({ request_id }: { request_id: string }) => request_id)).size, 4)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("counts toward the limits once for each of its calls", () =>
    Effect.gen(function* () {
      const start = { ...toolsCall("start_quote_request", { line: "renters" }), id: 1 }
      const codesOf = (length: number) =>
        Effect.map(send({ message: Array.from({ length }, () => start) }), ({ body }) =>
          body.map(
            (answer: { result: { structuredContent: { error: { code: string } } } }) =>
              answer.result.structuredContent.error.code
          )
        )
      assert.deepStrictEqual(new Set(yield* codesOf(10)), new Set(["invalid_input"]))
      assert.deepStrictEqual(new Set(yield* codesOf(2)), new Set(["rate_limited"]))
    }).pipe(Effect.provide(layer({ limits: Allowance.standardLimits })))
  )
})
