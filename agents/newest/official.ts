import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { follow, world } from "../follow.ts"

const modes = { legacy: "legacy", auto: "auto", modern: { pin: "2026-07-28" } } as const
const mode = Object.entries(modes).find(([name]) => name === process.env.MODE)?.[1] ?? "legacy"
const client = new Client({ name: "official", version: "2.4.0" }, { versionNegotiation: { mode } })
const [command, ...args] = JSON.parse(process.env.COMMAND ?? "[]")
await client.connect(
  command === undefined
    ? new StreamableHTTPClientTransport(new URL(world.mcp))
    : new StdioClientTransport({ command, args: [...args, new URL(world.mcp).origin] })
)
const { tools } = await client.listTools()
console.log(await follow(tools, (name, args) => client.callTool({ name, arguments: args })))
await client.close()
