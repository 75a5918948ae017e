import { posix } from "node:path"
import type { Packed, ReleasedManifest } from "./packing.ts"
import type { Component } from "./shipped.ts"

/*
 * What must be true of the packages before they are published. Each failure is a sentence that names the package and
 * says what to do.
 */

/** The maximum sizes of a package, in bytes. */
export interface Budget {
  readonly tarball: number
  readonly unpacked: number
}

const exact = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/

/** Reports packages whose version differs from the changelog's. */
export const versionFailures = (packages: ReadonlyArray<Packed>, version: string): ReadonlyArray<string> =>
  packages
    .filter(({ manifest }) => manifest.version !== version)
    .map(
      ({ manifest }) =>
        `${manifest.name} has version ${manifest.version}, but the changelog begins with ${version}: make them equal.`
    )

const isOfTests = (path: string): boolean =>
  /(?:^|\/)(?:tests?|__tests__)\//.test(path) || /\.(?:test|spec)\.[cm]?[jt]sx?$/.test(path.replace(".d.", "."))

/**
 * Finds files that one of the package's files refers to but the package lacks: its source map, or the sources in a map.
 * Ignores files in `vendor`, which are shipped as others published them.
 */
const absentFrom = (files: ReadonlyMap<string, string>, path: string, text: string): ReadonlyArray<string> => {
  const inPackage = (name: string) => posix.join(posix.dirname(path), name)
  if (path.endsWith(".map")) {
    const { sources = [], sourcesContent } = JSON.parse(text)
    if (Array.isArray(sourcesContent)) return []
    return sources.map(inPackage).filter((source: string) => !files.has(source))
  }
  if (path.startsWith("vendor/") || !/\.[cm]?js$/.test(path)) return []
  const [, map] = /^\/\/# sourceMappingURL=(?!data:)(\S+)\s*$/m.exec(text) ?? []
  return map === undefined || files.has(inPackage(map)) ? [] : [inPackage(map)]
}

/** Reports missing files, shipped tests, and references to files that the package lacks. */
export const fileFailures = ({ files, manifest: { name } }: Packed): ReadonlyArray<string> => [
  ...["LICENSE", "README.md"]
    .filter((path) => (files.get(path) ?? "").trim() === "")
    .map((path) => `${name} has no ${path}: add it to its folder and to "files".`),
  ...[...files.keys()].filter(isOfTests).map((path) => `${name} holds the test ${path}: exclude it with "files".`),
  ...Array.from(files).flatMap(([path, text]) =>
    absentFrom(files, path, text).map(
      (absent) => `${name} names ${absent} in ${path}, but does not hold it: pack it, or build without maps.`
    )
  )
]

const runAtConsumers = ["preinstall", "install", "postinstall", "prepare", "prepublish", "preprepare", "postprepare"]

/**
 * Reports anything that would run when somebody installs a package. npm compiles a package with a `binding.gyp` even if
 * the package has no script.
 */
export const scriptFailures = ({ files, manifest }: Packed): ReadonlyArray<string> => [
  ...runAtConsumers
    .filter((script) => manifest.scripts?.[script] !== undefined)
    .map((script) => `${manifest.name} has the script "${script}", which runs when it is installed: remove it.`),
  ...(files.has("binding.gyp") ? [`${manifest.name} holds binding.gyp, which npm compiles: remove it.`] : [])
]

/** Reports packages that are not set up to be published publicly with provenance. */
export const publishFailures = ({ manifest: { name, publishConfig } }: Packed): ReadonlyArray<string> => [
  ...(publishConfig?.access === "public" ? [] : [`${name} is not public: set publishConfig.access to "public".`]),
  ...(publishConfig?.provenance === true ? [] : [`${name} has no provenance: set publishConfig.provenance to true.`])
]

/**
 * Reports descriptive fields of a manifest that are missing, or that differ from the first package's. If the
 * repository's address is unknown, no package may name one.
 */
export const descriptionFailures = (
  { manifest }: Packed,
  reference: ReleasedManifest,
  repository: string | null
): ReadonlyArray<string> => {
  const { name, bugs, description = "", engines, homepage, keywords = [], license } = manifest
  const origin = repository === null ? undefined : `git+${repository}.git`
  const says = (field: string, isRight: boolean, requirement: string) =>
    isRight ? [] : [`${name}: ${field} ${requirement}.`]
  return [
    ...says("description", description !== "", "is missing: say in a sentence what the package is"),
    ...says("keywords", keywords.length > 0, "is missing: name what people search for"),
    ...says("license", license === reference.license, `must be ${reference.license}, as in ${reference.name}`),
    ...says(
      "engines",
      JSON.stringify(engines) === JSON.stringify(reference.engines),
      `must equal those of ${reference.name}`
    ),
    ...says("repository", manifest.repository?.url === origin, `must be ${origin ?? "left to the release"}`),
    ...says("homepage", homepage?.startsWith(`${repository}/`) ?? repository === null, "must be in the repository"),
    ...says("bugs", bugs?.url.startsWith(`${repository}/`) ?? repository === null, "must be in the repository")
  ]
}

