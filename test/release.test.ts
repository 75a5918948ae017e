import { assert, describe, it } from "@effect/vitest"
import { newestSection, sectionFailures } from "../scripts/release/changelog.ts"
import {
  dependencyFailures,
  descriptionFailures,
  fileFailures,
  licenseFailures,
  publishFailures,
  repeatedVersionFailures,
  scriptFailures,
  sizeFailures,
  versionFailures,
  versionPlaces
} from "../scripts/release/checks.ts"
import {
  inDependencyOrder,
  type Packed,
  type ReleasedManifest,
  repositoryOf,
  withOrigin
} from "../scripts/release/packing.ts"
import { distTagOf, environmentFailures, publishAll, type Registry } from "../scripts/release/publishing.ts"
import type { Component } from "../scripts/release/shipped.ts"
import { manifest, read } from "./support/sources.ts"

/*
 * What a release checks, prints and publishes. The tests publish and download nothing.
 */

const repository = "https://code.example/acme/quotes"

/** A package that passes every check. */
const packed = (change: Partial<ReleasedManifest> = {}, files: Readonly<Record<string, string>> = {}): Packed => ({
  manifest: withOrigin(
    {
      name: "@quotewire/core",
      version: "1.2.0",
      description: "A library.",
      keywords: ["insurance"],
      license: "Apache-2.0",
      engines: { node: ">=22.19.0" },
      peerDependencies: { effect: "~4.1.0" },
      publishConfig: { access: "public", provenance: true },
      ...change
    },
    repository,
    "packages/core"
  ),
  files: new Map(
    Object.entries({ LICENSE: "Apache", "README.md": "# Core", "dist/index.js": "export {}\n", ...files })
  ),
  tarball: "quotewire-core-1.2.0.tgz",
  integrity: "sha512-AAAA",
  size: 1_000,
  unpackedSize: 4_000
})

const component = (change: Partial<Component> = {}): Component => ({
  name: "ws",
  version: "8.23.0",
  license: "MIT",
  integrity: "sha512-AAAA",
  isCopy: false,
  dependsOn: [],
  contains: [],
  ...change
})

/** Each failure names the package and says what to do, in one sentence. */
const fails = (found: ReadonlyArray<string>, ...patterns: ReadonlyArray<RegExp>): void => {
  assert.lengthOf(found, patterns.length, found.join("\n"))
  for (const [index, pattern] of patterns.entries()) assert.match(found[index] ?? "", pattern)
  for (const sentence of found) assert.match(sentence, /^\S.*: [\s\S]*\.$|\. Make .*\.$/)
}

describe("the changelog", () => {
  const text =
    "# Changelog\n\nAll changes.\n\n## 1.2.0 - 2026-12-01\n\n### Added\n\n- A thing.\n\n## 1.1.0 - 2026-11-01\n\n- Old.\n"

  it("contains the release's version and notes in its first section", () => {
    assert.deepStrictEqual(newestSection(text), {
      version: "1.2.0",
      when: "2026-12-01",
      notes: "### Added\n\n- A thing."
    })
    assert.strictEqual(newestSection(text.replace("1.2.0", "1.2.0-beta.1"))?.version, "1.2.0-beta.1")
    assert.strictEqual(newestSection(text.slice(0, text.indexOf("\n## 1.1")))?.notes, "### Added\n\n- A thing.")
    assert.isNotNull(newestSection(read("CHANGELOG.md").text))
  })

  it("is rejected without a version or notes, and without a date unless the release is a rehearsal", () => {
    fails(sectionFailures(newestSection("# Changelog\n"), true), /begin its topmost section/)
    fails(sectionFailures(newestSection(text.replace("1.2.0 - 2026-12-01", "Next")), true), /begin its topmost section/)
    fails(sectionFailures(newestSection(text.replace("- A thing.", "")), true), /say under 1\.2\.0 what has changed/)
    const unreleased = newestSection(text.replace("2026-12-01", "unreleased"))
    fails(sectionFailures(unreleased, false), /write the date of the release after 1\.2\.0/)
    assert.deepStrictEqual(sectionFailures(unreleased, true), [])
    assert.deepStrictEqual(sectionFailures(newestSection(text), false), [])
  })
})

