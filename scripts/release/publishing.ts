import { join } from "node:path"
import { npm } from "../installPackages.ts"
import type { Packed } from "./packing.ts"

/** The functions of the registry that a release needs. */
export interface Registry {
  /** The hash of a published version; null if the registry does not have the version. */
  readonly integrityOf: (name: string, version: string) => string | null
  /** Publishes a tarball. Throws if the registry refuses it. */
  readonly publish: (packed: Packed, tag: string) => void
}

/** The first npm version that can publish with a CI job's identity instead of a token. */
const oldestNpm = [11, 5, 1] as const

const isTooOld = (npmVersion: string): boolean => {
  const npmParts = npmVersion.split(".").map((part) => Number.parseInt(part, 10))
  const at = oldestNpm.findIndex((part, index) => part !== npmParts[index])
  return at !== -1 && (npmParts[at] ?? 0) < (oldestNpm[at] ?? 0)
}

/**
 * Says why this environment cannot publish a release. npm accepts packages from a CI job that proves its identity
 * (OIDC), so no token is stored anywhere.
 */
export const environmentFailures = (
  environment: NodeJS.ProcessEnv,
  version: string,
  npmVersion: string
): ReadonlyArray<string> => {
  if (environment.GITHUB_ACTIONS !== "true")
    return [
      "Only the release workflow in CI publishes. Push the tag of the version, or run npm run release -- --dry-run."
    ]
  const { ACTIONS_ID_TOKEN_REQUEST_TOKEN: token, ACTIONS_ID_TOKEN_REQUEST_URL: url, GITHUB_REF: ref } = environment
  return [
    ...(token === undefined || url === undefined
      ? ["The job has no identity to publish with: give it the permission id-token: write."]
      : []),
    ...(environment.GITHUB_REPOSITORY === undefined
      ? ["GITHUB_REPOSITORY is not set: provenance needs the address of the repository."]
      : []),
    ...(ref === `refs/tags/v${version}`
      ? []
      : [
          `The workflow runs for ${ref ?? "no tag"}, but the changelog begins with ${version}: push the tag v${version}.`
        ]),
    ...(isTooOld(npmVersion)
      ? [`npm ${npmVersion} is too old to publish from CI: use ${oldestNpm.join(".")} or newer.`]
      : [])
  ]
}

/** The registry tag for a version. Installing without a version must never select a preview. */
export const distTagOf = (version: string): string => (version.includes("-") ? "next" : "latest")

/**
 * Publishes packages in the given order, and stops at the first failure. It skips versions that the registry already
 * has, so it can be run again. Returns a sentence that says how to continue, or null if all packages are published.
 */
export const publishAll = (
  inOrder: ReadonlyArray<Packed>,
  registry: Registry,
  print: (line: string) => void
): string | null => {
  for (const packed of inOrder) {
    const { name, version } = packed.manifest
    try {
      const publishedIntegrity = registry.integrityOf(name, version)
      if (publishedIntegrity !== null && publishedIntegrity !== packed.integrity)
        return `The registry has ${name} ${version} with other content. A version is never replaced: release the next one.`
      if (publishedIntegrity === null) registry.publish(packed, distTagOf(version))
      print(
        publishedIntegrity === null
          ? `${name} ${version} is published.`
          : `${name} ${version} is on the registry: skipped.`
      )
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      return (
        `${name} ${version} is not published: ${reason}\n` +
        "Remove the cause and run the failed job again: it skips the versions that are on the registry."
      )
    }
  }
  return null
}

/** The code of an error that npm printed as JSON. */
const codeOf = (error: unknown): string | null => {
  const printed = error instanceof Error && "stdout" in error ? String(error.stdout) : ""
  return /"code": "(E[A-Z0-9]+)"/.exec(printed)?.[1] ?? null
}

/** The registry that npm is configured for. `folder` contains the tarballs. */
export const npmRegistry = (folder: string): Registry => ({
  integrityOf: (name, version) => {
    try {
      const printed = npm(folder, "view", `${name}@${version}`, "dist.integrity", "--json").trim()
      return printed === "" ? null : String(JSON.parse(printed))
    } catch (error) {
      if (codeOf(error) === "E404") return null
      throw error
    }
  },
  publish: ({ tarball }, tag) => {
    npm(folder, "publish", join(folder, tarball), "--provenance", "--access", "public", "--tag", tag)
  }
})
