import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import { Agents, layer, modern, modernHeaders } from "./support/agents.ts"
import { measured } from "./support/journey.ts"

describe("the text that a model reads", () => {
  it.effect("stays under 3,000 tokens for keyless tools, 6,000 for tools with a key, and 8,000 for a journey", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(DateTime.toEpochMillis(DateTime.makeUnsafe("2026-11-20T12:00:00Z")))
      const { journey, lists } = yield* measured
      assert.isBelow(lists.keyless, 3_000)
      assert.isBelow(lists.server, 6_000)
      assert.isAtLeast(journey.length, 9)
      assert.isBelow(
        journey.reduce((sum, { structured }) => sum + structured, 0),
        8_000
      )
    }).pipe(Effect.provide(layer()))
  )
})

/** A declaration as Codex measures it: without descriptions. */
const withoutDescriptions = (schema: object): string =>
  JSON.stringify(schema, (key, value) => (key === "description" && typeof value === "string" ? undefined : value))

describe("the start tool's declaration", () => {
  it.effect("stays within Codex's 5,000-byte limit for callers without a key", () =>
    Effect.gen(function* () {
      const { send } = yield* Agents
      for (const sent of [
        { message: { jsonrpc: "2.0", id: 1, method: "tools/list" } },
        { headers: modernHeaders("tools/list"), message: modern("tools/list", {}, { elicitation: { form: {} } }) }
      ]) {
        const { body } = yield* send(sent)
        const start = body.result.tools.find(({ name }: { name: string }) => name === "start_quote_request")
        assert.isAtMost(withoutDescriptions(start.inputSchema).length, 5_000)
        assert.isBelow(JSON.stringify(body.result.tools).length / 4, 3_000)
      }
    }).pipe(Effect.provide(layer()))
  )

  it.effect("contains no format keyword that Gemini could reject", () =>
    Effect.gen(function* () {
      const { send } = yield* Agents
      for (const as of ["server", "platform"] as const) {
        const { body } = yield* send({ as, message: { jsonrpc: "2.0", id: 1, method: "tools/list" } })
        const start = body.result.tools.find(({ name }: { name: string }) => name === "start_quote_request")
        assert.notInclude(JSON.stringify(start.inputSchema), '"format":')
        assert.include(start.inputSchema.properties.application.description, "YYYY-MM-DD")
      }
    }).pipe(Effect.provide(layer()))
  )
})
