import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it, vi } from "@effect/vitest"
import { Lines, operations } from "@quotewire/core"
import { World } from "@quotewire/core/testing"
import { FirstCall } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import { manifestOf } from "../packages/cli/src/create/Manifest.ts"
import { packages, read, root, type Source, sources } from "./support/sources.ts"

/*
 * Tests the claims of the documentation: runs programs, requests prices and follows links.
 */

const readme = read("README.md")
const examples = sources("examples", ".ts")
const guides = sources("docs", ".md")
const texts: ReadonlyArray<Source> = [
  readme,
  ...guides,
  read("bench/README.md"),
  read("bench/costs.md"),
  read("examples/carriers/README.md"),
  ...["ARCHITECTURE", "CONTRIBUTING", "CHANGELOG"].map((name) => read(`${name}.md`)),
  ...packages
    .map((name) => `packages/${name}/README.md`)
    .filter((path) => existsSync(join(root, path)))
    .map(read)
]

const blocksOf = (source: Source, language: string): ReadonlyArray<string> =>
  Array.from(
    source.text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm")),
    ([, block = ""]) => block
  )

/** Matches the beginning of a line in the service's own log. */
const logged = /^\[\d\d:\d\d:\d\d\.\d{3}\] /

/** Runs an example and returns the lines that it prints itself. */
const run = async (example: () => Promise<unknown>): Promise<ReadonlyArray<string>> => {
  const lines: Array<string> = []
  const log = vi.spyOn(console, "log").mockImplementation((...parts) => {
    lines.push(parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join(" "))
  })
  try {
    await example()
  } finally {
    log.mockRestore()
  }
  return lines.filter((line) => !logged.test(line))
}

