import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { templates } from "../packages/cli/src/create/Layout.ts"

/*
 * Copies examples into the CLI package's `templates` folder, so that they ship with the package: `quotewire create`
 * writes them into new projects. Every build and every test run does this. The copies are not committed.
 */

const root = new URL("../", import.meta.url)
const folder = new URL("packages/cli/templates/", root)

/** Copies the examples that have changed. */
export const setup = (): void => {
  for (const template of templates.filter((name) => name.startsWith("examples/"))) {
    // Removes `$schema`, because it names a file in this repository.
    const text = readFileSync(new URL(template, root), "utf8").replace(/^ {2}"\$schema": .*\n/m, "")
    const copy = new URL(template, folder)
    if (existsSync(copy) && readFileSync(copy, "utf8") === text) continue
    mkdirSync(new URL(".", copy), { recursive: true })
    writeFileSync(copy, text)
  }
}

if (import.meta.main) setup()
