import { availableParallelism } from "node:os"
import { Access, type Caller, type Ids, Quotewire } from "@quotewire/core"
import type { OAuthSettings } from "@quotewire/http"
import { Console, Context, Deferred, Effect, Layer, Option } from "effect"
import { Command } from "effect/cli"
import * as OAuthSetting from "../agents/OAuthSetting.ts"
import * as CarrierList from "../carriers/CarrierList.ts"
import * as ConfigFile from "../config/ConfigFile.ts"
import type { ReadyMessage } from "../processes/Messages.ts"
import * as Primary from "../processes/Primary.ts"
import * as Role from "../processes/Role.ts"
import * as Worker from "../processes/Worker.ts"
import * as Database from "../service/Database.ts"
import * as Host from "../service/Host.ts"
import type * as Measuring from "../service/Measuring.ts"
import * as Service from "../service/Service.ts"
import * as Telemetry from "../service/Telemetry.ts"
import { CommandFailed } from "../settings/CommandErrors.ts"
import * as HostSettings from "../settings/HostSettings.ts"
import { reportAllErrors } from "../settings/Parameters.ts"
import * as Settings from "../settings/Settings.ts"
import * as StorageSettings from "../settings/StorageSettings.ts"

const flags = {
  ...HostSettings.flags(""),
  ...StorageSettings.database,
  pooler_url: StorageSettings.poolerUrl,
  work_cells: StorageSettings.workCells,
  seal_keys: StorageSettings.sealKeys,
  keyless_organization: StorageSettings.keylessOrganization,
  keyless_environment: StorageSettings.keylessEnvironment,
  migrate: StorageSettings.migrate,
  no_worker: StorageSettings.noWorker,
  oauth: OAuthSetting.oauth,
  operators: Settings.operators,
  console: Settings.consolePages,
  processes: Settings.processes
}

interface ServeSettings extends HostSettings.HostSettings, StorageSettings.StorageSettings {
  readonly keyless_organization: Option.Option<Ids.OrganizationId>
  readonly keyless_environment: Caller.Environment
  readonly migrate: boolean
  readonly no_worker: boolean
  readonly oauth: Option.Option<OAuthSettings>
  readonly operators: boolean
  readonly console: boolean
  readonly processes: number | "auto"
}

/** `quotewire serve` serves the API on PostgreSQL. Any number of these processes can share one database. */
export const serve = Command.make("serve", reportAllErrors(flags), (settings) => run(settings)).pipe(
  Command.withDescription("Serve the API on PostgreSQL")
)

/** Serves in this process, supervises worker processes (`--processes`), or serves as one of these workers. */
const run = (settings: ServeSettings) => {
  const role = Role.role()
  const telemetry = Telemetry.layer(settings)
  if (role !== "alone") {
    const worker = {
      ...settings,
      migrate: settings.migrate && role === "first",
      metrics_are_collected: true,
      receiver: Role.receiver()
    }
    return Effect.provide(Worker.run(host(worker)), telemetry)
  }
  const count = Settings.countOf(settings.processes, availableParallelism())
  if (count === 1) {
    return host(settings).pipe(
      Effect.flatMap(announce(settings)),
      Effect.andThen(Effect.never),
      Effect.scoped,
      Effect.provide(telemetry)
    )
  }
  // Does not send traces from here, because the workers send them.
  const logs = Telemetry.layer({ log_format: settings.log_format, otlp_url: Option.none() })
  return Effect.scoped(Primary.run(settings, count, announce(settings))).pipe(Effect.provide(logs))
}

/** The workspace for callers without a key, if one is configured. */
const keylessOf = Effect.fnUntraced(function* (settings: ServeSettings) {
  if (Option.isNone(settings.keyless_organization)) return null
  const organization_id = settings.keyless_organization.value
  const organizations = yield* Access.Access.use((access) => access.listOrganizations).pipe(
    Effect.mapError(() => Database.unavailable)
  )
  const organization = organizations.find(({ id }) => id === organization_id)
  if (organization === undefined) {
    return yield* new CommandFailed({
      message: Settings.settingError("keyless-organization", "name an organization of this database")
    })
  }
  const environment = settings.keyless_environment
  return { organization_id, environment, workspace_id: organization.workspaces[environment] }
})

const noLiveCarriers =
  "This host has no live carriers, so live quote requests end without quotes. List your carriers in its configuration file (--config)."

/** Prints or logs that a host is ready, and which carriers it has. */
const announce =
  ({ json }: Pick<ServeSettings, "json">): Primary.Announce =>
  ({ base_url, carriers, is_live_without_carriers }) =>
    Effect.gen(function* () {
      if (is_live_without_carriers) yield* Effect.logWarning(noLiveCarriers)
      if (json) yield* CarrierList.log(carriers)
      yield* Console.log(
        json ? JSON.stringify({ base_url }) : `Quotewire is ready at ${base_url}\n${CarrierList.text(carriers)}`
      )
    })

/** Serves until the scope closes. Returns when the host is listening. */
const host = Effect.fnUntraced(function* (
  settings: ServeSettings & Measuring.MetricsSettings & Pick<Host.HostOptions, "receiver">
) {
  const config = yield* ConfigFile.load(settings.config)
  const storedAt = yield* Database.addressOf(settings)
  if (settings.migrate) yield* Effect.flatMap(Database.migrate(storedAt), Database.printMigrations)
  const address = yield* Deferred.make<string>()
  const service = Service.layer(settings, Database.dependencies(storedAt, settings, config, Deferred.await(address)))
  const core = yield* Layer.build(settings.no_worker ? service : Layer.provideMerge(Quotewire.worker, service))
  const keyless = yield* Effect.provideContext(keylessOf(settings), core)
  const context = Context.add(core, Access.KeylessWorkspace, keyless)
  const oauth = Option.getOrNull(settings.oauth)
  const { base_url } = yield* Effect.provideContext(
    Host.serve({ ...settings, oauth, console: settings.console ? {} : null }),
    context
  )
  yield* Deferred.succeed(address, base_url)
  const is_live_without_carriers = yield* Quotewire.isLiveWithoutCarriers.pipe(
    Effect.mapError(() => Database.unavailable),
    Effect.provideContext(context)
  )
  const carriers = yield* Effect.provideContext(Quotewire.carrierIds, core)
  return { base_url, carriers, is_live_without_carriers } satisfies ReadyMessage
})
