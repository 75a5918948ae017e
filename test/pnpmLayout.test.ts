import { spawnSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { manifest, root } from "./support/sources.ts"

/*
 * A workspace as pnpm lays it out, made by hand. Every package is stored once for each release of its peers, in
 * node_modules/.pnpm, and linked to from where it is needed. Node follows the links before it looks for what a package imports.
 *
 * The workspace has a program with a carrier, and a package with the schema of the carrier's answers.
 */

const temporary = mkdtempSync(join(tmpdir(), "quotewire-pnpm-"))
afterAll(() => rmSync(temporary, { recursive: true, force: true }))

const { version: core_version = "" } = manifest("packages/core")
const { version: effect_version = "" } = manifest("node_modules/effect")
const [major, minor, patch] = effect_version.split(".")
const nextVersion = `${major}.${minor}.${Number(patch) + 1}`

/** Links a package into the `node_modules` of a folder. */
const link = (folder: string, name: string, target: string): void => {
  const place = join(folder, "node_modules", name)
  mkdirSync(dirname(place), { recursive: true })
  symlinkSync(relative(dirname(place), target), place)
}

/** Stores a package of the repository as pnpm does, and returns where. */
const store = (workspace: string, entry: string, name: string, from: string): string => {
  const place = join(workspace, "node_modules/.pnpm", entry, "node_modules", name)
  cpSync(join(root, from), place, {
    recursive: true,
    filter: (source) => !/\/(?:src|ai-docs|test)$|\.(?:map|d\.ts)$/.test(source)
  })
  return place
}

/** Stores a release of Effect, and returns where. */
const storeEffect = (workspace: string, release: string): string => {
  const place = store(workspace, `effect@${release}`, "effect", "node_modules/effect")
  const file = join(place, "package.json")
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), version: release }))
  return place
}

/** Stores a package of Quotewire for a release of Effect, with what it imports beside it. */
const storeOwn = (workspace: string, name: string, beside: Readonly<Record<string, string>>): string => {
  const entry = `@quotewire+${name}@${core_version}_effect@${effect_version}`
  const place = store(workspace, entry, `@quotewire/${name}`, `packages/${name}`)
  for (const [imported, target] of Object.entries(beside)) {
    link(join(workspace, "node_modules/.pnpm", entry), imported, target)
  }
  return place
}

const answers = `
import { Schema } from "effect"
export const effect = import.meta.resolve("effect")
export const Answer = Schema.Struct({ premium: Schema.Finite, note: Schema.optionalKey(Schema.String) })`

const program = `
import { once } from "node:events"
import { createServer } from "node:http"
import { Answer, effect } from "@acme/answers"
import { Carrier, defineCarrier, embed, Money, Reply } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Layer } from "effect"
const server = createServer((_, response) => {
  response.setHeader("content-type", "application/json")
  response.end('{"premium":120.5}')
}).listen(0, "127.0.0.1")
await once(server, "listening")
const acme = defineCarrier({
  id: "naic:12345",
  name: "Acme Mutual",
  lines: { renters: { states: ["NY"] } },
  http: { base_url: "http://127.0.0.1:" + server.address().port },
  ask: async ({ http }) => {
    const { premium } = (await http.get("/quotes")).json(Answer)
    return Reply.offers([{ offer_ref: "1", premium: Money.dollars(premium), term_months: 12 }])
  }
})
const quotewire = embed({ storage: MemoryStorage.layer, carriers: Layer.succeed(Carrier.CarrierAdapters, [acme]) })
const { id: organization_id } = await quotewire.createOrganization("Acme")
const { key } = await quotewire.createKey({ organization_id, environment: "live", kind: "server" })
const client = quotewire.client(key)
const { id } = await client.start_quote_request({
  line: "renters",
  request_key: "first-request",
  consent_receipt_id: "receipt-0001",
  application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
})
const ended = async () => {
  const read = await client.get_quote_request({ id, wait_seconds: 5 })
  return read.quote_request.status === "in_progress" ? ended() : read
}
const { quote_request, quotes } = await ended()
console.log(JSON.stringify({
  copies: new Set([effect, import.meta.resolve("effect")]).size,
  prices: quotes.map(({ price }) => price.premium.amount_minor),
  reasons: quote_request.carriers.map(({ reason }) => reason)
}))
await quotewire.close()
server.close()`

/** Lays out the workspace, and returns the program. */
const layOut = (name: string, releaseOfAnswers: string): string => {
  const workspace = join(temporary, name)
  const [shared, app] = [join(workspace, "packages/answers"), join(workspace, "packages/app")]
  const effect = storeEffect(workspace, effect_version)
  const core = storeOwn(workspace, "core", { effect })
  const memory = storeOwn(workspace, "storage-memory", { effect, "@quotewire/core": core })
  link(shared, "effect", releaseOfAnswers === effect_version ? effect : storeEffect(workspace, releaseOfAnswers))
  writeFileSync(join(shared, "package.json"), '{ "name": "@acme/answers", "type": "module", "main": "index.js" }')
  writeFileSync(join(shared, "index.js"), answers)
  link(app, "effect", effect)
  link(app, "@quotewire/core", core)
  link(app, "@quotewire/storage-memory", memory)
  link(app, "@acme/answers", shared)
  writeFileSync(join(app, "program.mjs"), program)
  return join(app, "program.mjs")
}

/** Runs a program. The last line of its output is its result. */
const run = (file: string) => {
  const { stderr, stdout } = spawnSync(process.execPath, [file], { encoding: "utf8" })
  const lines = stdout.trim().split("\n")
  return { result: JSON.parse(lines.at(-1) ?? ""), log: `${stdout}${stderr}` }
}

describe("a pnpm workspace", () => {
  it("shares one copy of Effect if its packages use the same release", () => {
    const { log, result } = run(layOut("one", effect_version))
    assert.deepStrictEqual(result, { copies: 1, prices: [12_050], reasons: [null] })
    assert.notInclude(log, "copy")
  })

  it("causes an error about a second copy if one of its packages uses another Effect release", () => {
    const { log, result } = run(layOut("two", nextVersion))
    assert.deepStrictEqual(result, { copies: 2, prices: [], reasons: ["carrier_error"] })
    assert.include(
      log,
      "mistake: 'json(schema): Comes from a second copy of effect. Your program and Quotewire must share one"
    )
  })
})
