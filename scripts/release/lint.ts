import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core"
import { publint } from "publint"
import { formatMessage } from "publint/utils"

/** Runs publint on a tarball. Returns what it finds, as sentences. */
export const publintFindings = async (tarball: Uint8Array<ArrayBuffer>): Promise<ReadonlyArray<string>> => {
  const { messages, pkg } = await publint({ pack: { tarball: tarball.buffer } })
  return messages.map((message) => formatMessage(message, pkg) ?? message.code)
}

/** The problems with a tarball's types, and the entry points that were checked. */
export interface TypeFindings {
  /** The entry points that were checked, such as `./testing`. */
  readonly entryPoints: ReadonlyArray<string>
  readonly problems: ReadonlyArray<string>
}

/**
 * Resolves a tarball's types as compilers do. Ignores two expected findings: all packages are ES modules, which every
 * supported Node can `require`, and `node10`, a module resolution without `exports`, is not supported.
 */
export const typeFindings = async (tarball: Uint8Array): Promise<TypeFindings> => {
  const checked = await checkPackage(createPackageFromTarballData(tarball))
  if (checked.types === false) return { entryPoints: [], problems: [] }
  const problems = checked.problems.filter(
    (problem) =>
      problem.kind !== "CJSResolvesToESM" && !("resolutionKind" in problem && problem.resolutionKind === "node10")
  )
  return { entryPoints: Object.keys(checked.entrypoints), problems: problems.map((problem) => JSON.stringify(problem)) }
}
