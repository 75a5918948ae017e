import { assert, describe, it } from "@effect/vitest"
import { Lines, standardLines } from "@quotewire/core"
import { Effect, Layer } from "effect"
import { bicycle } from "../../../examples/line.ts"
import { Agents, layer } from "./support/agents.ts"

const ask = (method: string, params: object = {}) => ({ jsonrpc: "2.0", id: 1, method, params })

const introduction = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } }

/** What an agent reads before it calls a tool: the instructions, and the tools for each kind of caller. */
const shown = Effect.gen(function* () {
  const { send } = yield* Agents
  const audiences = ["server", "widget", "platform", undefined] as const
  const lists = yield* Effect.forEach(audiences, (as) =>
    send({ ...(as !== undefined && { as }), message: ask("tools/list") })
  )
  const { body } = yield* send({ as: "server", message: ask("initialize", introduction) })
  return JSON.stringify([body.result.instructions, ...lists.map(({ body }) => body.result.tools)])
})

const shownWith = (lines: Lines.LineSet) =>
  Effect.provide(shown, Layer.provide(layer(), Layer.succeed(Lines.Lines, lines)))

describe("a host's insurance lines", () => {
  it.effect("affect only the names and facts of lines in the tools and the instructions", () =>
    Effect.gen(function* () {
      const usual = yield* Effect.provide(shown, layer())
      assert.include(usual, '"enum":["personal_auto","renters","pet"]')
      const four = yield* shownWith(Lines.linesOf([...standardLines, bicycle]))
      assert.include(four, '"enum":["personal_auto","renters","pet","bicycle"]')
      const without = (text: string) =>
        text.replaceAll(
          /,"bicycle"|, bicycle \(bicycles\)|, bicycles \(bicycle\)|"application":\{.*?left out\."\}/g,
          ""
        )
      assert.strictEqual(without(four), without(usual))
    })
  )

  it.effect("appear with their facts in the start tool's declaration", () =>
    Effect.gen(function* () {
      const { send } = yield* Agents
      const { body } = yield* send({ as: "server", message: ask("tools/list") })
      const start = body.result.tools.find(({ name }: { name: string }) => name === "start_quote_request")
      const { description, properties } = start.inputSchema.properties.application
      assert.deepStrictEqual(properties.bicycle.properties.value_usd, { type: "integer" })
      assert.deepStrictEqual(properties.bicycle.required, ["value_usd"])
      assert.deepStrictEqual(properties.deductible_usd, { type: "integer", description: "50, 100, 250" })
      assert.deepStrictEqual(properties.pets.items.properties.species, { type: "string", enum: ["dog", "cat"] })
      assert.strictEqual(properties.pets.items.description, "Needs birth_month, or age_years")
      assert.include(description, "bicycle: home*, bicycle*, deductible_usd")
      assert.include(description, "pet: residence*, pets*")
    }).pipe(
      Effect.provide(Layer.provide(layer(), Layer.succeed(Lines.Lines, Lines.linesOf([...standardLines, bicycle]))))
    )
  )

  it.effect("are described correctly if they have neither a credit disclosure nor fees", () =>
    Effect.gen(function* () {
      const text = yield* shownWith(Lines.linesOf([bicycle]))
      assert.include(text, "no line has a credit disclosure")
      assert.include(text, "It is unknown whether the premium includes the fees.")
      assert.notInclude(text, "renters")
    })
  )
})
