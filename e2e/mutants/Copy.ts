import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { applied, type Mutant } from "./Mutant.ts"

/*
 * A copy of the repository, in which mutants are made one after another. The working tree is never touched.
 */

/** A copy of the repository. */
export interface Copy {
  readonly folder: string
  /** Runs something on a mutant, and reverts the mutant afterwards. */
  readonly broken: <A>(mutant: Mutant, use: () => Promise<A>) => Promise<A>
  readonly remove: () => void
}

/** Copies the files that Git tracks or would add. Installed packages are linked. */
export const make = (root: string): Copy => {
  const folder = mkdtempSync(join(tmpdir(), "quotewire-mutants-"))
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8"
  })
  for (const path of listed.split("\0").filter((file) => file !== "")) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    cpSync(join(root, path), join(folder, path))
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
  return {
    folder,
    broken: async (mutant, use) => {
      const path = join(folder, mutant.file)
      const text = readFileSync(path, "utf8")
      const mutated = applied(mutant, text)
      if (mutated === null)
        throw new Error(`${mutant.name} is outdated: ${mutant.file} does not hold its text exactly once`)
      writeFileSync(path, mutated)
      try {
        return await use()
      } finally {
        writeFileSync(path, text)
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true })
  }
}
