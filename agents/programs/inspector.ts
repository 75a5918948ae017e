import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { follow, world } from "../follow.ts"
import { printed } from "../printed.ts"

const program = new URL("node_modules/.bin/mcp-inspector", import.meta.url)

const inspect = (era: string, ...args: ReadonlyArray<string>) => [
  "--cli",
  world.mcp,
  "--transport",
  "http",
  "--protocol-era",
  era,
  ...args
]

/** Fails if the schema of a tool is not portable (`--strict`). */
const list = async (era: string) => {
  const args = inspect(era, "--method", "tools/list", "--strict")
  const { stdout } = await promisify(execFile)(fileURLToPath(program), args)
  return JSON.parse(stdout).tools
}

for (const era of ["legacy", "modern"]) await list(era)
console.log(
  await follow(await list("auto"), async (name, args) =>
    JSON.parse(
      await printed(
        program,
        inspect(
          "auto",
          "--method",
          "tools/call",
          "--tool-name",
          name,
          ...Object.entries(args).flatMap(([key, value]) => [
            "--tool-arg",
            `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`
          ])
        )
      )
    )
  )
)
