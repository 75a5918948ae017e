import { NodeServices } from "@effect/platform-node"
import { ConfigProvider, Effect } from "effect"
import { run } from "../../dist/Program.js"

/*
 * Runs commands that fail at startup, one after another in this process, and prints the output of each. A test
 * starts this once, outside Vitest, because only Node itself loads TypeScript as the command does.
 */

interface Start {
  readonly args: ReadonlyArray<string>
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

const [, , starts = "[]"] = process.argv
const printed: Array<string> = []
const said: Array<string> = []
console.error = (...parts: ReadonlyArray<unknown>) => void said.push(parts.join(" "))

for (const { args, cwd, env } of JSON.parse(starts) as ReadonlyArray<Start>) {
  process.chdir(cwd)
  const settings = ConfigProvider.fromEnv({ env })
  await Effect.runPromiseExit(
    run(args).pipe(Effect.provideService(ConfigProvider.ConfigProvider, settings), Effect.provide(NodeServices.layer))
  )
  printed.push(said.splice(0).join("\n"))
}
process.stdout.write(JSON.stringify(printed))
