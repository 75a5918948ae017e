import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, sep } from "node:path"
import { getMcpConfigForManifest, unpackExtension, v0_3, validateManifest } from "@anthropic-ai/mcpb"
import { assert, describe, it } from "@effect/vitest"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { quoteDisclosure } from "@quotewire/core"
import { ExampleApplications } from "@quotewire/core/testing"
import { Bridge } from "@quotewire/mcp/stdio"
import { Effect, Schema } from "effect"
import { parse } from "yaml"
import { packDesktop } from "../scripts/desktop.ts"
import { type InstallLinks, installLinks } from "../scripts/installLinks.ts"
import { manifest, read, root } from "./support/sources.ts"

/*
 * How agent programs find the service: the registry of MCP servers, a desktop bundle, links, a plugin and an extension.
 * `npm run agents` checks the plugin and the extension with the programs themselves.
 */

const { version } = manifest("packages/cli")
const json = (path: string): unknown => JSON.parse(read(path).text)
const decoded = <A>(schema: Schema.Decoder<A>, path: string): A =>
  Schema.decodeUnknownSync(schema, { onExcessProperty: "error" })(json(path))

/** The start command of a bundle, with its settings as the desktop program passes them. */
const startOf = async (folder: string, userConfig: Record<string, string>) => {
  const manifest = v0_3.McpbManifestSchema.parse(JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8")))
  const config = await getMcpConfigForManifest({
    manifest,
    extensionPath: folder,
    systemDirs: {},
    userConfig,
    pathSeparator: sep
  })
  return config ?? assert.fail("a required setting is missing")
}

const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "quotewire-desktop-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

/** A host for agents; it ends with the scope. */
const host = Effect.gen(function* () {
  const program = join(root, "packages/cli/bin/quotewire.js")
  const child = spawn(process.execPath, [program, "mcp", "--http", "--json"], { stdio: ["ignore", "pipe", "ignore"] })
  yield* Effect.addFinalizer(() => Effect.sync(() => child.kill("SIGKILL")))
  const [bytes] = yield* Effect.promise(() => once(child.stdout, "data"))
  return Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ base_url: Schema.String })))(String(bytes))
})

/** A connected program; it ends with the scope. */
const connected = (transport: StdioClientTransport | StreamableHTTPClientTransport) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client({ name: "a-program", version: "1" })
      await client.connect(transport)
      return client
    }),
    (client) => Effect.promise(() => client.close())
  )

/** The ids in a result of a tool. */
const Ids = Schema.Struct({
  id: Schema.optionalKey(Schema.String),
  read_handle: Schema.optionalKey(Schema.String),
  quote_request: Schema.optionalKey(Schema.Struct({ id: Schema.String }))
})

/** Calls a tool and returns the ids in its result. */
const call = (client: Client, name: string, args: Record<string, unknown>) =>
  Effect.promise(async () => {
    const { structuredContent } = await client.callTool({ name, arguments: args })
    return Schema.decodeUnknownSync(Ids)(structuredContent)
  })

/** Runs the command until it ends. Returns its exit code and its error output. */
const ended = (args: ReadonlyArray<string>, env: Record<string, string>) =>
  Effect.promise(async () => {
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "ignore", "pipe"] })
    let told = ""
    child.stderr.on("data", (bytes) => {
      told += bytes
    })
    const [code] = await once(child, "close")
    return { code, told }
  })

describe("the desktop bundle", () => {
  it("has a manifest that mcpb accepts, with the packages' version", () => {
    assert.isTrue(validateManifest(join(root, "agent-programs/desktop/manifest.json")))
    const { version: packed, user_config } = v0_3.McpbManifestSchema.parse(json("agent-programs/desktop/manifest.json"))
    assert.strictEqual(packed, version)
    assert.isTrue(user_config?.api_key?.sensitive)
  })

  it.live("starts from its own files, and rejects an invalid key or host address", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = join(folder, "quotewire.mcpb")
      yield* Effect.promise(() => packDesktop(file))
      const outputDir = join(folder, "installed")
      assert.isTrue(yield* Effect.promise(() => unpackExtension({ mcpbPath: file, outputDir, silent: true })))
      assert.isFalse(existsSync(join(outputDir, "node_modules")))
      const { base_url } = yield* host
      const { args = [], env = {} } = yield* Effect.promise(() => startOf(outputDir, { base_url }))
      const client = yield* connected(new StdioClientTransport({ command: process.execPath, args, env }))
      const { tools } = yield* Effect.promise(() => client.listTools())
      assert.include(
        tools.map(({ name }) => name),
        "start_quote_request"
      )
      const refusalOf = Effect.fnUntraced(function* (settings: Record<string, string>) {
        const wrong = yield* Effect.promise(() => startOf(outputDir, settings))
        const { code, told } = yield* ended(wrong.args ?? [], wrong.env ?? {})
        assert.strictEqual(code, 2)
        return told
      })
      const ofKey = yield* refusalOf({ base_url, api_key: "secret-key" })
      assert.include(ofKey, '"API key" must be a complete API key')
      assert.notInclude(ofKey, "secret-key")
      const ofAddress = yield* refusalOf({ base_url: `${base_url}/v1/mcp` })
      assert.include(ofAddress, `"Address of the host" must ${Bridge.hostRule}.`)
    })
  )
})

