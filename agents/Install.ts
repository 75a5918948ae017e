import { spawnSync } from "node:child_process"
import { existsSync, statSync } from "node:fs"
import { fileURLToPath } from "node:url"

/**
 * Installs the packages of a folder in the versions of its lock file, unless they are already installed. Runs no
 * install scripts.
 */
export const folder = (name: string): void => {
  const cwd = fileURLToPath(new URL(name, import.meta.url))
  const installed = `${cwd}/node_modules/.package-lock.json`
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(`${cwd}/package-lock.json`).mtimeMs) return
  // Not `npm ci`: it refuses a lock file that lacks optional packages for other machines, which the registry may not have.
  const { status } = spawnSync("npm", ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd,
    stdio: "inherit"
  })
  if (status !== 0) throw new Error(`npm install in agents/${name} failed. Try it there by hand.`)
}
