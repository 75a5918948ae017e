import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { ExampleApplications } from "@quotewire/core/testing"
import { Bridge } from "@quotewire/mcp/stdio"
import { Effect } from "effect"
import { runHere } from "./support/inProcess.ts"

// The command is tested as it is shipped, by the official client.
const program = fileURLToPath(new URL("../bin/quotewire.js", import.meta.url))

const key = "sandbox_server_viTthiKYiPOWrDV3OPlgC4aHupZy1lLj4C9VBI"

/** An agent program that started the command. Both end with the scope. */
const agent = (args: ReadonlyArray<string>, env: Record<string, string> = {}) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client({ name: "an-agent", version: "1" }, { versionNegotiation: { mode: "auto" } })
      await client.connect(
        new StdioClientTransport({ command: process.execPath, args: [program, "mcp", ...args], env, stderr: "ignore" })
      )
      const { tools } = await client.listTools()
      return { client, names: tools.map(({ name }) => name) }
    }),
    ({ client }) => Effect.promise(() => client.close())
  )

const capabilitiesOf = (client: Client, line: string) =>
  Effect.promise(async () => JSON.stringify(await client.callTool({ name: "get_capabilities", arguments: { line } })))

/** Runs the command to its end with this standard input. */
const run = (args: ReadonlyArray<string>, input: string) =>
  Effect.promise(async () => {
    const child = spawn(process.execPath, [program, ...args])
    const output = { stdout: "", stderr: "" }
    child.stdout.on("data", (bytes) => {
      output.stdout += bytes
    })
    child.stderr.on("data", (bytes) => {
      output.stderr += bytes
    })
    child.stdin.end(input)
    const [code] = await once(child, "close")
    return { code, ...output }
  })

describe("quotewire mcp", () => {
  it.live("serves a keyless agent in a sandbox of its own", () =>
    Effect.gen(function* () {
      const { client, names } = yield* agent([])
      assert.notInclude(names, "list_quote_requests")
      assert.include(yield* capabilitiesOf(client, "renters"), "quote_disclosure")
    })
  )

  it.live("gives an agent with a sandbox key the tools for that key", () =>
    Effect.gen(function* () {
      const { client, names } = yield* agent([], { QUOTEWIRE_API_KEY: key })
      assert.includeMembers(names, ["list_quote_requests", "send_test_event"])
      assert.notInclude(yield* capabilitiesOf(client, "renters"), "quote_disclosure")
    })
  )

  /** Starts a renters request for a person who is shown forms, and who agrees or declines. */
  const startAt = (client: Pick<Client, "callTool"> | Pick<OlderClient, "callTool">) =>
    Effect.promise(async () => {
      const args = { line: "renters", request_key: randomUUID(), application: ExampleApplications.smallest.renters }
      return { isError: false, ...(await client.callTool({ name: "start_quote_request", arguments: args })) }
    })
  const transport = () =>
    new StdioClientTransport({ command: process.execPath, args: [program, "mcp"], env: {}, stderr: "ignore" })

  it.live("asks the person for consent if the agent program shows forms", () =>
    Effect.gen(function* () {
      const client = new Client({ name: "an-agent", version: "1" }, { capabilities: { elicitation: { form: {} } } })
      let agrees = false
      let asked = 0
      client.setRequestHandler("elicitation/create", async () => {
        asked += 1
        return { action: "accept", content: { agree: agrees } }
      })
      yield* Effect.acquireRelease(
        Effect.promise(() => client.connect(transport())),
        () => Effect.promise(() => client.close())
      )
      assert.deepStrictEqual([(yield* startAt(client)).isError, asked], [true, 1])
      agrees = true
      assert.include(JSON.stringify(yield* startAt(client)), `"asked_by":"elicitation"`)
    })
  )

  /** The 1.x client, with a person who agrees to everything. */
  const withForms = Effect.fnUntraced(function* (args: ReadonlyArray<string>) {
    const client = new OlderClient({ name: "an-agent", version: "1" }, { capabilities: { elicitation: {} } })
    client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { agree: true } }))
    const command = { command: process.execPath, args: [program, "mcp", ...args] }
    yield* Effect.acquireRelease(
      Effect.promise(() => client.connect(new OlderTransport({ ...command, env: {}, stderr: "ignore" }))),
      () => Effect.promise(() => client.close())
    )
    return client
  })

  it.live("asks the person for consent if the client is the official MCP SDK 1.x", () =>
    Effect.gen(function* () {
      assert.include(JSON.stringify(yield* startAt(yield* withForms([]))), `"asked_by":"elicitation"`)
    })
  )

  it.live("forwards calls and forms to a running host", () =>
    Effect.gen(function* () {
      const host = spawn(process.execPath, [program, "mcp", "--http", "--json"])
      yield* Effect.addFinalizer(() => Effect.sync(() => host.kill("SIGKILL")))
      const [bytes] = yield* Effect.promise(() => once(host.stdout, "data"))
      const { base_url } = JSON.parse(String(bytes))
      const { client, names } = yield* agent(["--base-url", base_url])
      assert.include(names, "start_quote_request")
      assert.include(yield* capabilitiesOf(client, "pet"), "quote_disclosure")
      const rest = yield* Effect.promise(() => fetch(`${base_url}/v1/capabilities?line=pet`))
      assert.strictEqual(rest.status, 404)
      const person = yield* withForms(["--base-url", base_url])
      assert.include(JSON.stringify(yield* startAt(person)), `"asked_by":"elicitation"`)
    })
  )

  it.live("answers each message, and exits at the end of its input", () =>
    Effect.gen(function* () {
      const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
      const ended = yield* run(["mcp"], `${ping}nonsense\n`)
      assert.strictEqual(ended.code, 0)
      const answers = ended.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
      assert.sameDeepMembers(
        answers.map(({ error, id }) => [id, error?.code ?? null]),
        [
          [1, null],
          [null, -32700]
        ]
      )
      const unreachable = yield* run(["mcp", "--base-url", "http://127.0.0.1:1"], ping)
      assert.strictEqual(JSON.parse(unreachable.stdout).error.code, -32000)
    })
  )

  it.live("rejects contradictory settings as a usage error", () =>
    Effect.gen(function* () {
      const both = yield* runHere(["mcp", "--http", "--base-url", "http://127.0.0.1:1"])
      assert.deepStrictEqual(both, {
        code: 2,
        stdout: "",
        stderr: "quotewire: --http and --base-url cannot be used together.\n"
      })
    })
  )

  it.live.each(["http://127.0.0.1:1/v1/mcp/", "quotes.example.com"])(
    "rejects an invalid host address, and explains which addresses are valid: %s",
    (address) =>
      Effect.gen(function* () {
        const wrong = yield* runHere(["mcp", "--base-url", address])
        assert.deepStrictEqual([wrong.code, wrong.stdout], [2, ""])
        assert.include(wrong.stderr, `--base-url (or QUOTEWIRE_BASE_URL) must ${Bridge.hostRule}.`)
        assert.include(Bridge.hostRule, "without /v1/mcp")
      })
  )

  it.live("rejects a mistyped key without repeating the key", () =>
    Effect.gen(function* () {
      const wrong = yield* runHere(["mcp"], { QUOTEWIRE_API_KEY: `${key.slice(0, -1)}X` })
      assert.strictEqual(wrong.code, 2)
      assert.include(wrong.stderr, "QUOTEWIRE_API_KEY")
      assert.notInclude(wrong.stderr, key.slice(15, 40))
    })
  )
})
