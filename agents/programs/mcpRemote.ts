import { fileURLToPath } from "node:url"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { world } from "../follow.ts"
import { journey } from "../sdk.ts"

const client = new Client({ name: "sdk", version: "1" })
const command = fileURLToPath(new URL("node_modules/.bin/mcp-remote", import.meta.url))
await client.connect(
  new StdioClientTransport({ command, args: [world.mcp, "--allow-http", "--transport", "http-only"] })
)
await journey(client)
