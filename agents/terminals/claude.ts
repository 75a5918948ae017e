import { writeFileSync } from "node:fs"
import { world } from "../follow.ts"
import { printed } from "../printed.ts"
import { platform } from "./platform.ts"

writeFileSync("mcp.json", JSON.stringify({ mcpServers: { quotewire: { type: "http", url: world.mcp } } }))
const args = [
  "--print",
  world.prompt,
  "--mcp-config",
  "mcp.json",
  "--strict-mcp-config",
  "--allowedTools",
  "mcp__quotewire"
]
console.log(
  await printed(
    new URL(`node_modules/@anthropic-ai/claude-code-${platform}/claude`, import.meta.url),
    [...args, "--model", "claude-sonnet-4-5", "--max-turns", "40"],
    {
      ANTHROPIC_BASE_URL: world.model,
      ANTHROPIC_API_KEY: "none",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1"
    }
  )
)