describe("examples", () => {
  it("embed.ts prints the three prices for an apartment in New York", async () => {
    assert.deepStrictEqual(await run(() => import("../examples/embed.ts")), [
      'Lanternway Renters (sandbox) {"amount_minor":16604,"currency":"USD"} 12',
      'Harborline Mutual (sandbox) {"amount_minor":20079,"currency":"USD"} 12',
      'Brightstoop Home (sandbox) {"amount_minor":18842,"currency":"USD"} 12'
    ])
  })

  it("plain.ts asks for missing facts, and distinguishes event types", async () => {
    assert.deepStrictEqual(await run(() => import("../examples/plain.ts")), [
      "ask for application.dwelling.address.state",
      "ask for application.dwelling.address.zip",
      "3 quotes",
      "a quote 1",
      "a quote 1",
      "a quote 1",
      "the end"
    ])
  })

  it("consume.ts gets an event for each of the three quotes", async () => {
    assert.deepStrictEqual(await run(() => import("../examples/consume.ts")), [
      'Lanternway Renters (sandbox) {"amount_minor":16604,"currency":"USD"} attempt 1',
      'Harborline Mutual (sandbox) {"amount_minor":20079,"currency":"USD"} attempt 1',
      'Brightstoop Home (sandbox) {"amount_minor":18842,"currency":"USD"} attempt 1'
    ])
  })

  it("carrier.ts prints the price of the carrier that it defines", async () => {
    assert.deepStrictEqual(await run(() => import("../examples/carrier.ts")), [
      'One Price Mutual {"amount_minor":18000,"currency":"USD"}'
    ])
  })

  it("carrier-api.ts prints the price that its carrier returns over HTTP", async () => {
    assert.deepStrictEqual(await run(() => import("../examples/carrier-api.ts")), [
      'Acme Mutual {"amount_minor":18900,"currency":"USD"}'
    ])
  })

  it("rate-plan.ts prints the price of its plan's second example", async () => {
    assert.deepStrictEqual(await run(() => import("../examples/rate-plan.ts")), [
      'Example Mutual 12-month renters {"amount_minor":26671,"currency":"USD"}'
    ])
  })

  it("bicycle.ts prints the prices of the line that it defines, in sandbox and live", async () => {
    assert.deepStrictEqual(await run(() => import("../examples/bicycle.ts")), [
      'sandbox Spoke Mutual {"amount_minor":11270,"currency":"USD"}',
      'live Wheelhouse {"amount_minor":12000,"currency":"USD"}'
    ])
  })

  it("http.ts serves the API, calls it and stops", async () => {
    assert.deepStrictEqual(await run(() => import("../examples/http.ts")), ["200 2026-09-26"])
  })

  it("connect.ts calls a host, waits for quotes, reads events, and handles a refusal", async () => {
    assert.deepStrictEqual(await run(() => import("../examples/connect.ts")), [
      "completed",
      'Lanternway Renters (sandbox) {"amount_minor":16604,"currency":"USD"}',
      'Harborline Mutual (sandbox) {"amount_minor":20079,"currency":"USD"}',
      'Brightstoop Home (sandbox) {"amount_minor":18842,"currency":"USD"}',
      "quote_request.queued 1",
      "quote_request.updated 2",
      "quote.created 1",
      "quote_request.updated 3",
      "quote.created 1",
      "quote_request.updated 4",
      "quote.created 1",
      "quote_request.completed 5",
      "not_found none"
    ])
  })

  it("agents.ts mounts the MCP endpoint", async () => {
    assert.deepStrictEqual(await run(() => import("../examples/agents.ts")), ["401"])
  })

  it("oauth.ts tells a caller without a token where to sign in", async () => {
    assert.deepStrictEqual(await run(() => import("../examples/oauth.ts")), [
      '401 Bearer scope="quotes", resource_metadata="https://shop.example/insurance/.well-known/oauth-protected-resource"'
    ])
  })

  it("revisions.ts starts in an older revision, and reads the feed in both revisions", async () => {
    assert.deepStrictEqual(await run(() => import("../examples/revisions.ts")), [
      "202 2026-09-26",
      "2027-01-15 id type occurred_at environment line resource",
      "2026-09-26 id type occurred_at environment product resource"
    ])
  })

  it("operators.ts finds quote requests, and the audit log shows the operator", async () => {
    assert.deepStrictEqual(await run(() => import("../examples/operators.ts")), [
      "read, write",
      "ended without a quote: 0",
      "Support desk: find_quote_requests succeeded"
    ])
  })

  it("erase.ts erases requests that were started with a receipt", async () => {
    assert.deepStrictEqual(await run(() => import("../examples/erase.ts")), [
      "to erase: 1",
      "erased: 2",
      "erased while in progress",
      "erased while in progress",
      "failed consent_withdrawn"
    ])
  })

  it("sandbox.ts sees a price increase and reads its events in the feed", async () => {
    assert.deepStrictEqual(await run(() => import("../examples/sandbox.ts")), [
      "sbx_lanternway 2 price_updated",
      "sbx_harborline 1 offered",
      "sbx_brightstoop 1 offered",
      "quote_request.queued 1",
      "quote_request.updated 2",
      "quote.created 1",
      "quote_request.updated 3",
      "quote.created 1",
      "quote_request.updated 4",
      "quote.created 1",
      "quote_request.completed 5",
      "quote.updated 2"
    ])
  })
})

