import { mkdirSync, writeFileSync } from "node:fs"
import { world } from "../follow.ts"
import { printed } from "../printed.ts"

mkdirSync(".gemini")
writeFileSync(
  ".gemini/settings.json",
  JSON.stringify({
    mcpServers: { quotewire: { httpUrl: world.mcp, trust: true } },
    security: { auth: { selectedType: "gemini-api-key" } },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    general: { disableAutoUpdate: true }
  })
)
const args = ["--prompt", world.prompt, "--model", "gemini-2.5-flash", "--yolo", "--skip-trust"]
console.log(
  await printed(new URL("node_modules/.bin/gemini", import.meta.url), args, {
    GEMINI_API_KEY: "none",
    GOOGLE_GEMINI_BASE_URL: world.model
  })
)
