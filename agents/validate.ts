import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const terminals = new URL("terminals/node_modules/", import.meta.url)
const platform = `${process.platform}-${process.arch}`

const inPrograms = (folder: string): string => fileURLToPath(new URL(`../agent-programs/${folder}`, import.meta.url))

const claude = fileURLToPath(new URL(`@anthropic-ai/claude-code-${platform}/claude`, terminals))
const gemini = fileURLToPath(new URL(".bin/gemini", terminals))

/** What the programs themselves check, each with its own command. */
const checks: ReadonlyArray<readonly [what: string, command: string, args: ReadonlyArray<string>]> = [
  ["the plugin for Claude Code", claude, ["plugin", "validate", inPrograms("claude-code")]],
  ["its marketplace", claude, ["plugin", "validate", inPrograms("")]],
  ["the extension for Gemini CLI", gemini, ["extensions", "validate", inPrograms("gemini")]]
]

/** Lets the programs check what is made for them, and returns whether they found it valid. `home` is an empty folder. */
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
