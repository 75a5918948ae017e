import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { world } from "../follow.ts"
import { journey } from "../sdk.ts"

const client = new Client({ name: "sdk", version: "1" })
await client.connect(new StreamableHTTPClientTransport(new URL(world.mcp)))
await journey(client)
