import { Access, type Caller, type Ids, Quotewire } from "@quotewire/core"
import { Console, Context, Deferred, Effect, Layer, Option } from "effect"
import { Command } from "effect/cli"
import { CommandFailed } from "../CommandErrors.ts"
import * as ConfigFile from "../ConfigFile.ts"
import * as CarrierList from "../carriers/CarrierList.ts"
import * as Database from "../Database.ts"
import * as Host from "../Host.ts"
import * as HostSettings from "../HostSettings.ts"
import * as Service from "../Service.ts"
import { settingError } from "../Settings.ts"
import * as StorageSettings from "../StorageSettings.ts"
import * as Telemetry from "../Telemetry.ts"

const flags = {
  ...HostSettings.flags(""),
  database_url: StorageSettings.database_url,
  seal_keys: StorageSettings.seal_keys,
  keyless_organization: StorageSettings.keyless_organization,
  keyless_environment: StorageSettings.keyless_environment,
  migrate: StorageSettings.migrate,
  no_worker: StorageSettings.no_worker
}

interface ServeSettings extends HostSettings.HostSettings, StorageSettings.StorageSettings {
  readonly keyless_organization: Option.Option<Ids.OrganizationId>
  readonly keyless_environment: Caller.Environment
  readonly migrate: boolean
  readonly no_worker: boolean
}

/** `quotewire serve`: a server on PostgreSQL. Any number of them can share one database. */
export const serve = Command.make("serve", flags, (settings) =>
  Effect.scoped(run(settings)).pipe(Effect.provide(Telemetry.layer(settings)))
).pipe(Command.withDescription("Serve the API on PostgreSQL"))

/** The workspace of callers without a key, if it is configured. */
const keylessOf = Effect.fnUntraced(function* (settings: ServeSettings) {
  if (Option.isNone(settings.keyless_organization)) return null
  const organization_id = settings.keyless_organization.value
  const all = yield* Effect.flatMap(Access.Access, (access) => access.listOrganizations).pipe(
    Effect.mapError(() => Database.unavailable)
  )
  const organization = all.find(({ id }) => id === organization_id)
  if (organization === undefined) {
    return yield* new CommandFailed({
      message: settingError("keyless-organization", "name an organization of this database")
    })
  }
  const environment = settings.keyless_environment
  return { organization_id, environment, workspace_id: organization.workspaces[environment] }
})

const warnOfLiveCalls = Quotewire.isLiveWithoutCarriers.pipe(
  Effect.mapError(() => Database.unavailable),
  Effect.flatMap((hasNone) => (hasNone ? Effect.logWarning(no_live_carriers) : Effect.void))
)

const no_live_carriers =
  "The live environment can be called, but this host has no live carriers: live quote requests end without quotes. List your carriers in its configuration file (--config)."

const run = Effect.fnUntraced(function* (settings: ServeSettings) {
  const config = yield* ConfigFile.load(settings.config)
  if (settings.migrate) yield* Effect.flatMap(Database.migrate(settings.database_url), Database.printMigrations)
  const address = yield* Deferred.make<string>()
  const service = Service.layer(settings, Database.dependencies(settings, config, Deferred.await(address)))
  const core = yield* Layer.build(settings.no_worker ? service : Layer.provideMerge(Quotewire.worker, service))
  const keyless = yield* Effect.provideContext(keylessOf(settings), core)
  const { base_url } = yield* Host.serve(settings).pipe(
    Effect.provideContext(Context.add(core, Access.KeylessWorkspace, keyless))
  )
  yield* Deferred.succeed(address, base_url)
  yield* warnOfLiveCalls.pipe(Effect.provideContext(Context.add(core, Access.KeylessWorkspace, keyless)))
  const carriers = yield* Effect.provideContext(Quotewire.carrierIds, core)
  if (settings.json) yield* CarrierList.log(carriers)
  yield* Console.log(
    settings.json ? JSON.stringify({ base_url }) : `Quotewire is ready at ${base_url}\n${CarrierList.text(carriers)}`
  )
  return yield* Effect.never
})
