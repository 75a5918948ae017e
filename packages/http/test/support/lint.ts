import { execFile } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { OpenApi } from "@quotewire/http"

const require = createRequire(import.meta.url)

/** The linter's input, output and exit code. */
export interface Linted {
  readonly command: string
  readonly printed: string
  readonly code: number
}

/** Lints an OpenAPI document with Redocly, offline. */
export const lint = async (document: OpenApi.Document): Promise<Linted> => {
  const folder = await mkdtemp(join(tmpdir(), "quotewire-openapi-"))
  try {
    await writeFile(join(folder, "openapi.json"), JSON.stringify(document, null, 2))
    await writeFile(join(folder, "redocly.yaml"), redocly)
    return await run(
      folder,
      "@redocly/cli/bin/cli.js",
      "redocly lint openapi.json --config redocly.yaml --max-problems 20"
    )
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Redocly's recommended rules, and some others. */
const redocly = `extends:
  - recommended
rules:
  info-contact: error
  operation-description: error
  operation-tag-defined: error
  no-invalid-schema-examples: error
  no-invalid-parameter-examples: error
`

/** The same on every machine, whoever runs it. */
const environment = {
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  REDOCLY_TELEMETRY: "off",
  REDOCLY_SUPPRESS_UPDATE_NOTICE: "true",
  CI: "true",
  NO_COLOR: "1"
}

const run = (folder: string, script: string, command: string) =>
  new Promise<Linted>((resolve) => {
    const [, ...args] = command.split(" ")
    execFile(
      process.execPath,
      [require.resolve(script), ...args],
      { cwd: folder, env: environment },
      (error, stdout, stderr) => {
        const printed = `${stderr}${stdout}`
          .replaceAll(`${folder}/`, "")
          .replace(/ \(?in \d+ms\)?|: validated in \d+ms/g, "")
        resolve({ command, printed, code: error === null ? 0 : Number(error.code) })
      }
    )
  })
