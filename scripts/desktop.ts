import { copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { packExtension } from "@anthropic-ai/mcpb"
import { build } from "rolldown"

/*
 * Packs the MCP bundle for desktop programs: `npm run desktop` writes `quotewire.mcpb`. It contains a manifest and one
 * JavaScript file that forwards messages to a host, so that installing the bundle downloads nothing.
 */

const fileAt = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))

/** Writes the bundle to a file. Fails if the manifest is not valid. */
export const packDesktop = async (file: string): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "quotewire-desktop-"))
  try {
    await build({
      input: fileAt("agent-programs/desktop/server.ts"),
      platform: "node",
      logLevel: "warn",
      output: { file: join(folder, "server.mjs"), format: "esm", minify: true, codeSplitting: false }
    })
    for (const name of ["agent-programs/desktop/manifest.json", "LICENSE"]) {
      copyFileSync(fileAt(name), join(folder, name.replace(/.*\//, "")))
    }
    const isPacked = await packExtension({ extensionPath: folder, outputPath: file, silent: true })
    if (!isPacked)
      throw new Error("mcpb has refused the bundle: npx mcpb validate agent-programs/desktop/manifest.json")
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const file = fileAt("quotewire.mcpb")
  await packDesktop(file)
  console.log(`The bundle is ${file}. Open it with Claude Desktop.`)
}
