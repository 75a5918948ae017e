import { createOpenAI } from "@ai-sdk/openai"
import { BuiltInAgent } from "@copilotkit/runtime/v2"
import { world } from "../follow.ts"

const openai = createOpenAI({ baseURL: world.model, apiKey: "none" })
const agent = new BuiltInAgent({
  model: openai.responses("scripted"),
  maxSteps: 30,
  mcpServers: [{ type: "http", url: world.mcp }]
})
agent.addMessage({ id: "1", role: "user", content: world.prompt })
const { newMessages } = await agent.runAgent()
console.log(newMessages.at(-1)?.content)
process.exit(0)
