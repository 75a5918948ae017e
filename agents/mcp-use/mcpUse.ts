import { ChatOpenAI } from "@langchain/openai"
import { MCPAgent, MCPClient } from "mcp-use"
import { world } from "../follow.ts"

const client = new MCPClient({ mcpServers: { quotewire: { url: world.mcp } } })
const llm = new ChatOpenAI({ model: "scripted", apiKey: "none", configuration: { baseURL: world.model } })
const agent = new MCPAgent({ llm, client, maxSteps: 30 })
console.log(await agent.run({ prompt: world.prompt }))
await client.closeAllSessions()
process.exit(0)