describe("the release check", () => {
  it("compares package versions with the changelog's version", () => {
    assert.deepStrictEqual(versionFailures([packed()], "1.2.0"), [])
    fails(versionFailures([packed(), packed({ version: "1.1.0" })], "1.2.0"), /^@quotewire\/core has version 1\.1\.0/)
  })

  it("finds every file that contains an outdated version", () => {
    const { version = "" } = manifest("packages/core")
    const text = (path: string) => read(path).text
    assert.deepStrictEqual(repeatedVersionFailures(text, version), [])
    const outdated = repeatedVersionFailures(text, "99.0.0")
    fails(outdated, ...versionPlaces.map(() => new RegExp(`names ${version}.*write 99\\.0\\.0`)))
    assert.lengthOf(
      repeatedVersionFailures(() => "", version),
      versionPlaces.length
    )
  })

  it("rejects a package with tests, without mapped sources, or without a license or README", () => {
    assert.deepStrictEqual(fileFailures(packed()), [])
    assert.deepStrictEqual(fileFailures(packed({}, { "dist/testing/index.js": "export {}" })), [])
    for (const path of ["test/a.js", "dist/a.test.js", "dist/a.test.d.ts", "dist/a.spec.mjs", "dist/__tests__/a.js"])
      fails(fileFailures(packed({}, { [path]: "" })), /holds the test/)
    fails(fileFailures(packed({}, { LICENSE: "", "README.md": " " })), /no LICENSE/, /no README\.md/)
    const mapped = "export {}\n//# sourceMappingURL=a.js.map\n"
    fails(fileFailures(packed({}, { "dist/a.js": mapped })), /names dist\/a\.js\.map in dist\/a\.js/)
    const map = (value: unknown) => ({ "dist/a.js": mapped, "dist/a.js.map": JSON.stringify(value) })
    fails(fileFailures(packed({}, map({ sources: ["../src/a.ts"] }))), /names src\/a\.ts in dist\/a\.js\.map/)
    assert.deepStrictEqual(fileFailures(packed({}, { ...map({ sources: ["../src/a.ts"] }), "src/a.ts": "" })), [])
    assert.deepStrictEqual(fileFailures(packed({}, map({ sources: ["../a.ts"], sourcesContent: [""] }))), [])
  })

  it("rejects scripts that run on installation", () => {
    assert.deepStrictEqual(scriptFailures(packed({ scripts: { test: "vitest" } })), [])
    for (const script of ["preinstall", "install", "postinstall", "prepare"])
      fails(scriptFailures(packed({ scripts: { [script]: "node x.js" } })), new RegExp(`script "${script}"`))
    fails(scriptFailures(packed({}, { "binding.gyp": "{}" })), /binding\.gyp/)
  })

  it("requires each package to be public, with provenance", () => {
    assert.deepStrictEqual(publishFailures(packed()), [])
    fails(publishFailures(packed({ publishConfig: {} })), /is not public/, /has no provenance/)
  })

  it("requires package metadata to match the first package and the repository", () => {
    const first = packed().manifest
    assert.deepStrictEqual(descriptionFailures(packed(), first, repository), [])
    const other = packed({ description: "", keywords: [], license: "MIT", engines: { node: ">=20" } })
    fails(
      descriptionFailures(other, first, repository),
      ...["description", "keywords", "license", "engines"].map((field) => new RegExp(`: ${field} `))
    )
    const moved = descriptionFailures(packed(), first, "https://code.example/acme/other")
    fails(moved, ...["repository", "homepage", "bugs"].map((field) => new RegExp(`: ${field} `)))
    assert.lengthOf(descriptionFailures(packed(), first, null), 3)
  })

  it("requires exact dependency versions, one release version, and equal peer dependencies", () => {
    const core = packed()
    const http = (change: Partial<ReleasedManifest>) => packed({ name: "@quotewire/http", ...change })
    const found = (change: Partial<ReleasedManifest>) => dependencyFailures(http(change), [core, http(change)])
    assert.deepStrictEqual(found({ dependencies: { "@quotewire/core": "1.2.0", jose: "6.2.17" } }), [])
    for (const asked of ["^6.2.17", "~6.2.17", "6", "*", "latest", "file:../jose"])
      fails(found({ dependencies: { jose: asked } }), /name one exact version/)
    fails(found({ dependencies: { "@quotewire/core": "1.1.0" } }), /@quotewire\/core 1\.1\.0: make it 1\.2\.0/)
    fails(found({ dependencies: { "@quotewire/none": "1.2.0" } }), /which is not released: remove it/)
    fails(found({ peerDependencies: { effect: "~4.0.0" } }), /peer effect ~4\.0\.0, but @quotewire\/core for another/)
  })

  it("rejects unlisted and missing licenses", () => {
    assert.deepStrictEqual(licenseFailures([component(), component({ license: "(GPL-2.0 OR MIT)" })]), [])
    for (const license of ["GPL-3.0-only", "NONE", "MIT AND GPL-2.0", "UNLICENSED"])
      fails(licenseFailures([component({ license })]), /^ws 8\.23\.0 has the license/)
  })

  it("rejects a package that exceeds its size budget or has no budget", () => {
    const budgets = { "@quotewire/core": { tarball: 1_000, unpacked: 4_000 } }
    assert.deepStrictEqual(sizeFailures(packed(), budgets), [])
    const heavy = { ...packed(), size: 1_001, unpackedSize: 4_002 }
    fails(sizeFailures(heavy, budgets), /its tarball has 1001 bytes, 1 too many/, /its content has 4002 bytes/)
    fails(sizeFailures(packed(), {}), /has no budget: add it/)
  })
})

