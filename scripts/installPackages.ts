import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { packages, root } from "../test/support/sources.ts"

// npm passes its settings to the scripts that it runs. They are not meant for the npm that runs here, so remove them.
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)))

/** Runs npm in a folder, and returns its output. Errors go to standard error. */
export const npm = (folder: string, ...args: ReadonlyArray<string>): string =>
  execFileSync("npm", [...args, "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: folder,
    env: environment,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"]
  })

/**
 * Installs tarballs into a new folder as a user would, without anything that only the repository needs. Calls `run`
 * with the folder, and deletes the folder afterwards.
 */
export const withInstalled = async (
  tarballs: ReadonlyArray<string>,
  run: (folder: string) => void | Promise<void>
): Promise<void> => {
  const temporary = mkdtempSync(join(tmpdir(), "quotewire-install-"))
  try {
    writeFileSync(join(temporary, "package.json"), JSON.stringify({ private: true, type: "module" }))
    npm(temporary, "install", "--omit=dev", "--prefer-offline", ...tarballs)
    await run(temporary)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

/**
 * Packs the existing build output of all packages, and installs them into a new folder. Calls `run` with the folder, and deletes
 * the folder afterwards.
 */
export const withInstalledPackages = async (run: (folder: string) => void | Promise<void>): Promise<void> => {
  const temporary = mkdtempSync(join(tmpdir(), "quotewire-tarballs-"))
  try {
    const tarballs = packages.map((name) => {
      const folder = join(root, "packages", name)
      const [packed] = JSON.parse(npm(folder, "pack", "--json", "--ignore-scripts", "--pack-destination", temporary))
      return join(temporary, packed.filename)
    })
    await withInstalled(tarballs, run)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}
