import { Access, operations, Quotewire } from "@quotewire/core"
import type { ServiceApi } from "@quotewire/http"
import { asking, Bridge, Local, StdioServer, Tools } from "@quotewire/mcp"
import { Console, Context, Deferred, Effect, Layer, Option, Redacted } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { WrongUsage } from "../CommandErrors.ts"
import * as ConfigFile from "../ConfigFile.ts"
import * as SandboxConnections from "../carriers/SandboxConnections.ts"
import * as Host from "../Host.ts"
import * as HostSettings from "../HostSettings.ts"
import * as MemoryService from "../MemoryService.ts"
import * as Settings from "../Settings.ts"
import * as Telemetry from "../Telemetry.ts"
import { version } from "../version.ts"

const flags = {
  ...HostSettings.flags("127.0.0.0/8,::1/128"),
  port: Settings.agent_port,
  base_url: Settings.host_url,
  api_key: Settings.api_key,
  http: Settings.http
}

interface McpSettings extends HostSettings.HostSettings {
  readonly api_key: Option.Option<Redacted.Redacted<string>>
  readonly http: boolean
}

/** `quotewire mcp`: serves one agent, from this process or from a running host. */
export const mcp = Command.make("mcp", flags, (settings) =>
  Effect.scoped(serve(settings)).pipe(Effect.provide(Telemetry.layer(settings)))
).pipe(Command.withDescription("Serve an agent (MCP) on standard input and output"))

const serve = (settings: McpSettings) => {
  const key = Option.getOrNull(Option.map(settings.api_key, Redacted.value))
  const { base_url } = settings
  if (Option.isNone(base_url)) return embedded(settings, key)
  if (settings.http) return Effect.fail(new WrongUsage({ message: "--http and --base-url cannot be used together." }))
  if (Option.isSome(settings.config))
    return Effect.fail(new WrongUsage({ message: "--config and --base-url cannot be used together." }))
  return bridged(base_url.value, key)
}

/** Forwards every message to a host. */
const bridged = (base_url: string, key: string | null) =>
  Effect.flatMap(Bridge.make({ base_url, key }), (answer) => StdioServer.serve({ answer, wake: Effect.void })).pipe(
    Effect.provide(FetchHttpClient.layer)
  )

/** Serves from a sandbox in memory, whose data is lost when this process ends. */
const embedded = Effect.fnUntraced(function* (settings: McpSettings, key: string | null) {
  const config = yield* ConfigFile.load(settings.config)
  const address = yield* Deferred.make<string>()
  const core = yield* Layer.build(MemoryService.layer(settings, config, Deferred.await(address)))
  const keyless = yield* Effect.provideContext(makeSandbox(key), core)
  yield* Effect.provideContext(SandboxConnections.set(config, keyless.organization_id), core)
  const context = Context.add(core, Access.KeylessWorkspace, keyless)
  // Needed even on standard input and output: the links in quotes and errors must lead somewhere.
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

/** Creates one organization. If the agent has a key, it becomes a key of this organization. */
const makeSandbox = Effect.fnUntraced(function* (key: string | null) {
  const access = yield* Access.Access
  const organization = yield* Effect.orDie(access.createOrganization("An agent"))
  const kind = (["server", "widget", "platform"] as const).find((one) => key?.startsWith(`sandbox_${one}_`))
  if (key !== null) {
    if (kind === undefined)
      return yield* new WrongUsage({
        message:
          "The sandbox in memory accepts only sandbox keys, such as sandbox_server_…; use --base-url for a live key."
      })
    yield* Effect.orDie(access.createKey({ organization_id: organization.id, environment: "sandbox", kind, key }))
  }
  return {
    organization_id: organization.id,
    workspace_id: organization.workspaces.sandbox,
    environment: "sandbox"
  } as const
})
