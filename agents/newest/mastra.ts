import { createOpenAI } from "@ai-sdk/openai"
import { Agent } from "@mastra/core/agent"
import { MCPClient } from "@mastra/mcp"
import { world } from "../follow.ts"

const openai = createOpenAI({ baseURL: world.model, apiKey: "none" })
const client = new MCPClient({ servers: { quotewire: { url: new URL(world.mcp) } } })
const agent = new Agent({
  id: "agent",
  name: "agent",
  instructions: "You get quotes.",
  model: openai.responses("scripted"),
  tools: await client.listTools()
})
const { text } = await agent.generate(world.prompt, { maxSteps: 30 })
console.log(text)
await client.disconnect()
process.exit(0)
