import { mkdirSync, writeFileSync } from "node:fs"
import { world } from "../follow.ts"
import { printed } from "../printed.ts"

mkdirSync(".codex")
writeFileSync(
  ".codex/config.toml",
  `model = "scripted"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = ${JSON.stringify(world.model)}
wire_api = "responses"
[mcp_servers.quotewire]
url = ${JSON.stringify(world.mcp)}
`
)
const args = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", world.prompt]
console.log(await printed(new URL("node_modules/.bin/codex", import.meta.url), args, {}))
