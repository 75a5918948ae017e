import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { platform } from "./terminals/platform.ts"

const terminals = new URL("terminals/node_modules/", import.meta.url)

const inPrograms = (folder: string): string => fileURLToPath(new URL(`../agent-programs/${folder}`, import.meta.url))

const claude = fileURLToPath(new URL(`@anthropic-ai/claude-code-${platform}/claude`, terminals))
const gemini = fileURLToPath(new URL(".bin/gemini", terminals))

/** The checks that the programs provide for their own plugins and extensions. */
const checks: ReadonlyArray<readonly [what: string, command: string, args: ReadonlyArray<string>]> = [
  ["the plugin for Claude Code", claude, ["plugin", "validate", inPrograms("claude-code")]],
  ["its marketplace", claude, ["plugin", "validate", inPrograms("")]],
  ["the extension for Gemini CLI", gemini, ["extensions", "validate", inPrograms("gemini")]]
]

/** Runs the checks, prints their results, and returns whether all are valid. `home` is an empty folder for the programs. */
export const validate = (home: string): boolean => {
  const valid = checks.map(([what, command, args]) => {
    const { status, stdout, stderr } = spawnSync(command, args, {
      encoding: "utf8",
      env: { PATH: process.env.PATH ?? "", HOME: home },
      timeout: 60_000
    })
    console.log(`${what}: ${status === 0 ? "valid" : "not valid"}`)
    if (status !== 0) console.log(stdout, stderr)
    return status === 0
  })
  return valid.every((isValid) => isValid)
}
