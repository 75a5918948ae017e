import { execFile } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { OpenApi } from "@quotewire/http"

const require = createRequire(import.meta.url)
const config = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url))

/** Lints an OpenAPI document with Redocly and Spectral, offline; gives what each of them prints and whether it passed. */
export const lint = async (document: OpenApi.Document) => {
  const folder = await mkdtemp(join(tmpdir(), "quotewire-openapi-"))
  const file = join(folder, "openapi.json")
  try {
    await writeFile(file, JSON.stringify(document, null, 2))
    return await Promise.all([
      run(require.resolve("@redocly/cli/bin/cli.js"), [
        "lint",
        file,
        "--config",
        config("redocly.yaml"),
        "--format",
        "stylish"
      ]),
      run(require.resolve("@stoplight/spectral-cli/dist/index.js"), [
        "lint",
        file,
        "--ruleset",
        config("spectral.yaml")
      ])
    ])
  } finally {
    await rm(folder, { recursive: true })
  }
}

const offline = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", CI: "true", NO_COLOR: "1" }

const run = (script: string, args: ReadonlyArray<string>) =>
  new Promise<{ readonly passed: boolean; readonly printed: string }>((resolve) => {
    execFile(process.execPath, [script, ...args], { env: { ...process.env, ...offline } }, (error, stdout, stderr) =>
      resolve({ passed: error === null, printed: stdout + stderr })
    )
  })
