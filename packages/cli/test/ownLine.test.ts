import { readFileSync } from "node:fs"
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { host } from "./support/program.ts"

/*
 * A custom line: examples/line.ts as the configuration of `quotewire dev`, called over REST and by an agent.
 */

const nodeModules = fileURLToPath(new URL("../../../node_modules", import.meta.url))
const example = readFileSync(new URL("../../../examples/line.ts", import.meta.url), "utf8")

/** A folder with the example as its configuration. */
const folder = Effect.acquireRelease(
  Effect.promise(async () => {
    const path = await mkdtemp(join(tmpdir(), "quotewire-line-"))
    await symlink(nodeModules, join(path, "node_modules"))
    await writeFile(join(path, "line.ts"), example)
    await writeFile(join(path, "quotewire.config.ts"), 'export { config as default } from "./line.ts"\n')
    return path
  }),
  (path) => Effect.promise(() => rm(path, { recursive: true }))
)

/** A client of the host, over REST and MCP. */
const clientOf = (baseUrl: string, key: string) => {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
  const send = (method: string, path: string, body?: object) =>
    Effect.promise(async () => {
      const response = await fetch(`${baseUrl}${path}`, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) })
      })
      return { status: response.status, body: await response.json() }
    })
  const message = (method: string, params: object) =>
    Effect.map(send("POST", "/v1/mcp", { jsonrpc: "2.0", id: 1, method, params }), ({ body }) => body.result)
  return { send, message, tool: (name: string, args: object) => message("tools/call", { name, arguments: args }) }
}

const started = Effect.gen(function* () {
  const cwd = yield* folder
  const running = yield* host(["dev", "--port", "0", "--json"], {}, cwd)
  const first = running
    .output()
    .split("\n")
    .find((line) => line.startsWith('{"base_url"'))
  const { base_url, keys } = JSON.parse(first ?? "{}")
  return { base_url: String(base_url), keys, client: clientOf(base_url, keys.server) }
})

const application = { home: { state: "NY", zip: "10001" }, bicycle: { value_usd: 1_200, electric: true } }
const start = { line: "bicycle", consent_receipt_id: "receipt-0001", request_key: "first", application }
const premium = { amount_minor: 11_270, currency: "USD" }

interface Named {
  readonly name: string
}

describe("a custom line", () => {
  it.live("is served over REST, from its capabilities to a quote's link", () =>
    Effect.gen(function* () {
      const { client } = yield* started
      // The capabilities list the line's codes, required facts, states and scenarios.
      const { capabilities } = (yield* client.send("GET", "/v1/capabilities?line=bicycle")).body
      assert.deepInclude(capabilities, {
        line: "bicycle",
        coverage_codes: ["theft", "deductible"],
        subject_kinds: ["bicycle"]
      })
      assert.deepStrictEqual(
        capabilities.required_facts.map(({ path }: { readonly path: string }) => path),
        ["home.state", "home.zip", "bicycle.value_usd"]
      )
      assert.deepInclude(capabilities.states, { code: "TX", available: true, carriers: 1 })
      assert.include(capabilities.scenarios, "cannot_start")
      assert.include(capabilities.scenarios, "zero_quotes")

      // A start with wrong facts is refused, and the error names them.
      const refused = yield* client.send("POST", "/v1/quote-requests", {
        ...start,
        application: { home: { state: "NY", zip: "75201" }, bicycle: { value_usd: 1 } }
      })
      assert.strictEqual(refused.status, 422)
      assert.deepStrictEqual(
        refused.body.error.field_errors.map(({ path }: { readonly path: string }) => path),
        ["application.bicycle.value_usd", "application.home.zip"]
      )

      // The request is read until it is completed.
      let { id, status, version } = (yield* client.send("POST", "/v1/quote-requests", start)).body
      while (status === "in_progress") {
        const read = yield* client.send("GET", `/v1/quote-requests/${id}?since_version=${version}`)
        ;({ status, version } = read.body.quote_request)
      }
      const { quote_request, quotes } = (yield* client.send("GET", `/v1/quote-requests/${id}`)).body
      assert.deepInclude(quote_request, { line: "bicycle", status: "completed" })
      assert.lengthOf(quotes, 1)
      assert.deepStrictEqual(quotes[0].price.premium, premium)
      assert.deepStrictEqual(
        quotes[0].evidence.assumptions.map(({ path }: { readonly path: string }) => path),
        ["application.billing_preference", "application.deductible_usd", "application.effective_date"]
      )

      // Events and lists name the line.
      const { events } = (yield* client.send("GET", "/v1/events")).body
      assert.deepStrictEqual([...new Set(events.map(({ line }: { readonly line: string }) => line))], ["bicycle"])
      assert.include(
        events.map(({ type }: { readonly type: string }) => type),
        "quote.created"
      )
      const listed = (yield* client.send("GET", "/v1/quote-requests?line=bicycle")).body
      assert.lengthOf(listed.quote_requests, 1)

      // The quote's link leads to a sandbox page.
      const { url } = quotes[0].next_actions.find(({ type }: { readonly type: string }) => type.startsWith("continue"))
      const clicked = yield* Effect.promise(() => fetch(url))
      assert.strictEqual(clicked.status, 200)
      assert.include(yield* Effect.promise(() => clicked.text()), "This is a sandbox quote")
    })
  )

  it.live("is in the OpenAPI document and the MCP tools, and agents can get quotes for the line", () =>
    Effect.gen(function* () {
      const { client } = yield* started
      const document = (yield* client.send("GET", "/openapi.json")).body
      const names = ["personal_auto", "renters", "pet", "bicycle"]
      const { BicycleApplication, Line, StartInput } = document.components.schemas
      assert.deepStrictEqual(Line.enum, names)
      assert.sameMembers(Object.keys(StartInput.discriminator.mapping), names)
      assert.include(Object.keys(BicycleApplication.properties), "home")

      const { tools } = yield* client.message("tools/list", {})
      const capabilitiesTool = tools.find(({ name }: Named) => name === "get_capabilities")
      assert.deepStrictEqual(capabilitiesTool.inputSchema.properties.line.enum, names)
      assert.include(capabilitiesTool.inputSchema.properties.line.description, "bicycle (bicycles)")
      const { instructions } = yield* client.message("initialize", {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "test", version: "1" }
      })
      assert.include(instructions, "bicycles (bicycle)")

      const wrong = yield* client.tool("start_quote_request", { ...start, application: { ...application, home: {} } })
      assert.strictEqual(wrong.isError, true)
      assert.include(wrong.structuredContent.error.field_errors[0].path, "application.home.state")
      const { structuredContent } = yield* client.tool("start_quote_request", start)
      let read = structuredContent
      while (read.status === "in_progress") {
        const got = yield* client.tool("get_quote_request", { id: structuredContent.id, since_version: read.version })
        read = got.structuredContent.quote_request
      }
      const { quotes } = (yield* client.tool("get_quote_request", { id: structuredContent.id })).structuredContent
      assert.deepStrictEqual(quotes[0].price.premium, premium)
    })
  )
})