/** The relevant rules of the registry. Its own validator is a Go program, and its schema is not on npm. */
const Text = Schema.String.check(Schema.isMinLength(1))
const Version = Schema.String.check(Schema.isPattern(/^\d+\.\d+\.\d+$/))
const Input = Schema.Struct({
  description: Schema.optionalKey(Text),
  format: Schema.optionalKey(Schema.Literals(["string", "number", "boolean", "filepath"])),
  isRequired: Schema.optionalKey(Schema.Boolean),
  isSecret: Schema.optionalKey(Schema.Boolean)
})
const Variables = Schema.Record(Text, Input)
const Server = Schema.Struct({
  $schema: Schema.Literal("https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"),
  name: Schema.String.check(
    Schema.isPattern(/^[a-z\d][a-z\d.-]*[a-z\d]\/[a-z\d][\w.-]*[a-z\d]$/i),
    Schema.isMaxLength(200)
  ),
  title: Text.check(Schema.isMaxLength(100)),
  description: Text.check(Schema.isMaxLength(100)),
  version: Version,
  packages: Schema.NonEmptyArray(
    Schema.Struct({
      registryType: Schema.Literal("npm"),
      registryBaseUrl: Schema.Literal("https://registry.npmjs.org"),
      identifier: Text,
      version: Version,
      runtimeHint: Schema.Literal("npx"),
      transport: Schema.Struct({ type: Schema.Literal("stdio") }),
      packageArguments: Schema.Array(Schema.Struct({ type: Schema.Literal("positional"), value: Text })),
      environmentVariables: Schema.Array(Schema.Struct({ name: Text, ...Input.fields }))
    })
  ),
  remotes: Schema.Array(
    Schema.Struct({
      type: Schema.Literal("streamable-http"),
      url: Schema.String.check(Schema.isPattern(/^https:\/\/\S+$/)),
      variables: Variables,
      headers: Schema.Array(Schema.Struct({ name: Text, value: Text, variables: Variables, ...Input.fields }))
    })
  )
})

/** A server that a link adds to a program. */
const Target = Schema.Struct({
  name: Schema.String,
  url: Schema.String,
  type: Schema.optionalKey(Schema.Literal("http"))
})

/** The servers that links add, parsed according to the programs' documentation. */
const targetsOf = ({ cursor, cursor_web, vscode, vscode_web }: InstallLinks): ReadonlyArray<typeof Target.Type> => {
  const start = "vscode:mcp/install?"
  assert.isTrue(vscode.startsWith(start))
  const read = (link: string, begin: string, decode: (config: string) => string) => {
    const { href, searchParams } = new URL(link)
    assert.isTrue(href.startsWith(`${begin}?`), href)
    return { name: searchParams.get("name"), ...JSON.parse(decode(searchParams.get("config") ?? "")) }
  }
  return [
    read(cursor, "cursor://anysphere.cursor-deeplink/mcp/install", atob),
    read(cursor_web, "https://cursor.com/en/install-mcp", atob),
    JSON.parse(decodeURIComponent(vscode.slice(start.length))),
    read(vscode_web, "https://insiders.vscode.dev/redirect/mcp/install", (config) => config)
  ].map((target) => Schema.decodeUnknownSync(Target, { onExcessProperty: "error" })(target))
}

