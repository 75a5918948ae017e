import { realpathSync } from "node:fs"
import { createRequire } from "node:module"

/** The packages that must be the command's own copy in every file that the command loads. */
const shared = ["@quotewire/core", "effect"]

const pathOf = (name: string, from: string): string | null => {
  try {
    return realpathSync(createRequire(from).resolve(name))
  } catch {
    // The package is not installed there.
    return null
  }
}

/** The packages that a file would load a second copy of. Values of one copy do not work with the other. */
export const secondCopies = (file: string): ReadonlyArray<string> =>
  shared.filter((name) => {
    const path = pathOf(name, file)
    return path !== null && path !== pathOf(name, import.meta.url)
  })
