import { writeFileSync } from "node:fs"
import { follow, world } from "../follow.ts"
import { printed } from "../printed.ts"

writeFileSync("mcporter.json", JSON.stringify({ mcpServers: { quotewire: { baseUrl: world.mcp } } }))
const file = new URL("node_modules/.bin/mcporter", import.meta.url)
const mcporter = (...args: ReadonlyArray<string>) => printed(file, ["--config", "mcporter.json", ...args])
const { tools } = JSON.parse(await mcporter("list", "quotewire", "--schema", "--json"))
console.log(await follow(tools, (name, args) => mcporter("call", `quotewire.${name}`, "--args", JSON.stringify(args))))
