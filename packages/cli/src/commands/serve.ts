import { Quotewire } from "@quotewire/core"
import { Console, Effect, Layer, Option } from "effect"
import { Command } from "effect/cli"
import * as Database from "../Database.ts"
import * as Host from "../Host.ts"
import * as HostSettings from "../HostSettings.ts"
import * as Service from "../Service.ts"
import * as StorageSettings from "../StorageSettings.ts"

const flags = {
  ...HostSettings.flags(""),
  database_url: StorageSettings.database_url,
  seal_keys: StorageSettings.seal_keys,
  migrate: StorageSettings.migrate,
  no_worker: StorageSettings.no_worker
}

interface ServeSettings extends HostSettings.HostSettings, StorageSettings.StorageSettings {
  readonly migrate: boolean
  readonly no_worker: boolean
}

/** `quotewire serve`: the standalone host, with everything in PostgreSQL. Several of them can share one database. */
export const serve = Command.make("serve", flags, (settings) => Effect.scoped(run(settings))).pipe(
  Command.withDescription("Serve with everything in PostgreSQL")
)

const run = Effect.fnUntraced(function* (settings: ServeSettings) {
  if (settings.migrate) yield* Effect.flatMap(Database.migrate(settings.database_url), Database.sayMigrated)
  let base_url = Option.getOrElse(settings.base_url, () => "")
  const service = Service.layer(
    settings,
    Database.ground(settings, () => base_url)
  )
  const core = yield* Layer.build(settings.no_worker ? service : Layer.provideMerge(Quotewire.worker, service))
  const host = yield* Effect.provideContext(Host.serve(settings), core)
  base_url = host.base_url
  yield* Console.log(settings.json ? JSON.stringify({ base_url }) : `Quotewire is ready at ${base_url}`)
  return yield* Effect.never
})
