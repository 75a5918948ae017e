import { Bridge, StdioServer } from "@quotewire/mcp/stdio"
import { Effect, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import type { AgentSettings } from "../agents/MemoryAgent.ts"
import * as Telemetry from "../service/Telemetry.ts"
import { WrongUsage } from "../settings/CommandErrors.ts"
import * as HostSettings from "../settings/HostSettings.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import * as Settings from "../settings/Settings.ts"

/** The address of a running host to forward calls to. It is not the address of the host's agent endpoint. */
const hostUrl = Settings.textSetting(
  "base-url",
  "Address of a running host to forward calls to; by default, an in-memory sandbox"
).pipe(
  Flag.filterMap(Bridge.readHost, () => Settings.settingError("base-url", Bridge.hostRule)),
  Flag.optional
)

const flags = {
  ...HostSettings.flags("127.0.0.0/8,::1/128"),
  port: Settings.agentPort,
  base_url: hostUrl,
  api_key: Settings.agentKey,
  http: Settings.http
}

interface McpSettings extends AgentSettings {
  readonly api_key: Option.Option<Redacted.Redacted<string>>
}

/** `quotewire mcp` serves one agent, from a sandbox in this process or from a running host. */
export const mcp = Command.make("mcp", reportAllErrors(flags), (settings) =>
  Effect.scoped(serve(settings)).pipe(Effect.provide(Telemetry.layer(settings)))
).pipe(Command.withDescription("Serve an agent (MCP) over standard input and output"))

const serve = (settings: McpSettings) => {
  const key = Option.getOrNull(Option.map(settings.api_key, Redacted.value))
  const { base_url } = settings
  if (Option.isNone(base_url)) return inMemory(settings, key)
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

/**
 * Serves an in-memory sandbox. Its module is imported lazily, so that a process that only forwards does not load the
 * service.
 */
const inMemory = (settings: McpSettings, key: string | null) =>
  Effect.flatMap(
    Effect.promise(() => import("../agents/MemoryAgent.ts")),
    (agent) => agent.serve(settings, key)
  )
