import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { generateSealKey } from "@quotewire/core"
import { Effect, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { freshDatabase } from "../../../test/support/TestDatabase.ts"
import { load } from "../src/config/ConfigFile.ts"
import { runHere } from "./support/inProcess.ts"
import { host, launch, run } from "./support/program.ts"

const nodeModules = fileURLToPath(new URL("../../../node_modules", import.meta.url))

type Files = Readonly<Record<string, string>>

/** A temporary folder with these files, in which the packages are installed. */
const folder = (files: Files) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const path = await mkdtemp(join(tmpdir(), "quotewire-config-"))
      await symlink(nodeModules, join(path, "node_modules"))
      for (const [name, text] of Object.entries(files)) {
        await mkdir(dirname(join(path, name)), { recursive: true })
        await writeFile(join(path, name), text)
      }
      return path
    }),
    (path) => Effect.promise(() => rm(path, { recursive: true }))
  )

const example = (name: string) => readFileSync(new URL(`../../../examples/host/${name}`, import.meta.url), "utf8")

/** A configuration with a carrier for renters in New York, in both environments. It declines everyone. */
const withAcme: Files = { "acme.ts": example("acme.ts"), "quotewire.config.ts": example("quotewire.config.ts") }

const dev = ["dev", "--port", "0", "--json"]

interface Start {
  readonly files: Files
  readonly args?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
}

/** What the command prints for each of these starts, all of which fail. */
const saidTo = Effect.fnUntraced(function* (starts: ReadonlyArray<Start>) {
  const all = yield* Effect.forEach(starts, ({ args = [], env = {}, files }) =>
    Effect.map(folder(files), (cwd) => ({ args: [...dev, ...args], cwd, env }))
  )
  const script = fileURLToPath(new URL("support/runAll.ts", import.meta.url))
  const { stdout, stderr } = yield* Effect.promise(() => launch([script, JSON.stringify(all)]).ended)
  assert.notStrictEqual(stdout, "", stderr)
  const said: ReadonlyArray<string> = JSON.parse(stdout)
  assert.lengthOf(said, starts.length)
  return said
})

interface CarrierResult {
  readonly carrier: { readonly id: string }
  readonly outcome: string
  readonly message: string | null
}

const ids = (carriers: ReadonlyArray<CarrierResult>) => carriers.map(({ carrier }) => carrier.id)

/** The carriers of a new request, once the custom one has answered. */
const answered = (baseUrl: string, key: string) =>
  Effect.promise(async () => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
    const body = JSON.stringify({
      line: "renters",
      consent_receipt_id: "receipt-0001",
      request_key: "first",
      application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
    })
    const start = await (await fetch(`${baseUrl}/v1/quote-requests`, { method: "POST", headers, body })).json()
    let version: number = start.version
    while (true) {
      const read = await fetch(`${baseUrl}/v1/quote-requests/${start.id}?since_version=${version}`, { headers })
      const { quote_request } = await read.json()
      const carriers: ReadonlyArray<CarrierResult> = quote_request.carriers
      if (carriers.some(({ carrier, outcome }) => carrier.id === "naic:12345" && outcome === "declined"))
        return carriers
      assert.notStrictEqual(quote_request.status, "completed", JSON.stringify(carriers))
      version = quote_request.version
    }
  })

