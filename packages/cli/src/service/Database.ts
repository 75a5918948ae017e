import {
  type Access,
  type Carrier,
  type Circuits,
  type Config,
  type Connections,
  type Consumers,
  type Erasures,
  type OperatorTokens,
  Quotewire,
  Seal,
  type SealedRows,
  type Storage
} from "@quotewire/core"
import { NodeCrypto } from "@quotewire/http"
import { PgStorage } from "@quotewire/storage-pg"
import { PgCells } from "@quotewire/storage-pg/cells"
import {
  Console,
  Effect,
  type FileSystem,
  Layer,
  Option,
  type Path,
  type Redacted,
  type Stdio,
  type Terminal
} from "effect"
import * as ConfigFile from "../config/ConfigFile.ts"
import { CommandFailed, WrongUsage } from "../settings/CommandErrors.ts"
import type { HostSettings } from "../settings/HostSettings.ts"
import * as MissingSettings from "../settings/MissingSettings.ts"
import { settingError } from "../settings/Settings.ts"
import type { DatabaseSettings, StorageSettings } from "../settings/StorageSettings.ts"
import * as CellsFile from "./CellsFile.ts"
import * as Service from "./Service.ts"

/** Where all data is stored: one database, or several cells and the names of the cells whose jobs this process runs. */
export type Address =
  | { readonly url: Redacted.Redacted<string>; readonly pooler_url?: Redacted.Redacted<string> }
  | { readonly cells: PgCells.AllCells; readonly work: PgCells.WorkOptions }

/** The services needed for printing. */
type Printing = Stdio.Stdio | Terminal.Terminal

type Files = FileSystem.FileSystem | Path.Path

/** Reads where all data is stored. Either `--database-url` or `--cells` must be set. */
export const addressOf = (settings: DatabaseSettings): Effect.Effect<Address, WrongUsage, Files> =>
  Effect.suspend((): Effect.Effect<Address, WrongUsage, Files> => {
    const { cells, database_url, pooler_url = Option.none(), work_cells = Option.none() } = settings
    if (Option.isSome(cells) && Option.isSome(database_url)) {
      return Effect.fail(new WrongUsage({ message: "Use either --database-url or --cells, not both." }))
    }
    if (Option.isSome(cells) && Option.isSome(pooler_url)) return Effect.fail(poolerOfCells)
    if (Option.isSome(cells)) return cellsAt(cells.value, work_cells)
    if (Option.isSome(work_cells)) return Effect.fail(wrongWorkCells("be used together with --cells"))
    if (Option.isSome(database_url)) {
      const pooler = Option.isSome(pooler_url) ? { pooler_url: pooler_url.value } : {}
      return Effect.succeed({ url: database_url.value, ...pooler })
    }
    return Effect.fail(new WrongUsage({ message: `${MissingSettings.requestFor(["database-url"])}.` }))
  })

const poolerOfCells = new WrongUsage({
  message: `${settingError("database-pooler-url", "not be used together with --cells, which need addresses without a pooler")}.`
})

const wrongWorkCells = (requirement: string) =>
  new WrongUsage({ message: `${settingError("work-cells", requirement)}.` })

const cellsAt = Effect.fnUntraced(function* (file: string, workCells: Option.Option<ReadonlyArray<string>>) {
  const cells = yield* CellsFile.read(file)
  if (Option.isNone(workCells)) return { cells, work: {} }
  if (PgCells.unknownCell(cells, workCells.value) !== undefined) {
    return yield* wrongWorkCells("name cells from the cells file, separated by commas")
  }
  return { cells, work: { work_cells: workCells.value } }
})

/**
 * The storage of a process. Its clock is the database's. If the database cannot be used, fails with one sentence that
 * says why.
 */
export const storage = (address: Address): Layer.Layer<Storage.Storage, CommandFailed> =>
  ("cells" in address ? PgCells.layerWithClock(address.cells, address.work) : PgStorage.layerWithClock(address)).pipe(
    Layer.catchTag("DatabaseRefused", ({ message }) => Layer.effectContext(refused(message)))
  )

const refused = (message: string) => Effect.fail(new CommandFailed({ message }))

/** The error if the database becomes unavailable during a command. */
export const unavailable = new CommandFailed({ message: "The database is unavailable." })

