import Anthropic from "@anthropic-ai/sdk"
import { mcpTools } from "@anthropic-ai/sdk/helpers/beta/mcp"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { world } from "../follow.ts"

const client = new Client({ name: "anthropic", version: "1" })
await client.connect(new StreamableHTTPClientTransport(new URL(world.mcp)))
const { tools } = await client.listTools()
const anthropic = new Anthropic({ apiKey: "none", baseURL: world.model })
const message = await anthropic.beta.messages.toolRunner({
  model: "scripted",
  max_tokens: 1_000,
  max_iterations: 30,
  messages: [{ role: "user", content: world.prompt }],
  tools: mcpTools(tools, client)
})
console.log(message.content.map((block) => (block.type === "text" ? block.text : "")).join(""))
await client.close()
