import { follow, world } from "../follow.ts"
import { printed } from "../printed.ts"

const inspector = async (...args: ReadonlyArray<string>) =>
  JSON.parse(
    await printed(new URL("node_modules/.bin/mcp-inspector", import.meta.url), [
      "--cli",
      world.mcp,
      "--transport",
      "http",
      "--protocol-era",
      process.env.MODE ?? "auto",
      ...args
    ])
  )
const { tools } = await inspector("--method", "tools/list")
console.log(
  await follow(tools, (name, args) =>
    inspector(
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