describe("the README", () => {
  it("shows examples/embed.ts unchanged", () => {
    assert.include(readme.text, `\`\`\`ts\n${read("examples/embed.ts").text}\`\`\``)
  })

  it("shows the same first call that a sandbox prints", () => {
    const bodyOf = (text: string) => JSON.parse(/\{\n {2}"line"[\s\S]*?\n\}(?=')/.exec(text)?.[0] ?? assert.fail(text))
    const lines = Lines.standard
    assert.deepStrictEqual(bodyOf(FirstCall.text("$QUOTEWIRE", "$KEY", lines)), bodyOf(readme.text))
  })

  it.effect("states the correct prices for its first call", () =>
    Effect.gen(function* () {
      const [body = ""] = /\{\n {2}"line"[\s\S]*?\n\}(?=')/.exec(readme.text) ?? []
      const promised = Array.from(
        readme.text.matchAll(/^\| `(sbx_\w+)` +\| +(\d+) \| +(\d+) months +\|$/gm),
        ([, ...row]) => row.join(" ")
      )
      yield* TestClock.setTime(DateTime.toEpochMillis(DateTime.makeUnsafe("2026-11-20T12:00:00Z")))
      const quotes = yield* Effect.gen(function* () {
        const { call } = yield* World.World
        const operation = <Name extends (typeof operations)[number]["name"]>(name: Name) =>
          operations.find((one): one is Extract<typeof one, { name: Name }> => one.name === name) ?? assert.fail(name)
        const { id } = yield* call(operation("start_quote_request"), JSON.parse(body))
        yield* call(operation("advance_time"), { seconds: 60 })
        return (yield* call(operation("get_quote_request"), { id })).quotes
      }).pipe(Effect.provide(World.World.layer(MemoryStorage.layer)))
      assert.deepStrictEqual(
        quotes.map(({ source, price }) => `${source.carrier.id} ${price.premium?.amount_minor} ${price.term_months}`),
        promised
      )
      assert.strictEqual(promised.length, 5)
    })
  )
})

/** A text without indentation, because an excerpt in a guide may be indented in its program. */
const flush = (text: string): string => text.replaceAll(/^ +/gm, "").trim()

describe("the documentation", () => {
  it("shows only TypeScript that also runs in an example or a test", () => {
    const programs = [...examples, read("packages/storage-memory/test/contract.test.ts")]
    const blocks = [readme, ...guides].flatMap((source) =>
      blocksOf(source, "ts").map((block) => ({ path: source.path, block }))
    )
    assert.isAtLeast(blocks.length, 5)
    for (const { path, block } of blocks) {
      assert.isTrue(
        programs.some(({ text }) => flush(text).includes(flush(block))),
        `${path} shows what no program runs:\n${block}`
      )
    }
  })

  it("shows only rate plan JSON that is part of examples/rate-plan.json", () => {
    const plan = flush(read("examples/rate-plan.json").text)
    const blocks = blocksOf(read("docs/guides/rate-plans.md"), "json")
    assert.isAtLeast(blocks.length, 5)
    for (const block of blocks) assert.include(plan, flush(block))
  })

  it("has no broken links", () => {
    const links = texts.flatMap(({ path, text }) =>
      Array.from(text.matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g), ([, target = ""]) => ({ path, target }))
    )
    assert.isAtLeast(links.length, 10)
    for (const { path, target } of links) {
      assert.isTrue(existsSync(join(root, dirname(path), target)), `${path} links to ${target}`)
    }
  })

  it("uses npx node in every command that runs a repository script", () => {
    const starts = texts.flatMap(({ path, text }) =>
      Array.from(text.matchAll(/(?:\w+ )?\bnode (?=[\w/]+\/\w+\.ts\b)([\w/]+\.ts)/g), ([start, file = ""]) => ({
        path,
        start,
        file
      }))
    )
    assert.isAtLeast(starts.length, 10)
    for (const { file, path, start } of starts) {
      assert.strictEqual(start, `npx node ${file}`, path)
      assert.isTrue(existsSync(join(root, file)), `${path} starts ${file}`)
    }
  })

  it("mentions only npm scripts that exist", () => {
    const { scripts } = JSON.parse(read("package.json").text)
    const names = texts.flatMap(({ path, text }) =>
      Array.from(text.matchAll(/\bnpm (?:run ([\w:-]+)|(start|test)\b)/g), ([, script, short]) => ({
        path,
        name: script ?? short ?? ""
      }))
    )
    assert.isAtLeast(names.length, 4)
    // Pages about `quotewire create` name the scripts of the projects that it writes.
    const choices = { place: "next", carrier: "json", line: true, receiver: true, docker: true } as const
    const all = { ...scripts, ...manifestOf("app", choices, "0.1.0").scripts }
    for (const { path, name } of names) assert.property(all, name, path)
  })
})
