import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { connect } from "./clients.ts"
import { AgentHosts, agentHosts } from "./host.ts"

const program = fileURLToPath(
  new URL("../../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", import.meta.url)
)

/** Runs the inspector with a home of its own: it keeps notes there. */
const inspect = (...args: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const home = mkdtempSync(join(tmpdir(), "quotewire-inspector-"))
    try {
      return await new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
        const env = { ...process.env, HOME: home }
        const child = execFile(process.execPath, [program, "--cli", ...args], { env }, (_, stdout, stderr) =>
          resolve({ code: child.exitCode ?? -1, stdout, stderr })
        )
      })
    } finally {
      rmSync(home, { recursive: true })
    }
  })

layer(agentHosts(), { excludeTestServices: true })("the official inspector", (it) => {
  it.effect.each(["legacy", "auto", "modern"])("finds every schema of a tool portable: %s", (era) =>
    Effect.gen(function* () {
      const { base_urls, keys } = yield* AgentHosts
      const { code, stderr, stdout } = yield* inspect(
        ...[`${base_urls[0]}/v1/mcp`, "--transport", "http", "--protocol-era", era],
        ...["--method", "tools/list", "--strict", "--header", `Authorization: Bearer ${keys.server}`]
      )
      assert.deepStrictEqual([code, stderr], [0, ""])
      const client = yield* connect("2.4.0, default", base_urls, keys.server)
      assert.sameMembers(
        JSON.parse(stdout).tools.map(({ name }: { name: string }) => name),
        [...(yield* client.tools)]
      )
    })
  )
})
