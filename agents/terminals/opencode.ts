import { writeFileSync } from "node:fs"
import { world } from "../follow.ts"
import { printed } from "../printed.ts"
import { platform } from "./platform.ts"

writeFileSync(
  "opencode.json",
  JSON.stringify({
    autoupdate: false,
    share: "disabled",
    provider: {
      scripted: {
        npm: "@ai-sdk/openai-compatible",
        name: "scripted",
        options: { baseURL: world.model, apiKey: "none" },
        models: { scripted: { name: "scripted" } }
      }
    },
    model: "scripted/scripted",
    small_model: "scripted/scripted",
    permission: "allow",
    mcp: { quotewire: { type: "remote", url: world.mcp, enabled: true, oauth: false } }
  })
)
console.log(
  await printed(new URL(`node_modules/opencode-${platform}/bin/opencode`, import.meta.url), ["run", world.prompt], {
    OPENCODE_DISABLE_MODELS_FETCH: "1"
  })
)
