import { createOpenAI } from "@ai-sdk/openai"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { experimental_createMCPClient as createMCPClient, generateText } from "ai"
import { world } from "../follow.ts"

const openai = createOpenAI({ baseURL: world.model, apiKey: "none" })
const client = await createMCPClient({ transport: new StreamableHTTPClientTransport(new URL(world.mcp)) })
const { text } = await generateText({
  model: openai.chat("scripted"),
  tools: await client.tools(),
  maxSteps: 30,
  prompt: world.prompt
})
console.log(text)
await client.close()
