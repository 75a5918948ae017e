import { Access, operations, Quotewire } from "@quotewire/core"
import type { ServiceApi } from "@quotewire/http"
import { asking, Local, StdioServer, Tools } from "@quotewire/mcp"
import { Console, Context, Deferred, Effect, Layer } from "effect"
import * as SandboxConnections from "../carriers/SandboxConnections.ts"
import * as ConfigFile from "../config/ConfigFile.ts"
import * as Host from "../service/Host.ts"
import * as MemoryService from "../service/MemoryService.ts"
import { WrongUsage } from "../settings/CommandErrors.ts"
import type { HostSettings } from "../settings/HostSettings.ts"
import { version } from "../version.ts"

/** The settings of a sandbox that serves one agent. */
export interface AgentSettings extends HostSettings {
  /** Whether the agent calls over HTTP instead of standard input and output. */
  readonly http: boolean
}

/** Serves an in-memory sandbox. Its data is lost when this process ends. */
export const serve = Effect.fnUntraced(function* (settings: AgentSettings, key: string | null) {
  const config = yield* ConfigFile.load(settings.config)
  const address = yield* Deferred.make<string>()
  const core = yield* Layer.build(MemoryService.layer(settings, config, Deferred.await(address)))
  const keyless = yield* Effect.provideContext(makeSandbox(key), core)
  yield* Effect.provideContext(SandboxConnections.set(config, keyless.organization_id), core)
  const context = Context.add(core, Access.KeylessWorkspace, keyless)
  // The host is needed even for standard input and output, because the links in quotes and errors lead to it.
  const host = yield* Effect.provideContext(Host.serve(settings, "no_rest"), context)
  yield* Deferred.succeed(address, host.base_url)
  if (settings.http) {
    yield* Console.log(settings.json ? JSON.stringify({ base_url: host.base_url }) : `${host.base_url}/v1/mcp`)
    return yield* Effect.never
  }
  const answer = yield* Local.make<ServiceApi.Services>({
    tools: Tools.of<ServiceApi.Services>(operations),
    version,
    asking,
    key,
    docs_url: `${host.base_url}/docs`
  })
  return yield* Effect.provideContext(StdioServer.serve({ answer, wake: Quotewire.releaseLongPolls }), context)
})

/**
 * Creates the sandbox's only organization, and returns its workspace for calls without a key. If the agent has a key,
 * registers it as a server, widget or platform key of this organization.
 */
const makeSandbox = Effect.fnUntraced(function* (key: string | null) {
  const access = yield* Access.Access
  const organization = yield* Effect.orDie(access.createOrganization("An agent"))
  const kind = (["server", "widget", "platform"] as const).find((candidate) => key?.startsWith(`sandbox_${candidate}_`))
  if (key !== null) {
    if (kind === undefined)
      return yield* new WrongUsage({
        message:
          "The in-memory sandbox accepts only sandbox keys, such as sandbox_server_…. To use a live key, set --base-url to its host."
      })
    yield* Effect.orDie(access.createKey({ organization_id: organization.id, environment: "sandbox", kind, key }))
  }
  return {
    organization_id: organization.id,
    workspace_id: organization.workspaces.sandbox,
    environment: "sandbox"
  } as const
})
