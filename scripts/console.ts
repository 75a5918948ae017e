import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { transform } from "esbuild"
import { type Plugin, rolldown } from "rolldown"

/*
 * Builds the console's two files: `console.js`, its program, and `console.css`, which contains every style that the
 * program imports. The build and every test run create them from `packages/http/console/`. They are not committed.
 */

const sources = new URL("../packages/http/console/", import.meta.url)
const main = fileURLToPath(new URL("main.tsx", sources))
const client = fileURLToPath(new URL("../packages/core/src/client/index.ts", import.meta.url))
const into = new URL("../packages/http/dist/console/", import.meta.url)

/** Creates a plugin that extracts the styles from the program, in the order in which its modules run. */
const collecting = (styles: Array<string>): Plugin => {
  const texts = new Map<string, string>()
  return {
    name: "styles",
    load: (id) => {
      if (!id.endsWith(".css")) return null
      texts.set(id, readFileSync(id, "utf8"))
      return { code: "export {}", moduleType: "js" }
    },
    buildEnd() {
      const seenFiles = new Set<string>()
      const visit = (id: string): void => {
        if (seenFiles.has(id)) return
        seenFiles.add(id)
        for (const imported of this.getModuleInfo(id)?.importedIds ?? []) visit(imported)
        const text = texts.get(id)
        if (text !== undefined) styles.push(text)
      }
      visit(main)
    }
  }
}

/** Bundles and minifies the program, and collects its styles. */
const bundled = async () => {
  const styles: Array<string> = []
  const build = await rolldown({
    input: main,
    platform: "browser",
    // Uses the sources of the client, because a fresh clone has not been built yet.
    resolve: { alias: { "@quotewire/core/client": client } },
    plugins: [collecting(styles)]
  })
  const { output } = await build.generate({ format: "esm", minify: true, codeSplitting: false })
  await build.close()
  if (output[0].imports.length > 0) throw new Error(`Cannot resolve ${output[0].imports.join(", ")}`)
  const style = await transform(styles.join("\n"), { loader: "css", minify: true })
  return { "console.js": output[0].code, "console.css": style.code }
}

/** Writes the files that have changed. */
export const setup = async (): Promise<void> => {
  mkdirSync(into, { recursive: true })
  for (const [name, text] of Object.entries(await bundled())) {
    const file = new URL(name, into)
    if (!existsSync(file) || readFileSync(file, "utf8") !== text) writeFileSync(file, text)
  }
}

if (import.meta.main) await setup()
