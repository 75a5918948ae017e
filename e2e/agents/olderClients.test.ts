import { assert, layer } from "@effect/vitest"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { ExampleApplications } from "@quotewire/core/testing"
import { Effect, Schema } from "effect"
import { methodsOf } from "./clients.ts"
import { AgentHosts, agentHosts } from "./host.ts"

/** What a client sent: the revision in its header, if any. */
type Sent = Array<string | null>

/** Makes an official client request a revision older than its newest, and records the headers that it then sends. */
const asking = (protocolVersion: string, sent: Sent) => (url: string | URL, init?: RequestInit) => {
  sent.push(new Headers(init?.headers).get("mcp-protocol-version"))
  const body: unknown = typeof init?.body === "string" ? JSON.parse(init.body) : null
  const isHandshake = typeof body === "object" && body !== null && "method" in body && body.method === "initialize"
  if (!isHandshake || !("params" in body) || typeof body.params !== "object") return fetch(url, init)
  return fetch(url, { ...init, body: JSON.stringify({ ...body, params: { ...body.params, protocolVersion } }) })
}

/** What older programs read from a result: its text. */
const Result = Schema.Struct({
  content: Schema.NonEmptyArray(Schema.Struct({ text: Schema.String })),
  isError: Schema.Boolean
})

const info = { name: "an-older-agent", version: "1.0.0" }

const programs = {
  "1.32.2": async (url: URL, options: ConstructorParameters<typeof OlderTransport>[1]) => {
    const client = new OlderClient(info)
    const transport = new OlderTransport(url, options)
    await client.connect(transport)
    return { revision: transport.protocolVersion, ...methodsOf(client) }
  },
  "2.4.0": async (url: URL, options: ConstructorParameters<typeof StreamableHTTPClientTransport>[1]) => {
    const client = new Client(info, { versionNegotiation: { mode: "legacy" } })
    const transport = new StreamableHTTPClientTransport(url, options)
    await client.connect(transport)
    return { revision: transport.protocolVersion, ...methodsOf(client) }
  }
} as const

const cases = (["1.32.2", "2.4.0"] as const).flatMap((program) =>
  (["2025-03-26", "2024-11-05"] as const).map((revision) => ({ program, revision }))
)

layer(agentHosts(), { excludeTestServices: true })("official clients of older revisions", (it) => {
  it.effect.each(cases)("a client negotiates $revision and can call tools: $program", ({ program, revision }) =>
    Effect.gen(function* () {
      const { base_urls, keys } = yield* AgentHosts
      const sent: Sent = []
      const requestInit = { headers: { authorization: `Bearer ${keys.server}` } }
      const client = yield* Effect.acquireRelease(
        Effect.promise(() =>
          programs[program](new URL(`${base_urls[0]}/v1/mcp/`), { fetch: asking(revision, sent), requestInit })
        ),
        ({ close }) => Effect.promise(close)
      )
      assert.strictEqual(client.revision, revision)
      assert.include(yield* Effect.promise(client.tools), "start_quote_request")
      const started = yield* Effect.promise(() =>
        client.call("start_quote_request", {
          line: "renters",
          request_key: `${program} ${revision}`.replace(" ", "-"),
          consent_receipt_id: "receipt-0001",
          credit_disclosure_receipt_id: null,
          contact_consent: null,
          scenario: null,
          application: JSON.stringify(ExampleApplications.smallest.renters)
        })
      )
      const { content, isError } = Schema.decodeUnknownSync(Result)(started)
      assert.isFalse(isError)
      assert.match(content[0].text, /^Quote request qreq_\w+ is in_progress/)
      // The header follows the handshake.
      const [first, ...others] = sent
      assert.deepStrictEqual([first, new Set(others)], [null, new Set([revision])])
    })
  )

  it.effect("a client of an older revision can send a batch of calls", () =>
    Effect.gen(function* () {
      const { base_urls, keys } = yield* AgentHosts
      const call = (id: number, line: string) => ({
        ...{ jsonrpc: "2.0", id, method: "tools/call" },
        params: { name: "get_capabilities", arguments: { line } }
      })
      const answers = yield* Effect.promise(async () => {
        const response = await fetch(`${base_urls[0]}/v1/mcp`, {
          method: "POST",
          headers: { "content-type": "application/json", authorization: `Bearer ${keys.server}` },
          body: JSON.stringify([call(1, "pet"), call(2, "renters")])
        })
        return response.json()
      })
      assert.deepStrictEqual(
        answers.map(({ id, result }: { id: number; result: { structuredContent: { capabilities: object } } }) => [
          id,
          Reflect.get(result.structuredContent.capabilities, "line")
        ]),
        [
          [1, "pet"],
          [2, "renters"]
        ]
      )
    })
  )
})
