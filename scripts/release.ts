import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { read, root } from "../test/support/sources.ts"
import { npm, withInstalled } from "./installPackages.ts"
import { newestSection, type Section, sectionFailures } from "./release/changelog.ts"
import {
  type Budget,
  dependencyFailures,
  descriptionFailures,
  fileFailures,
  licenseFailures,
  publishFailures,
  repeatedVersionFailures,
  scriptFailures,
  sizeFailures,
  versionFailures
} from "./release/checks.ts"
import { publintFindings, typeFindings } from "./release/lint.ts"
import { inDependencyOrder, type Packed, packAll, repositoryOf } from "./release/packing.ts"
import { environmentFailures, npmRegistry, publishAll } from "./release/publishing.ts"
import { cycloneDx, spdx } from "./release/sbom.ts"
import { type Component, shippedComponents } from "./release/shipped.ts"

/*
 * Releases the packages. `npm run release -- --dry-run` packs and checks the existing build output of all packages,
 * and writes tarballs, `release.json`, release notes and SBOMs to the folder that `--out` names. Without `--dry-run`, the script
 * then publishes the packages. Only the release workflow in CI can do that. `--no-install` skips the one check that
 * needs the registry, for rehearsals.
 */

const readJson = (path: string) => JSON.parse(read(path).text)

/** Runs all checks that need only the description of what was packed. */
const failuresOf = (
  packages: ReadonlyArray<Packed>,
  version: string,
  repository: string | null
): ReadonlyArray<string> => {
  const budgets: Readonly<Record<string, Budget>> = readJson("scripts/release/budget.json")
  const [first] = packages
  return first === undefined
    ? ["There are no packages."]
    : [
        ...versionFailures(packages, version),
        ...repeatedVersionFailures((path) => read(path).text, version),
        ...packages.flatMap((packed) => [
          ...fileFailures(packed),
          ...scriptFailures(packed),
          ...publishFailures(packed),
          ...descriptionFailures(packed, first.manifest, repository),
          ...dependencyFailures(packed, packages),
          ...sizeFailures(packed, budgets)
        ])
      ]
}

/** Runs package linters on the tarballs, and returns what they find. */
const lintFailures = async (packages: ReadonlyArray<Packed>, out: string): Promise<ReadonlyArray<string>> => {
  const failures: Array<string> = []
  for (const { manifest, tarball } of packages) {
    const bytes = new Uint8Array(readFileSync(join(out, tarball)))
    const findings = await publintFindings(bytes)
    const { problems } = await typeFindings(bytes)
    failures.push(...findings.map((finding) => `${manifest.name}: mend what publint finds: ${finding}.`))
    failures.push(...problems.map((problem) => `${manifest.name}: mend where its types are found: ${problem}.`))
  }
  return failures
}

/** Installs the tarballs into a new folder, as a user would, and starts the command. */
const installFailures = async (packages: ReadonlyArray<Packed>, out: string): Promise<ReadonlyArray<string>> => {
  const failures: Array<string> = []
  const { name, version } = packages.find(({ manifest }) => manifest.name === "quotewire")?.manifest ?? {}
  try {
    await withInstalled(
      packages.map(({ tarball }) => join(out, tarball)),
      (folder) => {
        const program = join(folder, "node_modules/quotewire/bin/quotewire.js")
        const printed = execFileSync(process.execPath, [program, "--version"], { cwd: folder, encoding: "utf8" })
        if (!printed.includes(version ?? "no version"))
          failures.push(`${name}: quotewire --version prints ${printed.trim()}: make it print ${version}.`)
      }
    )
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    failures.push(`quotewire: the packages cannot be installed and started: ${reason}`)
  }
  return failures
}

/** Reads the license from an installed package's manifest. */
const installedLicense = (place: string): string | null => {
  const path = join(place, "package.json")
  if (!existsSync(join(root, path))) return null
  const { license } = readJson(path)
  return typeof license === "string" ? license : null
}

/** The time of the released commit. SBOMs use it, so that SBOMs made from the same commit are equal. */
const commitTime = (): string => {
  try {
    const printed = execFileSync("git", ["log", "-1", "--format=%ct"], { cwd: root, encoding: "utf8", stdio: "pipe" })
    return new Date(Number(printed) * 1_000).toISOString().replace(".000Z", "Z")
  } catch {
    return new Date().toISOString().replace(/\.\d+Z$/, "Z")
  }
}

