import { spawn } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { world } from "../follow.ts"

/*
 * Codex as an editor runs it: an editor shows forms to a person, while `codex exec` without approvals declines them
 * itself. In place of a person, this program agrees to the disclosure, and closes all other forms.
 */

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

/** A message from Codex, with the fields that this program reads. */
interface Message {
  readonly id?: string | number
  readonly method?: string
  readonly result?: { readonly thread?: { readonly id: string } }
  readonly params?: {
    readonly item?: { readonly type: string; readonly text?: string }
    readonly _meta?: { readonly codex_approval_kind?: string } | null
    readonly requestedSchema?: { readonly properties?: { readonly agree?: object } }
  }
}

const codex = spawn(fileURLToPath(new URL("node_modules/.bin/codex", import.meta.url)), ["app-server"], {
  stdio: ["pipe", "pipe", "inherit"]
})
const send = (message: object) => codex.stdin.write(`${JSON.stringify(message)}\n`)

/** What a person does with a form. Codex also uses a form to ask whether the model may call a tool. */
const answerTo = ({ _meta, requestedSchema }: NonNullable<Message["params"]>) => {
  if (_meta?.codex_approval_kind !== undefined) return { action: "accept", content: null, _meta: null }
  const agrees = requestedSchema?.properties?.agree !== undefined
  return { action: agrees ? "accept" : "cancel", content: agrees ? { agree: true } : null, _meta: null }
}

send({
  id: 1,
  method: "initialize",
  params: { clientInfo: { name: "agents", title: null, version: "1" }, capabilities: null }
})
send({ method: "initialized" })
send({
  id: 2,
  method: "thread/start",
  params: { approvalPolicy: "on-request", sandbox: "danger-full-access" }
})
for await (const line of createInterface({ input: codex.stdout })) {
  const message: Message = JSON.parse(line)
  const { id, method, params, result } = message
  if (id === 2) {
    const input = [{ type: "text", text: world.prompt, text_elements: [] }]
    send({ id: 3, method: "turn/start", params: { threadId: result?.thread?.id, input } })
  }
  if (method === "mcpServer/elicitation/request") send({ id, result: answerTo(params ?? {}) })
  if (method === "item/completed" && params?.item?.type === "agentMessage") console.log(params.item.text)
  if (method === "turn/completed") break
}
codex.kill()
