import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Ajv } from "ajv"
import { installedFor } from "../scripts/release/lockedTree.ts"
import { manifest, packages, read, root } from "./support/sources.ts"

/*
 * The rehearsal of a release, on the built packages. It leaves out the check that installs them from the registry.
 */

const temporary = mkdtempSync(join(tmpdir(), "quotewire-rehearsal-"))
const out = join(temporary, "out")
const version = manifest("packages/core").version ?? ""

const release = (...args: ReadonlyArray<string>) => {
  const { GITHUB_ACTIONS: _, GITHUB_REPOSITORY: __, ...env } = process.env
  return spawnSync(process.execPath, [join(root, "scripts/release.ts"), ...args], { env, encoding: "utf8" })
}

const written = (name: string) => JSON.parse(readFileSync(join(out, name), "utf8"))

let rehearsal: ReturnType<typeof release>
beforeAll(() => {
  rehearsal = release("--dry-run", "--no-install", "--out", out)
})
afterAll(() => rmSync(temporary, { recursive: true, force: true }))

interface Released {
  readonly package: string
  readonly version: string
  readonly tarball: string
  readonly integrity: string
  readonly size: number
  readonly unpacked_size: number
  readonly files: number
}

const hashOf = (path: string): string => `sha512-${createHash("sha512").update(readFileSync(path)).digest("base64")}`

