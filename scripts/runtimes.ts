import { execFileSync } from "node:child_process"
import { copyFileSync } from "node:fs"
import { basename, join } from "node:path"
import { root } from "../test/support/sources.ts"
import { npm, withInstalledPackages } from "./installPackages.ts"

/*
 * Runs `examples/embed.ts` on the packed packages with every supported runtime (`npm run runtimes`). Fails if a runtime prints
 * other quotes than the Node of this repository.
 *
 * It first installs the runtimes into `test/runtimes`. They are not installed with the repository, because they take 380 MB.
 */

const runtimes = join(root, "test/runtimes")
const inRuntimes = (name: string) => join(runtimes, "node_modules/.bin", name)

const commands: ReadonlyArray<readonly [program: string, ...args: ReadonlyArray<string>]> = [
  [inRuntimes("node")],
  [inRuntimes("bun")],
  [inRuntimes("deno"), "run", "--allow-all", "--node-modules-dir=manual"]
]

/** What a program prints. Runtimes print values with different blanks and quotation marks, so these are left out. */
const output = (folder: string, program: string, ...args: ReadonlyArray<string>): string =>
  execFileSync(program, args, { cwd: folder, encoding: "utf8" }).replaceAll(/[\s"',]+/g, " ")

npm(runtimes, "install", "--no-package-lock")

await withInstalledPackages((folder) => {
  copyFileSync(join(root, "examples/embed.ts"), join(folder, "embed.ts"))
  const expected = output(folder, process.execPath, "embed.ts")
  for (const [program, ...args] of commands) {
    const [version = ""] = execFileSync(program, ["--version"], { encoding: "utf8" }).split("\n")
    const name = basename(program)
    const found = output(folder, program, ...args, "embed.ts")
    if (found !== expected) throw new Error(`${name} ${version} found ${found}, not ${expected}`)
    console.log(`${name} ${version.replace(/^\D+/, "").replace(/ .*/, "")}: the same quotes as Node ${process.version}`)
  }
})
