import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { world } from "../follow.ts"
import { printed } from "../printed.ts"
import { platform } from "./platform.ts"

writeFileSync("mcp.json", JSON.stringify({ mcpServers: { quotewire: { type: "http", url: world.mcp } } }))
const command = `${process.execPath} ${fileURLToPath(new URL("agree.ts", import.meta.url))}`
writeFileSync("settings.json", JSON.stringify({ hooks: { Elicitation: [{ hooks: [{ type: "command", command }] }] } }))
const args = [
  "--print",
  world.prompt,
  "--mcp-config",
  "mcp.json",
  "--strict-mcp-config",
  "--settings",
  "settings.json",
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
