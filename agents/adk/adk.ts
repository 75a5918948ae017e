import { Gemini, InMemoryRunner, LlmAgent, MCPToolset } from "@google/adk"
import { world } from "../follow.ts"

process.env.GOOGLE_GEMINI_BASE_URL = world.model

const toolset = new MCPToolset({ type: "StreamableHTTPConnectionParams", url: world.mcp })
const agent = new LlmAgent({
  name: "agent",
  model: new Gemini({ model: "gemini-2.5-flash", apiKey: "none" }),
  tools: [toolset]
})
const runner = new InMemoryRunner({ agent, appName: "journey" })
const session = await runner.sessionService.createSession({ appName: "journey", userId: "person" })
let last = ""
for await (const event of runner.runAsync({
  userId: "person",
  sessionId: session.id,
  newMessage: { role: "user", parts: [{ text: world.prompt }] }
})) {
  last = event.content?.parts?.map(({ text = "" }) => text).join("") ?? last
}
console.log(last)
await toolset.close()
process.exit(0)
