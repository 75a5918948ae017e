import { googleAI } from "@genkit-ai/google-genai"
import { createMcpClient } from "@genkit-ai/mcp"
import { genkit } from "genkit"
import { world } from "../follow.ts"

const ai = genkit({ plugins: [googleAI({ apiKey: "none", baseUrl: world.model })] })
const client = createMcpClient({ name: "quotewire", mcpServer: { url: world.mcp } })
await client.ready()
const { text } = await ai.generate({
  model: googleAI.model("gemini-2.5-flash"),
  tools: await client.getActiveTools(ai),
  maxTurns: 30,
  prompt: world.prompt
})
console.log(text)
await client.disable()
process.exit(0)
