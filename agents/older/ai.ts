import { experimental_createMCPClient as createMCPClient } from "@ai-sdk/mcp"
import { createOpenAI } from "@ai-sdk/openai"
import { generateText, stepCountIs } from "ai"
import { world } from "../follow.ts"

const openai = createOpenAI({ baseURL: world.model, apiKey: "none" })
const client = await createMCPClient({ transport: { type: "http", url: world.mcp } })
const { text } = await generateText({
  model: openai.chat("scripted"),
  tools: await client.tools(),
  stopWhen: stepCountIs(30),
  prompt: world.prompt
})
console.log(text)
await client.close()
