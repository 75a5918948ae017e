import { Agent, MCPServerStreamableHttp, OpenAIProvider, Runner, setTracingDisabled } from "@openai/agents"
import { world } from "../follow.ts"

setTracingDisabled(true)
const server = new MCPServerStreamableHttp({ url: world.mcp, name: "quotewire" })
await server.connect()
const agent = new Agent({
  name: "agent",
  model: "scripted",
  mcpServers: [server],
  mcpConfig: { convertSchemasToStrict: process.env.STRICT === "true" }
})
const modelProvider = new OpenAIProvider({ baseURL: world.model, apiKey: "none" })
const { finalOutput } = await new Runner({ modelProvider }).run(agent, world.prompt, { maxTurns: 30 })
console.log(finalOutput)
await server.close()
