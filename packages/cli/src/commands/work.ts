import { Allowance, Quotewire } from "@quotewire/core"
import { Console, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import * as ConfigFile from "../config/ConfigFile.ts"
import * as Database from "../service/Database.ts"
import * as Measuring from "../service/Measuring.ts"
import * as Service from "../service/Service.ts"
import * as Telemetry from "../service/Telemetry.ts"
import type { HostSettings } from "../settings/HostSettings.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import { refusedPort } from "../settings/refusals.ts"
import * as Settings from "../settings/Settings.ts"
import * as StorageSettings from "../settings/StorageSettings.ts"

const flags = {
  config: Settings.config,
  base_url: Settings.publicUrl,
  webhook_allow: Settings.webhookAllow(""),
  webhook_header_prefix: Settings.webhookHeaderPrefix,
  json: Settings.json,
  host: Settings.host,
  metrics_port: Settings.metricsPort,
  otlp_url: Settings.otlpUrl,
  log_format: Settings.logFormat,
  ...StorageSettings.database,
  pooler_url: StorageSettings.poolerUrl,
  work_cells: StorageSettings.workCells,
  seal_keys: StorageSettings.sealKeys
}

// The settings include the hosts' address: links in quotes lead to the hosts, and this process cannot know their
// address.
interface WorkSettings
  extends Pick<Service.ServiceSettings, "webhook_allow" | "webhook_header_prefix">,
    Pick<HostSettings, "host" | "metrics_port" | "otlp_url" | "log_format" | "config">,
    StorageSettings.StorageSettings {
  readonly base_url: string
  readonly json: boolean
}

/** `quotewire work` runs a database's background jobs. Other processes serve calls. */
export const work = Command.make("work", reportAllErrors(flags), (settings) =>
  Effect.scoped(run(settings)).pipe(Effect.provide(Telemetry.layer(settings)))
).pipe(Command.withDescription("Run the background jobs of a database, without serving calls"))

/** Values for settings that matter only to hosts. */
const unusedHostSettings = { limits: Allowance.noLimits, no_limits: true, request_log: false, feedback: false }

const run = Effect.fnUntraced(function* (settings: WorkSettings) {
  const config = yield* ConfigFile.load(settings.config)
  const storedAt = yield* Database.addressOf(settings)
  const service = Service.layer(
    { ...settings, ...unusedHostSettings },
    Database.dependencies(storedAt, settings, config, Effect.succeed(settings.base_url))
  )
  const core = yield* Layer.build(Layer.provideMerge(Quotewire.worker, service))
  yield* Measuring.measure(settings).pipe(
    Effect.provideContext(core),
    Effect.mapError((refused) => refusedPort(settings, refused))
  )
  yield* Console.log(settings.json ? JSON.stringify({ working: true }) : "Quotewire is running background jobs")
  return yield* Effect.never
})
