import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

/*
 * Puts the SQL of the built `packages/storage-pg` into a JavaScript module, so that the package also runs when it is
 * bundled into a single file. Sources and their tests read the `.sql` files directly. The build runs this script after
 * the compiler.
 */

const storage = new URL("../packages/storage-pg/", import.meta.url)
const sql = new URL("src/sql/", storage)

const texts = Object.fromEntries(
  readdirSync(fileURLToPath(sql), { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".sql"))
    .sort()
    .map((path) => [path, readFileSync(new URL(path, sql), "utf8")])
)

writeFileSync(
  new URL("dist/sql/read.js", storage),
  `const texts = ${JSON.stringify(texts, null, 2)};\n/** Reads a file of SQL. */\nexport const read = (path) => texts[path];\n`
)
