import { assert, describe, it } from "@effect/vitest"
import { Lines, standardLines } from "@quotewire/core"
import { Effect, Layer } from "effect"
import { bicycle } from "../../../examples/line.ts"
import { Agents, layer } from "./support/agents.ts"

const ask = (method: string, params: object = {}) => ({ jsonrpc: "2.0", id: 1, method, params })

const introduction = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } }

/** What an agent reads before it calls a tool: the instructions, and the tools of each kind of caller. */
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

describe("the lines of a host", () => {
  it.effect("are in the tools and the instructions, and change nothing else in them", () =>
    Effect.gen(function* () {
      const usual = yield* Effect.provide(shown, layer())
      assert.include(usual, '"enum":["personal_auto","renters","pet"]')
      const four = yield* shownWith(Lines.linesOf([...standardLines, bicycle]))
      assert.include(four, '"enum":["personal_auto","renters","pet","bicycle"]')
      assert.strictEqual(four.replaceAll(/,"bicycle"|, bicycle \(bicycles\)|, bicycles \(bicycle\)/g, ""), usual)
    })
  )

  it.effect("can be without credit disclosure and fees", () =>
    Effect.gen(function* () {
      const text = yield* shownWith(Lines.linesOf([bicycle]))
      assert.include(text, "no line has a credit disclosure")
      assert.include(text, "It is unknown whether the premium includes the fees.")
      assert.notInclude(text, "renters")
    })
  )
})
