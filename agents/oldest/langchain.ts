import { createReactAgent } from "@langchain/langgraph/prebuilt"
import { MultiServerMCPClient } from "@langchain/mcp-adapters"
import { ChatOpenAI } from "@langchain/openai"
import { world } from "../follow.ts"

const client = new MultiServerMCPClient({ mcpServers: { quotewire: { transport: "http", url: world.mcp } } })
const llm = new ChatOpenAI({ model: "scripted", apiKey: "none", configuration: { baseURL: world.model } })
const agent = createReactAgent({ llm, tools: await client.getTools() })
const { messages } = await agent.invoke({ messages: [{ role: "user", content: world.prompt }] }, { recursionLimit: 80 })
console.log(messages.at(-1)?.content)
await client.close()