describe("the entry for the MCP server registry", () => {
  const server = decoded(Server, "packages/cli/server.json")

  it("contains the package and its version, and matches the package's mcpName", () => {
    assert.strictEqual(server.version, version)
    assert.deepStrictEqual(
      server.packages.map(({ identifier, version }) => [identifier, version]),
      [["@quotewire/cli", version]]
    )
    assert.strictEqual(
      Object.entries(json("packages/cli/package.json") ?? {}).find(([name]) => name === "mcpName")?.[1],
      server.name
    )
  })

  it("declares every variable in its templates, and marks keys as secrets", () => {
    for (const { headers, url, variables } of server.remotes) {
      for (const [template, declared] of [
        [url, variables] as const,
        ...headers.map((h) => [h.value, h.variables] as const)
      ]) {
        const named = Array.from(template.matchAll(/\{(\w+)\}/g), ([, name]) => name)
        assert.sameMembers(named, Object.keys(declared))
      }
      assert.isTrue(headers.every(({ isSecret }) => isSecret))
    }
    const key = server.packages[0].environmentVariables.find(({ name }) => name === "QUOTEWIRE_API_KEY")
    assert.isTrue(key?.isSecret)
  })

  it.live("starts a command that reaches the same host as the remote entry and the install links", () =>
    Effect.gen(function* () {
      const { base_url } = yield* host
      const [{ environmentVariables, packageArguments }] = server.packages
      const args = [join(root, "packages/cli/bin/quotewire.js"), ...packageArguments.map(({ value }) => value)]
      const [address = "", key = ""] = environmentVariables.map(({ name }) => name)
      const started = yield* connected(
        new StdioClientTransport({ command: process.execPath, args, env: { [address]: base_url } })
      )
      const { id, read_handle } = yield* call(started, "start_quote_request", {
        line: "renters",
        request_key: randomUUID(),
        application: ExampleApplications.smallest.renters,
        quote_disclosure_version: quoteDisclosure.version,
        quote_disclosure_accepted: true
      })
      const remotes = server.remotes.map(({ url }) => url.replace("https://{host}", base_url))
      for (const url of [...targetsOf(installLinks(base_url)).map(({ url }) => url), ...remotes]) {
        const client = yield* connected(new StreamableHTTPClientTransport(new URL(url)))
        const found = yield* call(client, "get_quote_request", { id, read_handle, wait_seconds: 0 })
        assert.strictEqual(found.quote_request?.id, id, url)
      }
      const wrong = yield* ended(args, { [address]: base_url, [key]: "secret-key" })
      assert.strictEqual(wrong.code, 2)
      assert.include(wrong.told, "QUOTEWIRE_API_KEY")
      assert.notInclude(wrong.told, "secret-key")
    })
  )
})

describe("the Claude Code plugin and the Gemini extension", () => {
  const server = {
    command: "npx",
    args: ["-y", `--package=@quotewire/cli@${version}`, "quotewire", "mcp"]
  }
  const Named = Schema.Struct({ name: Schema.String, version: Schema.String })
  const Servers = Schema.Struct({
    mcpServers: Schema.Struct({
      quotewire: Schema.Struct({ command: Schema.String, args: Schema.Array(Schema.String) })
    })
  })
  const of = <A>(schema: Schema.Decoder<A>, path: string) => Schema.decodeUnknownSync(schema)(json(path))

  it("have the packages' version, and start the command in that version", () => {
    for (const path of ["claude-code/.claude-plugin/plugin.json", "gemini/gemini-extension.json"]) {
      assert.deepStrictEqual(of(Named, `agent-programs/${path}`), { name: "quotewire", version: version ?? "" })
    }
    for (const path of ["claude-code/.mcp.json", "gemini/gemini-extension.json"]) {
      assert.deepStrictEqual(of(Servers, `agent-programs/${path}`).mcpServers.quotewire, server)
    }
  })

  it("include a plugin.json in the folder that the marketplace lists", () => {
    const Marketplace = Schema.Struct({
      plugins: Schema.NonEmptyArray(Schema.Struct({ name: Schema.String, source: Schema.String }))
    })
    for (const { name, source } of of(Marketplace, "agent-programs/.claude-plugin/marketplace.json").plugins) {
      assert.strictEqual(of(Named, join("agent-programs", source, ".claude-plugin/plugin.json")).name, name)
    }
  })

  it("give models the same instructions", () => {
    const { text } = read("agent-programs/claude-code/skills/quote-insurance/SKILL.md")
    const [, head = "", body = ""] = /^---\n([\s\S]*?)\n---\n\n([\s\S]*)$/.exec(text) ?? []
    const Frontmatter = Schema.Struct({
      name: Schema.Literal("quote-insurance"),
      description: Text.check(Schema.isMaxLength(1024))
    })
    Schema.decodeUnknownSync(Frontmatter, { onExcessProperty: "error" })(parse(head))
    assert.strictEqual(body, read("agent-programs/gemini/GEMINI.md").text)
  })
})

describe("an install link for an agent program", () => {
  it("contains the endpoint's address and, for VS Code, the server type", () => {
    const name = "quotewire"
    const url = "https://shop.example/insurance/v1/mcp"
    assert.deepStrictEqual(targetsOf(installLinks("https://shop.example/insurance")), [
      { name, url },
      { name, url },
      { name, url, type: "http" },
      { name, url, type: "http" }
    ])
  })

  it.live("is not printed for an invalid host address", () =>
    Effect.gen(function* () {
      const script = join(root, "scripts/installLinks.ts")
      const { code, told } = yield* ended([script, "https://shop.example/v1/mcp"], {})
      assert.deepStrictEqual([code, told], [2, `The address must ${Bridge.hostRule}.\n`])
    })
  )
})
