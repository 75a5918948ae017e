import { execFileSync, spawnSync } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { manifest, packages, root } from "./support/sources.ts"

/*
 * Programs whose package manager installed a second copy or a different release of Effect.
 */

const temporary = mkdtempSync(join(tmpdir(), "quotewire-copies-"))
afterAll(() => rmSync(temporary, { recursive: true, force: true }))

const copy = (from: string, to: string) =>
  cpSync(join(root, from), join(temporary, to), {
    recursive: true,
    filter: (source) => !/\/(?:src|ai-docs|test)$|\.(?:map|d\.ts)$/.test(source)
  })

/** Runs a program in a folder and returns its output. */
const run = (folder: string, program: string): string => {
  const file = join(temporary, folder, "program.mjs")
  writeFileSync(file, program)
  return execFileSync(process.execPath, [file], { encoding: "utf8" })
}

const told = (attempt: string) =>
  `await (async () => { ${attempt} })().then(() => console.log("accepted"), ({ message }) => console.log(message))`

describe("a program with a second copy of Effect", () => {
  beforeAll(() => {
    copy("node_modules/effect", "second/node_modules/effect")
    symlinkSync(join(root, "node_modules/@quotewire"), join(temporary, "second/node_modules/@quotewire"))
  })

  it("gets an error that names the value from the second copy", () => {
    const printed = run(
      "second",
      `import { defineLine, embed, standardLines } from "@quotewire/core"
      import { MemoryStorage } from "@quotewire/storage-memory"
      import { Layer, Schema } from "effect"
      const line = { ...standardLines[0], facts_version: "2026-11-20", assume: (facts) => facts, stateOf: () => "NY", subjectsOf: () => [] }
      const codes = { coverage_codes: [], subject_kinds: [], billing_cycles: [], fee_codes: [] }
      ${told("defineLine({ ...line, codes, facts: Schema.Struct({ pet: Schema.optionalKey(Schema.String) }) })")}
      ${told("await embed({ storage: Layer.empty }).ready")}
      ${told("await embed({ storage: MemoryStorage.layer, carrier_transport: Layer.empty }).ready")}`
    )
      .trim()
      .split("\n")
    const advice = "Comes from a second copy of effect. Your program and Quotewire must share one"
    assert.lengthOf(printed, 3)
    for (const [line, field] of printed.map((line, place) => [
      line,
      ["facts", "storage", "carrier_transport"][place]
    ])) {
      assert.include(line, advice)
      assert.include(line, field)
    }
  })
})

describe("a program with a different Effect release", () => {
  beforeAll(() => {
    copy("node_modules/effect", "other/node_modules/effect")
    for (const name of ["core", "storage-memory"]) copy(`packages/${name}`, `other/node_modules/@quotewire/${name}`)
    const file = join(temporary, "other/node_modules/effect/package.json")
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), version: "4.2.0" }))
  })

  it("does not start, and gets an error that names the release to install", () => {
    const printed = run(
      "other",
      `import { embed } from "@quotewire/core"
      import { MemoryStorage } from "@quotewire/storage-memory"
      ${told("await embed({ storage: MemoryStorage.layer }).ready")}`
    )
    const { effect = "no range" } = manifest("packages/core").peerDependencies ?? {}
    assert.match(printed, /^Quotewire is tested with effect \S+, and this program loads effect 4\.2\.0: install /)
    assert.include(printed, `install effect@${effect}.`)
  })
})

describe("the quotewire command", () => {
  it("refuses a configuration that uses a different copy of Quotewire or Effect", () => {
    writeFileSync(join(temporary, "other/quotewire.config.mjs"), "export default {}")
    const { status, stderr } = spawnSync(
      process.execPath,
      [join(root, "packages/cli/bin/quotewire.js"), "dev", "--config", join(temporary, "other/quotewire.config.mjs")],
      { encoding: "utf8" }
    )
    assert.strictEqual(status, 2)
    assert.include(
      stderr,
      "uses a different copy of @quotewire/core and effect than this command: install the command next to"
    )
  })
})

describe("package manifests", () => {
  it.each(packages)("%s declares effect only as a peer dependency", (name) => {
    const { peerDependencies, dependencies } = manifest(`packages/${name}`)
    assert.notProperty(dependencies ?? {}, "effect")
    assert.strictEqual(peerDependencies?.effect, manifest("packages/core").peerDependencies?.effect)
    assert.isString(peerDependencies?.effect)
  })
})
