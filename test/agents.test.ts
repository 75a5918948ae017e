import { existsSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import { clients } from "../agents/clients.ts"
import * as Kept from "../agents/Kept.ts"
import type { Tool } from "../agents/model/Conversation.ts"
import * as Script from "../agents/model/Script.ts"
import * as Report from "../agents/Report.ts"
import { Agents, layer } from "../packages/mcp/test/support/agents.ts"
import { advanced, callKeyless } from "../packages/mcp/test/support/journey.ts"
import { read, root } from "./support/sources.ts"

/*
 * The parts of `npm run agents` that can be tested without its clients: the script, played on the endpoint itself, and
 * the pages that the command writes.
 */

/** The tools as keyless callers see them. */
const listed = Effect.gen(function* () {
  const { send } = yield* Agents
  const { body } = yield* send({ message: { jsonrpc: "2.0", id: 1, method: "tools/list" } })
  return body.result.tools.map(
    ({ description, inputSchema, name }: { name: string; description: string; inputSchema: unknown }): Tool => ({
      name,
      description,
      parameters: inputSchema,
      strict: false,
      namespace: null
    })
  )
})

/**
 * Plays the script. `told` selects what the model reads of a result. Returns the model's last text and everything that
 * it has read.
 */
const played = Effect.fnUntraced(function* (told: (result: Effect.Success<ReturnType<typeof callKeyless>>) => string) {
  yield* TestClock.setTime(DateTime.toEpochMillis(DateTime.makeUnsafe("2026-11-20T12:00:00Z")))
  const tools = yield* listed
  const results: Array<string> = []
  for (;;) {
    const turn = Script.next({ tools, results, search: null, stream: false, previous: null })
    if (turn._tag === "text") return { said: turn.text, results }
    if (Script.waits(turn)) yield* advanced(20)
    results.push(told(yield* callKeyless(turn.call.name, turn.call.args)))
  }
})

const reads = {
  texts: ({ content }: { content: ReadonlyArray<{ text: string }> }) => content.map(({ text }) => text).join("\n"),
  structuredContent: ({ structuredContent }: { structuredContent: object }) => JSON.stringify(structuredContent)
}

describe("a scripted model that reads only tool results", () => {
  it.effect.each(["texts", "structuredContent"] as const)(
    "gets a quote, starting from a line's capabilities (%s)",
    (part) =>
      Effect.gen(function* () {
        const { results, said } = yield* played(reads[part])
        assert.match(said, /^Done: \$/)
        assert.isAtLeast(results.length, 5)
      }).pipe(Effect.provide(layer()))
  )
})

describe("a client's copy of a tool declaration", () => {
  const fact = { type: "object", properties: { sex: { type: "string", enum: ["male", "female"] } }, required: ["sex"] }
  const declared = { type: "object", properties: { pets: { type: "array", items: fact } }, required: ["pets"] }

  it("counts as complete if the declaration is unchanged, even with references", () => {
    const everything = { facts: [2, 2], required: "kept", values: [1, 1], unions: [0, 0] }
    assert.deepStrictEqual<object>(Kept.compare(declared, declared), everything)
    const referring = {
      ...declared,
      properties: { pets: { type: "array", items: { $ref: "#/$defs/pet" } } },
      $defs: { pet: fact }
    }
    assert.deepStrictEqual<object>(Kept.compare(declared, referring), everything)
  })

  it("counts as incomplete if the client drops an object's properties", () => {
    const emptied = { ...declared, properties: { pets: { type: "array", items: {} } } }
    assert.deepStrictEqual<object>(Kept.compare(declared, emptied), {
      facts: [1, 2],
      required: "lost",
      values: [0, 1],
      unions: [0, 0]
    })
  })
})

describe("the pages that npm run agents writes", () => {
  it("list every client with the versions that the client's folder installs", () => {
    const { text } = read("docs/reference/agents.md")
    for (const { folder, program, title } of clients) {
      assert.include(text, `| ${title} `)
      const { dependencies } = JSON.parse(read(`agents/${folder}/package.json`).text)
      const versions = title.match(/\d+\.\d+\.\d+/g) ?? []
      assert.isNotEmpty(versions, title)
      for (const version of versions) assert.include(Object.values(dependencies), version, title)
      assert.isTrue(existsSync(join(root, "agents", folder, program)), title)
    }
  })

  it.effect("show the current text of the tools", () =>
    Effect.gen(function* () {
      const page = plain(read("docs/guides/what-a-model-sees.md").text)
      const { results } = yield* played(reads.texts)
      const [capabilities, refused, started] = results
      for (const result of [capabilities, refused, started, results.at(-2), results.at(-1)]) {
        const [summary = ""] = Report.normalized(result ?? "").split("\n{")
        assert.isNotEmpty(summary)
        assert.include(page, plain(summary).slice(0, 400))
      }
    }).pipe(Effect.provide(layer()))
  )
})

/** A text without line breaks and escaped quotation marks, and with identical prices, because they change with the date. */
const plain = (text: string): string =>
  text
    .replaceAll(/\s/g, "")
    .replaceAll("\\n", "")
    .replaceAll(/\\+"/g, '"')
    .replaceAll(/\$[\d,]+\.\d\d/g, "$0.00")