/** Writes the description of the release next to the tarballs. */
const describe = (
  tarballs: ReadonlyArray<Packed>,
  components: ReadonlyArray<Component>,
  section: Section,
  out: string
) => {
  const write = (name: string, value: unknown) =>
    writeFileSync(join(out, name), typeof value === "string" ? value : `${JSON.stringify(value, null, 2)}\n`)
  const packages = tarballs.map(({ files, integrity, manifest, size, tarball, unpackedSize }) => ({
    package: manifest.name,
    version: manifest.version,
    tarball,
    integrity,
    size,
    unpacked_size: unpackedSize,
    files: files.size
  }))
  write("release.json", { version: section.version, packages })
  write("notes.md", `${section.notes}\n`)
  const subject = components.find(({ name }) => name === "quotewire")
  if (subject !== undefined) {
    const bomSubject = { subject, created: commitTime() }
    write("quotewire.cdx.json", cycloneDx(components, bomSubject))
    write("quotewire.spdx.json", spdx(components, bomSubject))
  }
  console.log(`${section.notes}\n`)
  console.table(packages.map(({ files, package: name, size, unpacked_size }) => ({ name, files, size, unpacked_size })))
}

/** Packs, checks and describes a release. Returns the packages and the problems found. */
const prepare = async (
  section: Section,
  out: string,
  isInstalled: boolean
): Promise<{ readonly packed: ReadonlyArray<Packed>; readonly failures: ReadonlyArray<string> }> => {
  const repository = repositoryOf(process.env)
  const work = mkdtempSync(join(tmpdir(), "quotewire-release-work-"))
  try {
    const packed = inDependencyOrder(packAll(work, out, repository))
    // The SBOMs describe the `quotewire` command. `create-quotewire` is left out, because it ships nothing that the
    // command does not.
    const listed = packed.filter(({ manifest }) => manifest.name !== "create-quotewire")
    const components = shippedComponents(listed, readJson("package-lock.json").packages, installedLicense)
    describe(packed, components, section, out)
    if (repository === null)
      console.log("The manifests name no repository, because GITHUB_REPOSITORY is not set. A release takes it from CI.")
    return {
      packed,
      failures: [
        ...failuresOf(packed, section.version, repository),
        ...licenseFailures(components),
        ...(await lintFailures(packed, out)),
        ...(isInstalled ? await installFailures(packed, out) : [])
      ]
    }
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** The folder for the results: the given folder, which must be empty, or a new one. */
const outFolder = (outFlag: string | undefined): string => {
  if (outFlag === undefined) return mkdtempSync(join(tmpdir(), "quotewire-release-"))
  const out = resolve(outFlag)
  mkdirSync(out, { recursive: true })
  if (readdirSync(out).length > 0) throw new Error(`${out} is not empty: name another folder with --out.`)
  return out
}

interface Options {
  readonly "dry-run": boolean
  readonly "no-install": boolean
  readonly out?: string
}

/** Makes the release. Returns the problems found, as sentences. */
const release = async (options: Options): Promise<ReadonlyArray<string>> => {
  const isRehearsal = options["dry-run"]
  const section = newestSection(read("CHANGELOG.md").text)
  const early = [
    ...sectionFailures(section, isRehearsal),
    ...(isRehearsal || section === null
      ? []
      : environmentFailures(process.env, section.version, npm(root, "--version").trim()))
  ]
  if (section === null || (early.length > 0 && !isRehearsal)) return early
  const out = outFolder(options.out)
  const { failures, packed } = await prepare(section, out, !(isRehearsal && options["no-install"]))
  console.log(`Everything is in ${out}.`)
  if (isRehearsal || failures.length > 0) return [...early, ...failures]
  const stopped = publishAll(packed, npmRegistry(out), console.log)
  return stopped === null ? [] : [stopped]
}

const flag = { type: "boolean", default: false } as const
const { values } = parseArgs({ options: { "dry-run": flag, "no-install": flag, out: { type: "string" } } })
const failures = await release(values)
for (const failure of failures) console.error(failure)
if (failures.length > 0) process.exitCode = 1
