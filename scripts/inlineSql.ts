import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Plugin } from "rolldown"

/*
 * A bundler plugin that puts the SQL of `packages/storage-pg` into the package's bundle. The package then also runs
 * when a program bundles it into a single file. Sources and their tests read the `.sql` files directly.
 */

const sql = new URL("../packages/storage-pg/src/sql/", import.meta.url)

const texts = () =>
  Object.fromEntries(
    readdirSync(fileURLToPath(sql), { recursive: true, encoding: "utf8" })
      .map((path) => path.replaceAll("\\", "/"))
      .filter((path) => path.endsWith(".sql"))
      .sort()
      .map((path) => [path, readFileSync(new URL(path, sql), "utf8")])
  )

/** Replaces the module that reads SQL files with one that contains them. */
export const inlineSql: Plugin = {
  name: "SQL",
  load: {
    filter: { id: /storage-pg[\\/]dist[\\/]sql[\\/]read\.js$/ },
    handler: () =>
      `const texts = ${JSON.stringify(texts(), null, 2)};\n/** Reads a file of SQL. */\nexport const read = (path) => texts[path];\n`
  }
}
