import { GoogleGenAI, mcpToTool } from "@google/genai"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { world } from "../follow.ts"

const client = new Client({ name: "genai", version: "1" })
await client.connect(new StreamableHTTPClientTransport(new URL(world.mcp)))
const google = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: world.model } })
const { text } = await google.models.generateContent({
  model: "scripted",
  contents: world.prompt,
  config: { tools: [mcpToTool(client)], automaticFunctionCalling: { maximumRemoteCalls: 30 } }
})
console.log(text)
await client.close()
