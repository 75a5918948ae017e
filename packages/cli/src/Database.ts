import {
  type Access,
  type Carrier,
  type Config,
  type Connections,
  type Erasures,
  Quotewire,
  Seal,
  type Storage
} from "@quotewire/core"
import { NodeCrypto } from "@quotewire/http"
import { PgStorage } from "@quotewire/storage-pg"
import { Console, Effect, type FileSystem, Layer, type Path, type Redacted, type Stdio } from "effect"
import { CommandFailed, type WrongUsage } from "./CommandErrors.ts"
import * as ConfigFile from "./ConfigFile.ts"
import type { HostSettings } from "./HostSettings.ts"
import * as Service from "./Service.ts"
import type { StorageSettings } from "./StorageSettings.ts"

type Url = Redacted.Redacted<string>

/** The storage of a process, on the clock of its database. If the database cannot be used, one sentence says why. */
export const storage = (url: Url): Layer.Layer<Storage.Storage, CommandFailed> =>
  PgStorage.layerWithClock({ url }).pipe(
    Layer.catchTag("DatabaseRefused", ({ message }) => Layer.effectContext(refused(message)))
  )

const refused = (message: string) => Effect.fail(new CommandFailed({ message }))

/** The database became unavailable during the command. */
export const unavailable = new CommandFailed({ message: "The database is unavailable." })

/** Updates the schema, and returns the names of the migrations that it ran. */
export const migrate = (url: Url): Effect.Effect<ReadonlyArray<string>, CommandFailed> =>
  PgStorage.migrate({ url }).pipe(Effect.catchTag("DatabaseRefused", ({ message }) => refused(message)))

/** Prints the migrations that ran to standard error: standard output is for results. */
export const printMigrations = (ran: ReadonlyArray<string>): Effect.Effect<void> =>
  ran.length === 0 ? Effect.void : Console.error(`quotewire: Ran the migrations ${ran.join(", ")}.`)

/** What a service on a database needs. */
export const dependencies = (
  settings: StorageSettings,
  config: Config,
  base_url: Effect.Effect<string>
): Service.ServiceDependencies<CommandFailed> => ({
  config,
  storage: storage(settings.database_url),
  sealKeys: Layer.succeed(Seal.SealKeys, { keys: settings.seal_keys }),
  base_url
})

/** Runs a program that needs only the organizations and keys of a database. */
export const withAccess =
  (url: Url) =>
  <A>(
    program: Effect.Effect<A, CommandFailed | Storage.StorageUnavailable, Access.Access>
  ): Effect.Effect<A, CommandFailed> =>
    Effect.provide(program, accessIn(url)).pipe(Effect.catchTag("StorageUnavailable", () => Effect.fail(unavailable)))

const accessIn = (url: Url): Layer.Layer<Access.Access, CommandFailed> =>
  Quotewire.administration.pipe(Layer.provide(storage(url)), Layer.provide(NodeCrypto.layer))

/** Runs a program that needs only the connections of a database, and the carriers of a configuration. */
export const withConnections =
  (settings: StorageSettings & Pick<HostSettings, "config">) =>
  <A>(
    program: Effect.Effect<
      A,
      CommandFailed | Storage.StorageUnavailable,
      Connections.Connections | Carrier.CarrierAdapters | Stdio.Stdio
    >
  ): Effect.Effect<A, CommandFailed | WrongUsage, Stdio.Stdio | FileSystem.FileSystem | Path.Path> =>
    Effect.flatMap(ConfigFile.load(settings.config), (config) =>
      Effect.provide(program, connectionsIn(settings, config))
    ).pipe(
      Effect.catchTag("SealKeysRefused", () => Effect.fail(Service.wrongKeys)),
      Effect.catchTag("StorageUnavailable", () => Effect.fail(unavailable))
    )

const connectionsIn = (settings: StorageSettings, config: Config) =>
  Quotewire.connections.pipe(
    Layer.provideMerge(Service.carriers(config)),
    Layer.provide(Layer.succeed(Seal.SealKeys, { keys: settings.seal_keys })),
    Layer.provide(storage(settings.database_url)),
    Layer.provide(NodeCrypto.layer)
  )

/** Runs a program that erases persons' data in a database. */
export const withErasures =
  (settings: StorageSettings) =>
  <A>(program: Effect.Effect<A, CommandFailed, Erasures.Erasures>): Effect.Effect<A, CommandFailed> =>
    Effect.provide(program, erasuresIn(settings)).pipe(
      Effect.catchTag("SealKeysRefused", () => Effect.fail(Service.wrongKeys)),
      Effect.catchTag("StorageUnavailable", () => Effect.fail(unavailable))
    )

const erasuresIn = (settings: StorageSettings) =>
  Quotewire.erasures.pipe(
    Layer.provide(Layer.succeed(Seal.SealKeys, { keys: settings.seal_keys })),
    Layer.provide(storage(settings.database_url)),
    Layer.provide(NodeCrypto.layer)
  )