describe("publishing", () => {
  const ci = {
    GITHUB_ACTIONS: "true",
    GITHUB_REPOSITORY: "acme/quotes",
    GITHUB_REF: "refs/tags/v1.2.0",
    ACTIONS_ID_TOKEN_REQUEST_URL: "https://identity.example",
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: "token"
  }

  it("fails outside the release workflow", () => {
    assert.deepStrictEqual(environmentFailures(ci, "1.2.0", "11.5.1"), [])
    assert.deepStrictEqual(environmentFailures(ci, "1.2.0", "12.0.0"), [])
    assert.match(environmentFailures({}, "1.2.0", "11.5.1").join(), /^Only the release workflow in CI publishes\./)
    const { ACTIONS_ID_TOKEN_REQUEST_URL: _, ...anonymous } = ci
    fails(environmentFailures(anonymous, "1.2.0", "11.5.1"), /id-token: write/)
    fails(environmentFailures({ ...ci, GITHUB_REPOSITORY: undefined }, "1.2.0", "11.5.1"), /GITHUB_REPOSITORY/)
    fails(environmentFailures({ ...ci, GITHUB_REF: "refs/heads/main" }, "1.2.0", "11.5.1"), /push the tag v1\.2\.0/)
    for (const old of ["11.5.0", "11.4.9", "10.9.3"]) fails(environmentFailures(ci, "1.2.0", old), /too old/)
  })

  it("takes the repository's address from CI", () => {
    assert.isNull(repositoryOf({}))
    assert.strictEqual(repositoryOf(ci), "https://github.com/acme/quotes")
    assert.strictEqual(repositoryOf({ ...ci, GITHUB_SERVER_URL: "https://code.example" }), repository)
    const { bugs, homepage, repository: origin } = packed().manifest
    assert.deepStrictEqual(
      [origin, homepage, bugs],
      [
        { type: "git", url: `git+${repository}.git`, directory: "packages/core" },
        `${repository}/tree/v1.2.0/packages/core#readme`,
        { url: `${repository}/issues` }
      ]
    )
  })

  const named = (name: string, ...needed: ReadonlyArray<string>) =>
    packed({ name, dependencies: Object.fromEntries(needed.map((other) => [other, "1.2.0"])) })
  const all = [named("cli", "http", "core"), named("http", "core"), named("core"), named("quotewire", "cli")]
  const order = ["core", "http", "cli", "quotewire"]

  /** A registry that has some packages and refuses one. */
  const registryWith = (held: ReadonlyArray<string>, refused?: string) => {
    const published: Array<string> = []
    const registry: Registry = {
      integrityOf: (name) => (held.includes(name) ? "sha512-AAAA" : null),
      publish: ({ manifest: { name } }) => {
        if (name === refused) throw new Error("E403")
        published.push(name)
      }
    }
    return { published, registry }
  }

  it("publishes packages before the packages that depend on them", () => {
    assert.deepStrictEqual(
      inDependencyOrder(all).map(({ manifest: { name } }) => name),
      order
    )
    const { published, registry } = registryWith([])
    assert.isNull(publishAll(inDependencyOrder(all), registry, () => {}))
    assert.deepStrictEqual(published, order)
  })

  it("stops at the first failure, and resumes there on the next run", () => {
    const stopped = registryWith([], "cli")
    const said = publishAll(inDependencyOrder(all), stopped.registry, () => {}) ?? ""
    assert.match(said, /^cli 1\.2\.0 is not published: E403\n.*run the failed job again/)
    assert.deepStrictEqual(stopped.published, ["core", "http"])
    const again = registryWith(stopped.published)
    assert.isNull(publishAll(inDependencyOrder(all), again.registry, () => {}))
    assert.deepStrictEqual(again.published, ["cli", "quotewire"])
  })

  it("stops if the registry has different content under the same version", () => {
    const { published, registry } = registryWith(["core"])
    const changed = { ...named("core"), integrity: "sha512-BBBB" }
    assert.match(publishAll([changed], registry, () => {}) ?? "", /core 1\.2\.0 with other content/)
    assert.deepStrictEqual(published, [])
  })

  it("publishes previews under the tag next, not latest", () => {
    assert.strictEqual(distTagOf("1.2.0"), "latest")
    assert.strictEqual(distTagOf("1.2.0-beta.1"), "next")
  })
})