/**
 * Reports wrong dependencies of a package. A peer dependency must be a range, because the user's program installs it,
 * and must be the same in all packages.
 */
export const dependencyFailures = ({ manifest }: Packed, packages: ReadonlyArray<Packed>): ReadonlyArray<string> => {
  const versions = new Map(packages.map((packed) => [packed.manifest.name, packed.manifest.version]))
  const { name } = manifest
  const pinned = Object.entries({ ...manifest.dependencies, ...manifest.optionalDependencies }).flatMap(
    ([dependency, range]) => {
      const version = versions.get(dependency)
      if (version !== undefined && range !== version)
        return [`${name} depends on ${dependency} ${range}: make it ${version}, the version of this release.`]
      if (dependency.startsWith("@quotewire/") && version === undefined)
        return [`${name} depends on ${dependency}, which is not released: remove it.`]
      return exact.test(range) ? [] : [`${name} depends on ${dependency} ${range}: name one exact version.`]
    }
  )
  const peers = Object.entries(manifest.peerDependencies ?? {}).flatMap(([dependency, range]) => {
    const conflicting = packages.find((packed) => (packed.manifest.peerDependencies?.[dependency] ?? range) !== range)
    return conflicting === undefined
      ? []
      : [
          `${name} asks for the peer ${dependency} ${range}, but ${conflicting.manifest.name} for another: make them equal.`
        ]
  })
  return [...pinned, ...peers]
}

/** The licenses that dependencies may have. All of them allow use and redistribution and require only a notice. */
export const allowedLicenses = ["0BSD", "Apache-2.0", "BlueOak-1.0.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"]

/** Whether a license, or a choice such as `(MIT OR GPL-2.0)`, is allowed. */
const isAllowed = (license: string): boolean =>
  license
    .replace(/^\((.*)\)$/, "$1")
    .split(" OR ")
    .some((choice) => allowedLicenses.includes(choice))

/** Reports shipped components whose license is not allowed. */
export const licenseFailures = (components: ReadonlyArray<Component>): ReadonlyArray<string> =>
  components
    .filter(({ license }) => !isAllowed(license))
    .map(
      ({ license, name, version }) =>
        `${name} ${version} has the license ${license}, which is not in the list of scripts/release/checks.ts: use something else, ` +
        "or add the license after a review."
    )

/** Reports a package that exceeds its size budget. */
export const sizeFailures = (
  { manifest: { name }, size, unpackedSize }: Packed,
  budgets: Readonly<Record<string, Budget>>
): ReadonlyArray<string> => {
  const budget = budgets[name]
  if (budget === undefined) return [`${name} has no budget: add it to scripts/release/budget.json.`]
  const over = (subject: string, bytes: number, maxBytes: number) =>
    bytes <= maxBytes
      ? []
      : [
          `${name}: its ${subject} has ${bytes} bytes, ${bytes - maxBytes} too many. Make it smaller, or raise scripts/release/budget.json.`
        ]
  return [...over("tarball", size, budget.tarball), ...over("content", unpackedSize, budget.unpacked)]
}

/** The files in the repository that repeat the version, each with a pattern for the text before the version. */
export const versionPlaces: ReadonlyArray<readonly [path: string, before: RegExp]> = [
  ["packages/cli/server.json", /"version": "/],
  ["packages/cli/src/version.ts", /version = "/],
  ["packages/core/src/carriers/http/CarrierRequest.ts", /Quotewire-Carriers\//],
  ["packages/http/src/webhooks/NodeWebhookSender.ts", /Quotewire-Webhooks\//],
  ["packages/mcp/src/mcp.ts", /packageVersion = "/],
  ["agent-programs/claude-code/.claude-plugin/plugin.json", /"version": "/],
  ["agent-programs/claude-code/.mcp.json", /@quotewire\/cli@/],
  ["agent-programs/desktop/manifest.json", /"version": "/],
  ["agent-programs/gemini/gemini-extension.json", /"version": "|@quotewire\/cli@/],
  ["deploy/kubernetes/migrate.yaml", /\/quotewire:/],
  ["deploy/kubernetes/serve.yaml", /\/quotewire:/],
  ["deploy/kubernetes/work.yaml", /\/quotewire:/]
]

/** Reports files that repeat a version other than the released one. */
export const repeatedVersionFailures = (read: (path: string) => string, version: string): ReadonlyArray<string> =>
  versionPlaces.flatMap(([path, prefix]) => {
    const versions = Array.from(
      read(path).matchAll(new RegExp(`(?:${prefix.source})(\\d+\\.\\d+\\.\\d+(?:-[0-9A-Za-z.-]+)?)`, "g")),
      ([, stated = ""]) => stated
    )
    if (versions.length === 0)
      return [`${path} does not name the version any more: mend versionPlaces in scripts/release/checks.ts.`]
    return versions.some((stated) => stated !== version)
      ? [`${path} names ${versions.join(", ")}: write ${version}.`]
      : []
  })
