import { copyFileSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

/*
 * Copies the one script that draws the API reference into `packages/http`, so that nobody who installs that package
 * installs the hundreds that the script was built from. The build runs this; the copy is not committed.
 */

const dist = dirname(createRequire(import.meta.url).resolve("@scalar/api-reference"))
const into = fileURLToPath(new URL("../packages/http/vendor/scalar/", import.meta.url))
const { version } = JSON.parse(readFileSync(join(dist, "../package.json"), "utf8"))

copyFileSync(join(dist, "browser/standalone.js"), join(into, "standalone.js"))
writeFileSync(join(into, "version.json"), `${JSON.stringify({ version })}\n`)
