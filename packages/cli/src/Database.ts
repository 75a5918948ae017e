import { type Access, Quotewire, Seal, type Storage } from "@quotewire/core"
import { NodeCrypto } from "@quotewire/http"
import { PgStorage } from "@quotewire/storage-pg"
import { Console, Effect, Layer, type Redacted } from "effect"
import { Failed } from "./Failed.ts"
import type { Ground } from "./Service.ts"
import type { StorageSettings } from "./StorageSettings.ts"

type Url = Redacted.Redacted<string>

/** The storage of a process, on the clock of its database. If the database cannot be used, one sentence says why. */
export const storage = (url: Url): Layer.Layer<Storage.Storage, Failed> =>
  PgStorage.layerWithClock({ url }).pipe(
    Layer.catchTag("DatabaseRefused", ({ message }) => Layer.effectContext(refused(message)))
  )

const refused = (message: string) => Effect.fail(new Failed({ message }))

/** The database became unavailable during the command. */
export const away = new Failed({ message: "The database is unavailable." })

/** Updates the schema, and returns the names of the migrations that it ran. */
export const migrate = (url: Url): Effect.Effect<ReadonlyArray<string>, Failed> =>
  PgStorage.migrate({ url }).pipe(Effect.catchTag("DatabaseRefused", ({ message }) => refused(message)))

/** Prints the migrations that ran to standard error: standard output is for results. */
export const sayMigrated = (ran: ReadonlyArray<string>): Effect.Effect<void> =>
  ran.length === 0 ? Effect.void : Console.error(`quotewire: Ran the migrations ${ran.join(", ")}.`)

/** What a service on a database needs. */
export const ground = (settings: StorageSettings, base_url: Effect.Effect<string>): Ground<Failed> => ({
  storage: storage(settings.database_url),
  sealKeys: Layer.succeed(Seal.SealKeys, { keys: settings.seal_keys }),
  base_url
})

/** Runs a program that needs only the organizations and keys of a database. */
export const withAccess =
  (url: Url) =>
  <A>(program: Effect.Effect<A, Failed | Storage.StorageUnavailable, Access.Access>): Effect.Effect<A, Failed> =>
    Effect.provide(program, accessIn(url)).pipe(Effect.catchTag("StorageUnavailable", () => Effect.fail(away)))

const accessIn = (url: Url): Layer.Layer<Access.Access, Failed> =>
  Quotewire.administration.pipe(Layer.provide(storage(url)), Layer.provide(NodeCrypto.layer))
