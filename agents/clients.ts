import { fileURLToPath } from "node:url"
import type { Client } from "./Client.ts"

const quotewire = fileURLToPath(new URL("../packages/cli/bin/quotewire.js", import.meta.url))

/**
 * The clients in table order: the newest and the oldest release of each family.
 *
 * Every version has its own program, even where two are currently identical. Its imports must resolve in the folder of
 * that version. A function shared by several versions would need types for most of a client's API, and would be longer
 * than the program.
 */
export const clients: ReadonlyArray<Client> = [
  ...["legacy", "auto", "modern"].map((mode) => ({
    id: `official-${mode}`,
    title: `@modelcontextprotocol/client 2.4.0, ${mode}`,
    folder: "newest",
    program: "official.ts",
    env: { MODE: mode }
  })),
  {
    id: "official-stdio",
    title: "@modelcontextprotocol/client 2.4.0, stdio",
    folder: "newest",
    program: "official.ts",
    env: { COMMAND: JSON.stringify([process.execPath, quotewire, "mcp", "--base-url"]) }
  },
  { id: "sdk-1.32", title: "@modelcontextprotocol/sdk 1.32.2", folder: "newest", program: "sdk.ts" },
  { id: "sdk-1.12", title: "@modelcontextprotocol/sdk 1.12.3", folder: "oldest", program: "sdk.ts" },
  { id: "ai-7", title: "ai 7.0.173, @ai-sdk/mcp 2.0.99", folder: "newest", program: "ai.ts" },
  { id: "ai-4", title: "ai 4.3.19", folder: "oldest", program: "ai.ts" },
  { id: "openai-agents-0.20", title: "@openai/agents 0.20.0", folder: "newest", program: "openaiAgents.ts" },
  {
    id: "openai-agents-0.20-strict",
    title: "@openai/agents 0.20.0, strict",
    folder: "newest",
    program: "openaiAgents.ts",
    env: { STRICT: "true" }
  },
  { id: "openai-agents-0.8", title: "@openai/agents 0.8.5", folder: "previous", program: "openaiAgents.ts" },
  { id: "langchain-1.1", title: "@langchain/mcp-adapters 1.1.4", folder: "newest", program: "langchain.ts" },
  { id: "langchain-0.6", title: "@langchain/mcp-adapters 0.6.0", folder: "oldest", program: "langchain.ts" },
  { id: "mastra-2", title: "@mastra/mcp 2.0.0", folder: "newest", program: "mastra.ts" },
  { id: "mastra-1", title: "@mastra/mcp 1.18.0", folder: "previous", program: "mastra.ts" },
  { id: "genai-3", title: "@google/genai 3.1.0", folder: "newest", program: "genai.ts" },
  { id: "genai-1", title: "@google/genai 1.52.0", folder: "previous", program: "genai.ts" },
  { id: "genkit-1", title: "genkit 1.42.0, @genkit-ai/mcp 1.42.0", folder: "newest", program: "genkit.ts" },
  { id: "adk-2", title: "@google/adk 2.0.0", folder: "adk", program: "adk.ts" },
  { id: "anthropic-1", title: "@anthropic-ai/sdk 1.12.0, mcpTools", folder: "newest", program: "anthropic.ts" },
  { id: "copilotkit-1", title: "@copilotkit/runtime 1.75.0", folder: "copilotkit", program: "copilotKit.ts" },
  { id: "mcp-use-1", title: "mcp-use 1.34.6", folder: "mcp-use", program: "mcpUse.ts" },
  {
    id: "inspector-2",
    title: "@modelcontextprotocol/inspector 2.12.0, cli",
    folder: "programs",
    program: "inspector.ts"
  },
  { id: "mcporter-0.12", title: "mcporter 0.12.3", folder: "programs", program: "mcporter.ts" },
  { id: "mcp-remote-0.15", title: "mcp-remote 0.15.1", folder: "programs", program: "mcpRemote.ts" },
  { id: "claude-code", title: "Claude Code 2.1.330", folder: "terminals", program: "claude.ts", shows_forms: true },
  { id: "codex", title: "Codex 0.169.0", folder: "terminals", program: "codex.ts", shows_forms: true },
  { id: "gemini-cli", title: "Gemini CLI 0.61.0", folder: "terminals", program: "gemini.ts" },
  { id: "opencode", title: "opencode 1.18.33", folder: "terminals", program: "opencode.ts" }
]
