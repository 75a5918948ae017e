import { type Access, Carrier, type Connections, Quotewire, Seal, type Storage } from "@quotewire/core"
import { NodeCrypto } from "@quotewire/http"
import { PgStorage } from "@quotewire/storage-pg"
import { Console, Effect, Layer, type Redacted, type Stdio } from "effect"
import { CarrierLoader } from "./CarrierLoader.ts"
import { CommandFailed } from "./CommandErrors.ts"
import { type ServiceDependencies, wrongKeys } from "./Service.ts"
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
  base_url: Effect.Effect<string>
): ServiceDependencies<CommandFailed> => ({
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

/** Runs a program that needs only the connections of a database, and the carriers that they are for. */
export const withConnections =
  (settings: StorageSettings) =>
  <A>(
    program: Effect.Effect<
      A,
      CommandFailed | Storage.StorageUnavailable,
      Connections.Connections | Carrier.CarrierAdapters | Stdio.Stdio
    >
  ): Effect.Effect<A, CommandFailed, Stdio.Stdio> =>
    Effect.gen(function* () {
      const adapters = yield* yield* CarrierLoader
      return yield* Effect.provide(program, connectionsIn(settings, adapters))
    }).pipe(
      Effect.catchTag("SealKeysRefused", () => Effect.fail(wrongKeys)),
      Effect.catchTag("StorageUnavailable", () => Effect.fail(unavailable))
    )

const connectionsIn = (settings: StorageSettings, adapters: ReadonlyArray<Carrier.CarrierAdapter>) =>
  Quotewire.connections.pipe(
    Layer.provideMerge(Layer.succeed(Carrier.CarrierAdapters, adapters)),
    Layer.provide(Layer.succeed(Seal.SealKeys, { keys: settings.seal_keys })),
    Layer.provide(storage(settings.database_url)),
    Layer.provide(NodeCrypto.layer)
  )
