import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { Hints } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { Effect, Fiber } from "effect"
import { Agents, layer, toolsCall } from "./support/agents.ts"

const megabyte = 1_048_576
setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")
const heapUsed = () => {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

const application = ExampleApplications.smallest.renters
const calls = 20
const emptyLists = Array.from({ length: 40_000 }, () => [])

/** Members that count as absent, as `null` does. */
const nulls = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`n${at}`, null]))

describe("calls that wait for a person", () => {
  it.effect("free the memory of null arguments", () =>
    Effect.gen(function* () {
      const { send } = yield* Agents
      const longPolls = yield* Hints.LongPolls
      const clientInfo = { name: "a-client", version: "9" }
      const handshake = { protocolVersion: "2025-11-25", capabilities: { elicitation: {} }, clientInfo }
      const { headers } = yield* send({ message: { jsonrpc: "2.0", id: 0, method: "initialize", params: handshake } })
      const own = { accept: "text/event-stream", "mcp-session-id": headers["mcp-session-id"] ?? "" }
      const begin = (number: number) => {
        const request_key = `0d9c9b1e-7f51-4c2e-9d3e-0a4f5f1f7d${10 + number}`
        const dwelling = { ...application.dwelling, ...nulls }
        const args = { line: "renters", request_key, application: { ...application, dwelling } }
        const body = JSON.stringify(toolsCall("start_quote_request", args))
        return Effect.forkChild(send({ headers: own, body }))
      }
      const first = yield* begin(0)
      while ((yield* longPolls.count) < 1) yield* Effect.yieldNow
      const before = heapUsed()
      const fibers = yield* Effect.forEach(
        Array.from({ length: calls }, (_, number) => number + 1),
        begin
      )
      while ((yield* longPolls.count) < calls + 1) yield* Effect.yieldNow
      // Each call has 20,000 such members, which take more than a megabyte. The test itself keeps a third of a
      // megabyte for each body.
      assert.isBelow((heapUsed() - before) / megabyte, calls / 2)
      yield* Fiber.interruptAll([first, ...fibers])
    }).pipe(Effect.provide(layer()))
  )

  it.effect("free the memory of unused parts of their messages", () =>
    Effect.gen(function* () {
      const { send } = yield* Agents
      const longPolls = yield* Hints.LongPolls
      const clientInfo = { name: "a-client", version: "9" }
      const handshake = { protocolVersion: "2025-11-25", capabilities: { elicitation: {} }, clientInfo }
      const { headers } = yield* send({ message: { jsonrpc: "2.0", id: 0, method: "initialize", params: handshake } })
      const own = { accept: "text/event-stream", "mcp-session-id": headers["mcp-session-id"] ?? "" }
      const begin = (number: number) => {
        const request_key = `0d9c9b1e-7f51-4c2e-9d3e-0a4f5f1f7c${10 + number}`
        const { params, ...message } = toolsCall("start_quote_request", { line: "renters", request_key, application })
        const _meta = { progressToken: number, empty_lists: emptyLists }
        const unread = [
          { empty_lists: emptyLists },
          { uri: emptyLists, protocolVersion: emptyLists },
          { requestState: "a", inputResponses: emptyLists }
        ][number % 3]
        const body = JSON.stringify({ ...message, params: { ...params, ...unread, _meta } })
        return Effect.forkChild(send({ headers: own, body }))
      }
      const first = yield* begin(0)
      while ((yield* longPolls.count) < 1) yield* Effect.yieldNow
      const before = heapUsed()
      const fibers = yield* Effect.forEach(
        Array.from({ length: calls }, (_, number) => number + 1),
        begin
      )
      while ((yield* longPolls.count) < calls + 1) yield* Effect.yieldNow
      // Each message takes more than three megabytes when it is parsed.
      assert.isBelow((heapUsed() - before) / megabyte, calls)
      yield* Fiber.interruptAll([first, ...fibers])
    }).pipe(Effect.provide(layer()))
  )
})