/** The result of migrating a database or a cell. */
export interface Migrated {
  /** The cell's name; null if there are no cells. */
  readonly cell: string | null
  /** The names of the migrations that ran. */
  readonly ran: ReadonlyArray<string>
  /** Why the migration failed; null if it succeeded. */
  readonly failure: string | null
}

/**
 * Updates the schema of the database, or of each cell. If a cell fails, its result says why; the others are updated.
 */
export const migrate = (
  address: Address,
  options: PgStorage.MigrateOptions = {}
): Effect.Effect<ReadonlyArray<Migrated>, CommandFailed> =>
  "cells" in address
    ? Effect.map(PgCells.migrate(address.cells, options), (migrations) =>
        migrations.map(({ name, ran, refusal }) => ({ cell: name, ran, failure: refusal?.message ?? null }))
      )
    : PgStorage.migrate(address, options).pipe(
        Effect.map((ran) => [{ cell: null, ran, failure: null }]),
        Effect.catchTag("DatabaseRefused", ({ message }) => refused(message))
      )

/** Which migrations a database or a cell has run. */
export interface SchemaReport {
  /** The cell's name; null if there are no cells. */
  readonly cell: string | null
  /** Null if the status could not be read. */
  readonly status: PgStorage.SchemaStatus | null
  /** Why the status could not be read; null if it was read. */
  readonly failure: string | null
}

/** Reads which migrations the database, or each cell, has run. If a cell cannot be read, its result says why. */
export const schemas = (address: Address): Effect.Effect<ReadonlyArray<SchemaReport>, CommandFailed> =>
  "cells" in address
    ? Effect.map(PgCells.status(address.cells), (statuses) =>
        statuses.map(({ name, refusal, status }) => ({ cell: name, status, failure: refusal?.message ?? null }))
      )
    : PgStorage.status(address).pipe(
        Effect.map((status) => [{ cell: null, status, failure: null }]),
        Effect.catchTag("DatabaseRefused", ({ message }) => refused(message))
      )

/** Prints the migrations that ran to standard error, because standard output is for results. */
export const printMigrations = (migrations: ReadonlyArray<Migrated>): Effect.Effect<void> =>
  Effect.forEach(
    migrations,
    ({ cell, failure, ran }) => {
      const location = cell === null ? "" : ` in the cell ${cell}`
      if (failure !== null) return Console.error(`quotewire: The migration failed${location}: ${failure}`)
      return ran.length === 0
        ? Effect.void
        : Console.error(`quotewire: Ran the migrations ${ran.join(", ")}${location}.`)
    },
    { discard: true }
  )

/** The dependencies of a service that stores its data in a database. */
export const dependencies = (
  address: Address,
  settings: Pick<StorageSettings, "seal_keys">,
  config: Config,
  base_url: Effect.Effect<string>
): Service.ServiceDependencies<CommandFailed> => ({
  config,
  storage: storage(address),
  sealKeys: Layer.succeed(Seal.SealKeys, { keys: settings.seal_keys }),
  base_url
})

/** Runs a program that needs only a database's organizations, keys and operators' tokens. */
export const withAccess =
  (settings: DatabaseSettings) =>
  <A>(
    program: Effect.Effect<A, CommandFailed | Storage.StorageUnavailable, Administration | Printing>
  ): Effect.Effect<A, CommandFailed | WrongUsage, Printing | Files> =>
    Effect.flatMap(addressOf(settings), (address) => Effect.provide(program, accessIn(address))).pipe(
      Effect.catchTag("StorageUnavailable", () => Effect.fail(unavailable))
    )

type Administration = Access.Access | OperatorTokens.OperatorTokens

const accessIn = (address: Address): Layer.Layer<Administration, CommandFailed> =>
  Quotewire.administration.pipe(Layer.provide(storage(address)), Layer.provide(NodeCrypto.layer))

/** Runs a program that needs only a database's connections, and the carriers in a configuration. */
export const withConnections =
  (settings: StorageSettings & Pick<HostSettings, "config">) =>
  <A>(
    program: Effect.Effect<
      A,
      CommandFailed | Storage.StorageUnavailable,
      Connections.Connections | Carrier.CarrierAdapters | Printing
    >
  ): Effect.Effect<A, CommandFailed | WrongUsage, Printing | Files> =>
    Effect.flatMap(ConfigFile.load(settings.config), (config) =>
      Effect.flatMap(addressOf(settings), (address) =>
        Effect.provide(program, connectionsIn(address, settings, config))
      )
    ).pipe(
      Effect.catchTag("SealKeysRefused", (refusal) => Effect.fail(Service.wrongKeys(refusal))),
      Effect.catchTag("StorageUnavailable", () => Effect.fail(unavailable))
    )

