import { execFile } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expectedFailures, type Suite } from "./expectedFailures.ts"

interface Check {
  readonly id: string
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO"
  readonly errorMessage?: string
}

const program = (name: string) =>
  fileURLToPath(new URL(`../../node_modules/@modelcontextprotocol/${name}/dist/index.js`, import.meta.url))

const commands: Readonly<Record<Suite, ReadonlyArray<string>>> = {
  "0.1.16": [program("conformance"), "server", "--suite", "all"],
  "2025-11-25": [program("conformance-next"), "server", "--requirements", "2025-11-25"],
  "2026-07-28": [program("conformance-next"), "server", "--requirements", "2026-07-28"]
}

/** Runs a suite against an endpoint, and returns the checks of its scenarios by name. */
export const run = async (suite: Suite, url: string): Promise<ReadonlyMap<string, ReadonlyArray<Check>>> => {
  const folder = mkdtempSync(join(tmpdir(), "quotewire-conformance-"))
  try {
    // The exit code says only that something failed; the files say what.
    await new Promise((resolve) =>
      execFile(process.execPath, [...commands[suite], "--url", url, "-o", folder], resolve)
    )
    return new Map(
      readdirSync(folder).flatMap((name) => {
        const file = join(folder, name, "checks.json")
        const scenario = name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT.*$/, "")
        return existsSync(file) ? [[scenario, JSON.parse(readFileSync(file, "utf8"))] as const] : []
      })
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The unexpected results: checks that fail or warn without a known reason, and known reasons whose checks pass. */
export const surprises = (
  suite: Suite,
  scenarios: ReadonlyMap<string, ReadonlyArray<Check>>
): ReadonlyArray<string> => {
  const expected = expectedFailures[suite]
  const unused = new Set(Object.keys(expected))
  const found: Array<string> = []
  for (const [scenario, checks] of scenarios) {
    for (const { errorMessage = "", id, status } of checks) {
      if (status !== "FAILURE" && status !== "WARNING") continue
      const excuse = [scenario, `${scenario}:${id}`].find((name) => Object.hasOwn(expected, name))
      if (excuse === undefined) found.push(`${scenario}:${id} ${status}: ${errorMessage}`)
      else unused.delete(excuse)
    }
  }
  return [...found, ...Array.from(unused, (name) => `${name} is expected to fail, and does not`)]
}

/** The scenarios in which at least one check passed and none failed or warned. */
export const passed = (scenarios: ReadonlyMap<string, ReadonlyArray<Check>>): ReadonlyArray<string> =>
  Array.from(scenarios).flatMap(([scenario, checks]) => {
    const isRight = checks.every(({ status }) => status !== "FAILURE" && status !== "WARNING")
    return isRight && checks.some(({ status }) => status === "SUCCESS") ? [scenario] : []
  })
