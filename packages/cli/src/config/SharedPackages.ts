import { realpathSync } from "node:fs"
import { createRequire } from "node:module"

/**
 * The packages that must not be loaded twice. Every file that the command loads must use the command's copy of them.
 */
const shared = ["@quotewire/core", "effect"]

const pathOf = (name: string, importer: string): string | null => {
  try {
    return realpathSync(createRequire(importer).resolve(name))
  } catch {
    // The file cannot find the package.
    return null
  }
}

/**
 * The shared packages of which a file would load a second copy. Values from one copy do not work with the other copy.
 */
export const secondCopies = (file: string): ReadonlyArray<string> =>
  shared.filter((name) => {
    const path = pathOf(name, file)
    return path !== null && path !== pathOf(name, import.meta.url)
  })