const connectionsIn = (address: Address, settings: StorageSettings, config: Config) =>
  Quotewire.connections.pipe(
    Layer.provideMerge(Service.carriers(config)),
    Layer.provide(Layer.succeed(Seal.SealKeys, { keys: settings.seal_keys })),
    Layer.provide(storage(address)),
    Layer.provide(NodeCrypto.layer)
  )

/** Runs a program that needs only the circuit breakers of a configuration's carriers. */
export const withCircuits =
  (settings: DatabaseSettings & Pick<HostSettings, "config">) =>
  <A>(
    program: Effect.Effect<A, CommandFailed | Storage.StorageUnavailable, Circuits.Circuits | Printing>
  ): Effect.Effect<A, CommandFailed | WrongUsage, Printing | Files> =>
    Effect.flatMap(ConfigFile.load(settings.config), (config) =>
      Effect.flatMap(addressOf(settings), (address) => Effect.provide(program, circuitsIn(address, config)))
    ).pipe(Effect.catchTag("StorageUnavailable", () => Effect.fail(unavailable)))

const circuitsIn = (address: Address, config: Config) =>
  Quotewire.circuits.pipe(Layer.provide(Service.carriers(config)), Layer.provide(storage(address)))

/** Runs a program that needs only a database's event consumers. */
export const withConsumers =
  (settings: DatabaseSettings) =>
  <A>(
    program: Effect.Effect<A, CommandFailed | Storage.StorageUnavailable, Consumers | Printing>
  ): Effect.Effect<A, CommandFailed | WrongUsage, Printing | Files> =>
    Effect.flatMap(addressOf(settings), (address) => Effect.provide(program, consumersIn(address))).pipe(
      Effect.catchTag("StorageUnavailable", () => Effect.fail(unavailable))
    )

const consumersIn = (address: Address): Layer.Layer<Consumers, CommandFailed> =>
  Quotewire.consumers.pipe(Layer.provide(storage(address)), Layer.provide(NodeCrypto.layer))

/** Runs a program that erases personal data in a database. */
export const withErasures =
  (settings: StorageSettings) =>
  <A>(
    program: Effect.Effect<A, CommandFailed, Erasures.Erasures | Printing>
  ): Effect.Effect<A, CommandFailed | WrongUsage, Printing | Files> =>
    Effect.flatMap(addressOf(settings), (address) => Effect.provide(program, erasuresIn(address, settings))).pipe(
      Effect.catchTag("SealKeysRefused", (refusal) => Effect.fail(Service.wrongKeys(refusal))),
      Effect.catchTag("StorageUnavailable", () => Effect.fail(unavailable))
    )

const erasuresIn = (address: Address, settings: StorageSettings) =>
  Quotewire.erasures.pipe(
    Layer.provide(Layer.succeed(Seal.SealKeys, { keys: settings.seal_keys })),
    Layer.provide(storage(address)),
    Layer.provide(NodeCrypto.layer)
  )

/** Runs a program that needs only a database's sealed data. */
export const withSealedRows =
  (settings: StorageSettings) =>
  <A>(
    program: Effect.Effect<A, CommandFailed | Storage.StorageUnavailable, SealedRows.SealedRows>
  ): Effect.Effect<A, CommandFailed | WrongUsage, Files> =>
    Effect.flatMap(addressOf(settings), (address) => Effect.provide(program, sealedRowsIn(address, settings))).pipe(
      Effect.catchTag("SealKeysRefused", (refusal) => Effect.fail(Service.wrongKeys(refusal))),
      Effect.catchTag("StorageUnavailable", () => Effect.fail(unavailable))
    )

const sealedRowsIn = (address: Address, settings: StorageSettings) =>
  Quotewire.sealedRows.pipe(
    Layer.provide(Layer.succeed(Seal.SealKeys, { keys: settings.seal_keys })),
    Layer.provide(storage(address)),
    Layer.provide(NodeCrypto.layer)
  )
