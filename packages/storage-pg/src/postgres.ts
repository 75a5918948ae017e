import { Argument, type Storage } from "@quotewire/core"
import { Effect, Layer, Redacted } from "effect"
import { addressForm, addressOf } from "./connection/Address.ts"
import { DatabaseRefused } from "./connection/DatabaseRefused.ts"
import * as PgStorage from "./PgStorage.ts"

/** Options of `postgres`. */
export interface PostgresOptions extends Omit<PgStorage.Options, "url"> {
  /** The address of the database, `postgres://user:password@host:5432/database`. No message repeats it. */
  readonly url: string | undefined
  /**
   * Whether to migrate the schema at startup; false by default, so the service does not start on an outdated schema.
   */
  readonly migrate?: boolean
}

const checked = Argument.checker("postgres")

/**
 * A storage in a PostgreSQL database, for `embed`. All processes use the clock of the database.
 *
 * If the database is unusable, the service does not start, and the error says why (`DatabaseRefused`).
 *
 * @example
 * const quotewire = embed({ storage: postgres({ url: process.env.DATABASE_URL }), seal_keys: [process.env.SEAL_KEY] })
 */
export const postgres = (given: PostgresOptions): Layer.Layer<Storage.Storage, DatabaseRefused> => {
  const { migrate = false, url, ...options } = checked(given)
  if (typeof url !== "string" || addressOf(url) === null) return Layer.effectContext(Effect.fail(wrongUrl))
  const database = { ...options, url: Redacted.make(url) }
  const storage = PgStorage.layerWithClock(database)
  return migrate ? Layer.unwrap(Effect.as(PgStorage.migrate(database), storage)) : storage
}

const wrongUrl = new DatabaseRefused({
  reason: "address",
  message: `url must be the address of a PostgreSQL database, ${addressForm}`
})
