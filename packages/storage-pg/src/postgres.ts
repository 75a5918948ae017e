import { Argument, type Storage } from "@quotewire/core"
import { Effect, Layer, Redacted } from "effect"
import { addressForm, addressOf } from "./connection/Address.ts"
import { DatabaseRefused } from "./connection/DatabaseRefused.ts"
import * as FolderStorage from "./folder/FolderStorage.ts"
import * as PgStorage from "./PgStorage.ts"

/** Options of `postgres` for a database on a server. */
export interface ServerOptions extends Omit<PgStorage.Options, "url" | "pooler_url"> {
  /** The database's URL, `postgres://user:password@host:5432/database`. No message repeats it. */
  readonly url: string | undefined
  /**
   * The URL of a pooler in transaction mode in front of the same database, for reads and writes. `url` must then lead
   * to the server itself. No message repeats this URL.
   */
  readonly pooler_url?: string
  /**
   * Whether to migrate the schema at startup. False by default: the service then does not start if the schema is
   * outdated.
   */
  readonly migrate?: boolean
  /** Must not be set for a server: `data` is the folder of a database in this process. */
  readonly data?: never
}

/** Options of `postgres` for a database in a folder. */
export interface FolderOptions {
  /**
   * The folder that stores the data. It is created if it does not exist. Only one process at a time can use it.
   *
   * PostgreSQL then runs in this process, so install `@electric-sql/pglite`. The schema is always migrated.
   */
  readonly data: string
  /** Must not be set for a folder: `url` is the address of a database on a server. */
  readonly url?: never
}

/** Options of `postgres`: for a server or for a folder. */
export type PostgresOptions = ServerOptions | FolderOptions

const checked = Argument.checker("postgres")

/**
 * A storage backend in a PostgreSQL database, for `embed`. All processes use the database's clock.
 *
 * With `data`, the database is in a folder, and PostgreSQL runs in this process. Use this for tests, programs on one
 * machine, and persistent sandboxes. The SQL is the same as on a server.
 *
 * If the database cannot be used, the service does not start, and the error says why (`DatabaseRefused`).
 *
 * @example
 * const quotewire = embed({ storage: postgres({ url: process.env.DATABASE_URL }), seal_keys: [process.env.SEAL_KEY] })
 */
export const postgres = (postgresOptions: PostgresOptions): Layer.Layer<Storage.Storage, DatabaseRefused> => {
  const options = checked(postgresOptions)
  return options.data === undefined ? onServer(options) : inFolder(options)
}

const onServer = ({ data: _none, migrate: canMigrate = false, pooler_url, url, ...options }: ServerOptions) => {
  if (typeof url !== "string" || addressOf(url) === null) {
    return refuse(isPooler(pooler_url) ? wrongUrl : addressRefused(`${wrongUrl.message}\n${wrongPooler.message}`))
  }
  if (!isPooler(pooler_url)) return refuse(wrongPooler)
  const pooler = pooler_url === undefined ? {} : { pooler_url: Redacted.make(pooler_url) }
  const database = { ...options, ...pooler, url: Redacted.make(url) }
  const storage = PgStorage.layerWithClock(database)
  return canMigrate ? Layer.unwrap(Effect.as(PgStorage.migrate(database), storage)) : storage
}

const inFolder = ({ data, url }: FolderOptions) => {
  if (url !== undefined) return refuse(twoPlaces)
  return typeof data === "string" && data.trim() !== "" ? FolderStorage.layer(data) : refuse(wrongFolder)
}

const refuse = (refusal: DatabaseRefused) => Layer.effectContext(Effect.fail(refusal))

const isPooler = (url: string | undefined): boolean => url === undefined || addressOf(url) !== null

const addressRefused = (message: string) => new DatabaseRefused({ reason: "address", message })

const wrongUrl = addressRefused(`url must be the address of a PostgreSQL database, ${addressForm}`)

const wrongPooler = addressRefused(
  `pooler_url must be the address of a pooler in front of the database, ${addressForm}`
)

const twoPlaces = addressRefused("Set either url or data, not both.")

const wrongFolder = addressRefused("data must be the path of a folder.")