describe("an unusable configuration file", () => {
  const faults: ReadonlyArray<{ fault: string; files: Files; says: string | RegExp }> = [
    {
      fault: "does not compile",
      files: { "quotewire.config.ts": "export default {\n  carriers: [\n  fictional: true\n}" },
      says: /^quotewire: quotewire\.config\.ts:3 does not compile: Expected '.*$/
    },
    {
      fault: "is JavaScript and does not compile",
      files: { "quotewire.config.mjs": "export default {\n  carriers: [],\n  key: 1 secret\n}" },
      says: /^quotewire: quotewire\.config\.mjs:3 does not compile: Unexpected identifier$/
    },
    {
      fault: "holds TypeScript that cannot be stripped",
      files: { "quotewire.config.ts": "\nenum Kind { one }\nexport default {}" },
      says: /^quotewire: quotewire\.config\.ts:2 does not compile: .*enum.*$/
    },
    {
      fault: "imports a file that does not compile",
      files: {
        "quotewire.config.ts": 'import "./carriers/acme.ts"\nexport default {}',
        "carriers/acme.ts": "export const acme =\n"
      },
      says: /^quotewire: carriers\/acme\.ts:1 does not compile: .+$/
    },
    {
      fault: "imports a name that is not exported",
      files: { "quotewire.config.ts": 'import { acme } from "./acme.ts"\nexport default {}', "acme.ts": "export {}" },
      says: /^quotewire: quotewire\.config\.ts:1 does not compile: .*'acme'$/
    },
    {
      fault: "imports what does not exist",
      files: { "quotewire.config.ts": 'import "./acme.ts"\nexport default {}' },
      says: /^quotewire: quotewire\.config\.ts cannot be loaded: Cannot find module '.*acme\.ts' imported from .*$/
    },
    {
      fault: "throws",
      files: {
        "quotewire.config.ts": 'import { key } from "./acme.ts"\nexport default { key: key() }',
        "acme.ts":
          'export const key = () => {\n  throw new TypeError("Set ACME_KEY.", { cause: new Error("It is empty") })\n}'
      },
      says: "acme.ts:2:9 throws while it loads: TypeError: Set ACME_KEY. (It is empty)"
    },
    {
      fault: "throws what is not an error",
      files: { "quotewire.config.ts": "throw { secret: 1 }" },
      says: "quotewire.config.ts throws a value that is not an Error while it loads."
    },
    {
      fault: "throws an error that quotes a secret",
      files: { "quotewire.config.ts": 'export default JSON.parse("secret-1")' },
      says: "quotewire.config.ts:1:21 throws while it loads: SyntaxError: Some text is not valid JSON"
    },
    {
      fault: "throws an error whose cause quotes a secret",
      files: {
        "quotewire.config.ts": `
          const read = (text: string) => {
            try { return JSON.parse(text) } catch (cause) { throw new Error("ACME_KEY is not valid JSON", { cause }) }
          }
          export default read("secret-1")`
      },
      says: /Error: ACME_KEY is not valid JSON \(Some text is not valid JSON\)$/
    },
    {
      fault: "exports nothing",
      files: { "quotewire.config.ts": "const config = {}" },
      says: "quotewire.config.ts must export its configuration: export default defineConfig({ … })"
    },
    {
      fault: "exports its configuration by a name",
      files: { "quotewire.config.ts": "export const config = {}" },
      says: "quotewire.config.ts must export its configuration: export default defineConfig({ … })"
    },
    {
      fault: "exports something else",
      files: { "quotewire.config.ts": 'export default "secret"' },
      says: "quotewire.config.ts: The configuration is not valid: Must be an object, such as the one that defineConfig returns."
    },
    {
      fault: "has one wrong option",
      files: { "quotewire.config.ts": 'export default { fictional_carriers: "secret" }' },
      says: "quotewire.config.ts: The configuration is not valid: fictional_carriers: Must be true or false."
    },
    {
      fault: "has several faults",
      files: {
        ...withAcme,
        "quotewire.config.ts": `
          import { acme } from "./acme.ts"
          const { renters } = acme.lines
          const wrong = { ...acme, lines: { renters: { ...renters, states: ["NY", "secret"] } } }
          export default { carriers: [wrong, acme, { ask: "secret" }] }`
      },
      says: [
        "quotewire.config.ts: The configuration is not valid:",
        "  carriers.0.lines.renters.states.1: Must be a USPS state code or DC, such as NY.",
        "  carriers.1.carrier.id: Must differ from carriers.0.carrier.id.",
        "  carriers.2.carrier.id: This field is required.",
        "  carriers.2.carrier.name: This field is required.",
        "  carriers.2.carrier.registry_ids: This field is required.",
        "  carriers.2.environments: This field is required.",
        "  carriers.2.lines: This field is required.",
        "  carriers.2.handoff_hosts: This field is required.",
        "  carriers.2.ask: Must be a function."
      ].join("\n")
    }
  ]

  it.live("is reported in one message that explains what is wrong and where", () =>
    Effect.gen(function* () {
      const said = yield* saidTo(faults)
      for (const [index, { fault, says }] of faults.entries()) {
        const sentence = said[index] ?? ""
        if (typeof says === "string") assert.strictEqual(sentence, `quotewire: ${says}`, fault)
        else assert.match(sentence, says, fault)
        assert.notInclude(sentence, "secret", fault)
      }
    })
  )

  it.live("causes a usage error, with exit code 2 and nothing on standard output", () =>
    Effect.gen(function* () {
      const ended = yield* run(dev, {}, yield* folder({ "quotewire.config.ts": "export default 1" }))
      assert.deepStrictEqual(ended, {
        code: 2,
        stdout: "",
        stderr:
          "quotewire: quotewire.config.ts: The configuration is not valid: Must be an object, such as the one that defineConfig returns.\n"
      })
    })
  )

  it.live("causes an error that omits the file's name if the file is missing", () =>
    Effect.gen(function* () {
      const missing = [
        { name: "secret.ts", says: "name a file that exists" },
        { name: "secret.json", says: "name a .ts, .mts, .js or .mjs file" },
        { name: ".", says: "name a .ts, .mts, .js or .mjs file" }
      ]
      const said = yield* saidTo(
        missing.flatMap(({ name }) => [
          { files: {}, args: ["--config", name] },
          { files: {}, env: { QUOTEWIRE_CONFIG: name } }
        ])
      )
      for (const [index, sentence] of said.entries()) {
        assert.include(sentence, `quotewire: --config (or QUOTEWIRE_CONFIG) must ${missing[index >> 1]?.says}`)
        assert.notInclude(sentence, "secret")
      }
    })
  )

  it.live("causes an error that suggests JavaScript if Node cannot run TypeScript", () =>
    Effect.gen(function* () {
      const env = { NODE_OPTIONS: "--no-experimental-strip-types" }
      const { code, stderr } = yield* run(dev, env, yield* folder({ "quotewire.config.ts": "export default {}" }))
      assert.strictEqual(code, 2)
      assert.match(stderr, /^quotewire: quotewire\.config\.ts cannot be loaded, .* as a \.mjs file\.\n$/)
    })
  )

  it.live("makes every command fail before the command connects to a database", () =>
    Effect.gen(function* () {
      const cwd = yield* folder({ "quotewire.config.ts": "export default 1" })
      const env = {
        QUOTEWIRE_DATABASE_URL: "postgres://quotewire@127.0.0.1:1/none",
        QUOTEWIRE_SEAL_KEYS: generateSealKey()
      }
      const organization = `org_${"0".repeat(26)}`
      for (const args of [
        ["serve", "--port", "0"],
        ["work", "--base-url", "https://quotes.example.com"],
        ["mcp"],
        ["connections", "list", "--organization", organization],
        ["keys", "create", "--organization", organization, "--environment", "live", "--kind", "server"]
      ]) {
        const { code, stderr } = yield* run(args, env, cwd)
        assert.strictEqual(code, 2)
        assert.match(stderr, /^quotewire: quotewire\.config\.ts: The configuration is not valid: /)
      }
    })
  )

  it.effect("is reported if it takes more than a minute to load", () =>
    Effect.gen(function* () {
      const cwd = yield* folder({ "endless.mjs": "await new Promise(() => {})\nexport default {}" })
      const loading = yield* Effect.forkChild(Effect.flip(load(Option.some(join(cwd, "endless.mjs")))))
      // Files are read in real time, so it takes some steps until the minute begins.
      yield* Effect.repeat(TestClock.adjust("1 minute"), { until: () => loading.pollUnsafe() !== undefined })
      const { message } = yield* Fiber.join(loading)
      assert.match(message, /endless\.mjs did not finish loading within a minute\.$/)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("cannot be used together with --base-url", () =>
    Effect.gen(function* () {
      const ended = yield* runHere(["mcp", "--base-url", "http://127.0.0.1:1", "--config", "quotewire.config.ts"])
      assert.strictEqual(ended.code, 2)
      assert.include(ended.stderr, "--config and --base-url cannot be used together")
    })
  )
})

describe("quotewire dev with a configuration file", () => {
  /** What a host prints when it is ready. */
  const started = Effect.fnUntraced(function* (files: Files, ...args: ReadonlyArray<string>) {
    const { output } = yield* host(["dev", "--port", "0", ...args], {}, yield* folder(files))
    return output()
  })

  it.live("reads the file that --config names, or else the file in the current folder", () =>
    Effect.gen(function* () {
      const thrown = 'throw new Error("It was read")'
      const both = { "quotewire.config.ts": "export default 1", "hosts/eu.ts": thrown }
      const said = yield* saidTo([
        ...["quotewire.config.ts", "quotewire.config.mts", "quotewire.config.js", "quotewire.config.mjs"].map(
          (file) => ({ files: { [file]: thrown } })
        ),
        { files: both, args: ["--config", "hosts/eu.ts"] },
        { files: both, env: { QUOTEWIRE_CONFIG: "hosts/eu.ts" } },
        { files: { "eu.cjs": thrown }, args: ["--config", "eu.cjs"] }
      ])
      for (const sentence of said) assert.match(sentence, /throws while it loads: Error: It was read$/)
    })
  )

  it.live("omits the fictional carriers if fictional_carriers is false", () =>
    Effect.gen(function* () {
      const config = 'import { acme } from "./acme.ts"\nexport default { carriers: [acme], fictional_carriers: false }'
      const text = yield* started({ ...withAcme, "other.ts": config }, "--config", "other.ts")
      assert.include(text, "sandbox: 1 carrier (naic:12345)\n")
      assert.include(text, "live: 1 carrier (naic:12345)\n")
    })
  )

  it.live("lists each environment's carriers when ready, and shortens a long list", () =>
    Effect.gen(function* () {
      const config = `
        import { acme } from "./acme.ts"
        const named = (id: number) => ({ ...acme, environments: ["live"], carrier: { ...acme.carrier, id: "naic:" + id } })
        export default { carriers: [acme, ...Array.from({ length: 30 }, (_, id) => named(20_000 + id))] }`
      const text = yield* started({ ...withAcme, "quotewire.config.ts": config })
      assert.match(text, /sandbox: \d+ carriers \(sbx_.*, naic:12345\)\n/)
      assert.match(text, /live: 31 carriers \(naic:12345, naic:20000, .*, and \d+ more\)\n/)
    })
  )

  it.live("asks the configured carriers and the fictional carriers in the sandbox", () =>
    Effect.gen(function* () {
      const ready = yield* host(dev, {}, yield* folder(withAcme))
      const { base_url, keys } = JSON.parse(ready.output())
      const carriers = yield* answered(base_url, keys.server)
      assert.include(ids(carriers), "naic:12345")
      assert.isTrue(ids(carriers).some((id) => id.startsWith("sbx_")))
    })
  )

  it.live("calls on_carrier_exchange after each exchange with a carrier", () =>
    Effect.gen(function* () {
      const config = `import { acme } from "./acme.ts"
export default {
  carriers: [acme],
  on_carrier_exchange: ({ carrier_id, outcome }) => console.error("Told:", carrier_id, outcome)
}`
      const ready = yield* host(dev, {}, yield* folder({ ...withAcme, "quotewire.config.ts": config }))
      const { base_url, keys } = JSON.parse(ready.output())
      yield* answered(base_url, keys.server)
      ready.child.kill("SIGTERM")
      const { stderr } = yield* Effect.promise(() => ready.ended)
      assert.include(stderr, "Told: naic:12345 declined")
    })
  )
})

describe("quotewire serve with a configuration file", () => {
  const database = Effect.map(
    Effect.acquireRelease(Effect.promise(freshDatabase), ({ drop }) => Effect.promise(drop)),
    ({ url }) => ({ QUOTEWIRE_DATABASE_URL: url, QUOTEWIRE_SEAL_KEYS: randomBytes(32).toString("base64") })
  )

  it.live("asks the configured live carriers, and does not warn about missing carriers", () =>
    Effect.gen(function* () {
      const env = yield* database
      const cwd = yield* folder(withAcme)
      const created = yield* runHere(["organizations", "create", "Acme", "--json"], env)
      const { organization_id } = JSON.parse(created.stdout)
      const scope = ["--organization", organization_id, "--environment", "live", "--kind", "server", "--json"]
      const uncounted = yield* runHere(["keys", "create", ...scope], env)
      assert.match(JSON.parse(uncounted.stdout).warnings.join(), /no live carriers.* with --config\.$/)
      const made = yield* run(["keys", "create", ...scope], env, cwd)
      assert.deepStrictEqual([Object.keys(JSON.parse(made.stdout)), made.stderr], [["key_id", "key"], ""])

      const ready = yield* host(["serve", "--port", "0", "--json"], env, cwd)
      const { base_url } = JSON.parse(ready.output())
      const health = yield* Effect.promise(async () => (await fetch(`${base_url}/health/ready`)).json())
      assert.deepStrictEqual(health.environments, ["sandbox", "live"])
      const carriers = yield* answered(base_url, JSON.parse(made.stdout).key)
      assert.deepStrictEqual(ids(carriers), ["naic:12345"])
      ready.child.kill("SIGTERM")
      const { stderr } = yield* Effect.promise(() => ready.ended)
      assert.match(stderr, /sandbox="\d+ carriers \(.*naic:12345\)" live="1 carrier \(naic:12345\)"/)
      assert.notInclude(stderr, "no live carriers")
    })
  )
})
