import { createHash } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"

/*
 * Builds the page that agent programs show beside quotes. It is one file that contains its style and script and loads
 * nothing else. The build and every test run create it from `packages/mcp/src/views/card/`. It is not committed.
 */

const views = new URL("../packages/mcp/src/views/", import.meta.url)
const into = new URL("quoteCard.generated.ts", views)

/** Bundles the page's script into one file. */
const bundled = async (): Promise<string> => {
  const build = await rolldown({ input: fileURLToPath(new URL("card/main.ts", views)), platform: "browser" })
  const { output } = await build.generate({ format: "iife", minify: true })
  await build.close()
  if (output[0].imports.length > 0) throw new Error(`Cannot resolve ${output[0].imports.join(", ")}`)
  // The script must not contain its own end tag.
  return output[0].code.trim().replaceAll("</", "<\\/")
}

/** Writes the page if it has changed. */
export const setup = async (): Promise<void> => {
  const script = await bundled()
  const hash = `sha256-${createHash("sha256").update(script).digest("base64")}`
  const html = readFileSync(new URL("card/page.html", views), "utf8")
    .replace("hash of the script", hash)
    .replace("/* main.ts */", () => script)
  const module = `/** The page of quotes, with its style and its script. */\nexport const html: string = ${JSON.stringify(html)}\n`
  if (!existsSync(into) || readFileSync(into, "utf8") !== module) writeFileSync(into, module)
}

if (import.meta.main) await setup()