describe("a release rehearsal", () => {
  it("passes, prints the notes, and publishes nothing", () => {
    assert.strictEqual(rehearsal.stderr, "")
    assert.strictEqual(rehearsal.status, 0)
    assert.include(rehearsal.stdout, "### Added")
    assert.notInclude(rehearsal.stdout, "is published")
  })

  it("describes each package, including the unscoped command packages", () => {
    const { packages: released, version: named } = written("release.json")
    assert.strictEqual(named, version)
    const names = released.map((one: Released) => one.package)
    assert.sameMembers(names, [...packages.map((name) => `@quotewire/${name}`), "quotewire", "create-quotewire"])
    assert.isBelow(names.indexOf("@quotewire/core"), names.indexOf("@quotewire/http"))
    assert.sameMembers(names.slice(-2), ["quotewire", "create-quotewire"])
    for (const one of released) {
      assert.strictEqual(one.version, version)
      assert.strictEqual(one.integrity, hashOf(join(out, one.tarball)))
      assert.strictEqual(one.size, readFileSync(join(out, one.tarball)).length)
      assert.isAbove(one.unpacked_size, one.size)
      assert.isAbove(one.files, 3)
    }
    const tarballs = released.map((one: Released) => one.tarball)
    const lists = ["notes.md", "quotewire.cdx.json", "quotewire.spdx.json", "release.json"]
    assert.sameMembers(readdirSync(out), [...tarballs, ...lists])
  })

  it("creates command packages that run @quotewire/cli", () => {
    const modules = join(temporary, "node_modules")
    mkdirSync(modules)
    symlinkSync(join(root, "node_modules/@quotewire"), join(modules, "@quotewire"))
    const installed = (name: string) => {
      const folder = join(modules, name)
      mkdirSync(folder)
      spawnSync("tar", ["-xzf", join(out, `${name}-${version}.tgz`), "--strip-components=1", "-C", folder])
      const { dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
      assert.deepStrictEqual(dependencies, { "@quotewire/cli": version })
      return (...args: ReadonlyArray<string>) =>
        spawnSync(process.execPath, [join(folder, `bin/${name}.js`), ...args], { encoding: "utf8" })
    }
    const quotewire = installed("quotewire")
    assert.include(quotewire("--version").stdout, version)
    assert.strictEqual(quotewire("no-such-command").status, 2)
    const project = join(temporary, "my-app")
    const created = installed("create-quotewire")(project, "--in", "host")
    assert.strictEqual(created.status, 0, created.stderr)
    assert.include(readdirSync(project), "quotewire.config.ts")
  })

  it("refuses an output folder that is not empty", () => {
    const used = join(temporary, "used")
    mkdirSync(used)
    writeFileSync(join(used, "notes.txt"), "mine")
    const refused = release("--dry-run", "--no-install", "--out", used)
    assert.strictEqual(refused.status, 1)
    assert.match(refused.stderr, /used is not empty: name another folder with --out\./)
    assert.deepStrictEqual(readdirSync(used), ["notes.txt"])
  })
})

describe("a release", () => {
  it("fails outside CI before it packs anything", () => {
    const unused = join(temporary, "unused")
    const refused = release("--out", unused)
    assert.strictEqual(refused.status, 1)
    assert.include(refused.stderr, "Only the release workflow in CI publishes.")
    assert.notInclude(readdirSync(temporary), "unused")
  })
})

/** The required fields of both formats, in the parts that are used. */
const nonEmpty = { type: "string", minLength: 1 }
const sha512 = { type: "string", pattern: "^[0-9a-f]{128}$" }
const time = { type: "string", pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z$" }
const purl = { type: "string", pattern: "^pkg:npm/(?:%40[a-z0-9-]+/)?[a-z0-9.-]+@\\d+\\.\\d+\\.\\d+" }
const object = (properties: Readonly<Record<string, unknown>>, ...optional: ReadonlyArray<string>) => ({
  type: "object",
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  additionalProperties: false
})
const list = (items: unknown) => ({ type: "array", items })

const component = object(
  {
    type: { enum: ["application", "library"] },
    "bom-ref": purl,
    name: nonEmpty,
    version: nonEmpty,
    purl,
    licenses: { ...list(object({ license: object({ id: nonEmpty }) })), minItems: 1 },
    hashes: { ...list(object({ alg: { const: "SHA-512" }, content: sha512 })), minItems: 1 },
    externalReferences: list(object({ type: { const: "distribution" }, url: nonEmpty }))
  },
  "externalReferences"
)

const cycloneDxSchema = object({
  $schema: { const: "http://cyclonedx.org/schema/bom-1.6.schema.json" },
  bomFormat: { const: "CycloneDX" },
  specVersion: { const: "1.6" },
  serialNumber: { type: "string", pattern: "^urn:uuid:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$" },
  version: { const: 1 },
  metadata: object({ timestamp: time, component }),
  components: list(component),
  dependencies: list(object({ ref: purl, dependsOn: list(purl) }))
})

const spdxId = { type: "string", pattern: "^SPDXRef-[0-9A-Za-z.-]+$" }
const spdxSchema = object({
  spdxVersion: { const: "SPDX-2.3" },
  dataLicense: { const: "CC0-1.0" },
  SPDXID: { const: "SPDXRef-DOCUMENT" },
  name: nonEmpty,
  documentNamespace: { type: "string", pattern: "^https://[^#]+$" },
  creationInfo: object({ created: time, creators: { ...list(nonEmpty), minItems: 1 } }),
  packages: list(
    object({
      SPDXID: spdxId,
      name: nonEmpty,
      versionInfo: nonEmpty,
      downloadLocation: nonEmpty,
      filesAnalyzed: { const: false },
      licenseConcluded: nonEmpty,
      licenseDeclared: nonEmpty,
      copyrightText: nonEmpty,
      checksums: { ...list(object({ algorithm: { const: "SHA512" }, checksumValue: sha512 })), minItems: 1 },
      externalRefs: list(
        object({
          referenceCategory: { const: "PACKAGE-MANAGER" },
          referenceType: { const: "purl" },
          referenceLocator: purl
        })
      )
    })
  ),
  relationships: list(
    object({
      spdxElementId: spdxId,
      relationshipType: { enum: ["CONTAINS", "DEPENDS_ON", "DESCRIBES"] },
      relatedSpdxElement: spdxId
    })
  )
})

/** What a list says about a component. */
interface Entry {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly hash: string
}

interface Locked {
  readonly version?: string
  readonly license?: string
  readonly integrity?: string
}

describe("the SBOMs of a release", () => {
  const hexOf = (integrity: string) => Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex")

  /**
   * Every production dependency, as the lockfile has it; the command and the packages that it consists of, as they were
   * packed; and the copied script. `create-quotewire` is not part of the command.
   */
  const expected = (): ReadonlyArray<Entry> => {
    const locked: Readonly<Record<string, Locked>> = JSON.parse(read("package-lock.json").text).packages
    const outside = [...installedFor(locked, "cli")]
      .filter(([place]) => place.startsWith("node_modules/") && !place.startsWith("node_modules/@quotewire/"))
      .map(([place, { integrity = "", license = "", version = "" }]) => ({
        name: place.replace("node_modules/", ""),
        version,
        license,
        hash: hexOf(integrity)
      }))
    assert.isAtLeast(outside.length, 15)
    const released: ReadonlyArray<Released> = written("release.json").packages
    const ofCommand = released.filter((one) => one.package !== "create-quotewire")
    assert.lengthOf(ofCommand, released.length - 1)
    const own = ofCommand.map((one) => ({
      name: one.package,
      version: one.version,
      license: "Apache-2.0",
      hash: hexOf(one.integrity)
    }))
    const scalar = {
      name: "@scalar/api-reference",
      version: JSON.parse(read("packages/http/vendor/scalar/version.json").text).version,
      license: "MIT",
      hash: hexOf(hashOf(join(root, "packages/http/vendor/scalar/standalone.js")))
    }
    return [...outside, ...own, scalar]
  }

  it("contain each component's version, license and hash as CycloneDX 1.6", () => {
    const bom = written("quotewire.cdx.json")
    const ajv = new Ajv({ strict: false, allErrors: true })
    assert.isTrue(ajv.validate(cycloneDxSchema, bom), ajv.errorsText())
    assert.isFalse(ajv.validate(cycloneDxSchema, { ...bom, components: [{ name: "ws" }] }))
    const all = [...bom.components, bom.metadata.component]
    assert.sameDeepMembers(
      all.map(({ hashes, licenses, name, version }) => ({
        name,
        version,
        license: licenses[0].license.id,
        hash: hashes[0].content
      })),
      [...expected()]
    )
    assert.strictEqual(bom.metadata.component.name, "quotewire")
    const refs = new Set(all.map((one) => one["bom-ref"]))
    assert.strictEqual(refs.size, all.length)
    const edges = new Map<string, ReadonlyArray<string>>(
      bom.dependencies.map((one: { readonly ref: string; readonly dependsOn: ReadonlyArray<string> }) => [
        one.ref,
        one.dependsOn
      ])
    )
    // Every component is reachable from the command.
    const reached = new Set([bom.metadata.component["bom-ref"]])
    for (const ref of reached) for (const next of edges.get(ref) ?? []) reached.add(next)
    assert.sameMembers([...reached], [...refs])
  })

  it("contain each package's version, license and hash as SPDX 2.3", () => {
    const document = written("quotewire.spdx.json")
    const ajv = new Ajv({ strict: false, allErrors: true })
    assert.isTrue(ajv.validate(spdxSchema, document), ajv.errorsText())
    assert.isFalse(ajv.validate(spdxSchema, { ...document, dataLicense: undefined }))
    const all: ReadonlyArray<{ readonly SPDXID: string }> = document.packages
    assert.sameDeepMembers(
      document.packages.map(
        (one: {
          readonly name: string
          readonly versionInfo: string
          readonly licenseDeclared: string
          readonly checksums: ReadonlyArray<{ readonly checksumValue: string }>
        }) => ({
          name: one.name,
          version: one.versionInfo,
          license: one.licenseDeclared,
          hash: one.checksums[0]?.checksumValue
        })
      ),
      [...expected()]
    )
    const ids = new Set(["SPDXRef-DOCUMENT", ...all.map(({ SPDXID }) => SPDXID)])
    assert.strictEqual(ids.size, all.length + 1)
    for (const { relatedSpdxElement, spdxElementId } of document.relationships) {
      assert.isTrue(ids.has(relatedSpdxElement) && ids.has(spdxElementId), `${spdxElementId} ${relatedSpdxElement}`)
    }
  })
})
