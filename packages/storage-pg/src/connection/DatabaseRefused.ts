import { Data, Predicate } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { type Address, addressForm, defaultSchema, targetOf } from "./Address.ts"
import { stateOf } from "./StatementRefused.ts"

/** Why a database cannot be used. */
export type RefusalReason =
  /** The URL is not the URL of a PostgreSQL database. */
  | "address"
  /** The server cannot be reached. */
  | "unreachable"
  /** The server refuses the user or the password. */
  | "credentials"
  /** The connection cannot be encrypted, or the server's certificate is not trusted. */
  | "tls"
  /** A pooler in front of the server cannot be used in its current mode. */
  | "pooler"
  /** The server has no such database. */
  | "database"
  /** The schema is older than this program requires, and must be migrated. */
  | "older_schema"
  /** The schema is newer than this program supports. */
  | "newer_schema"
  /** The schema differs from what the migrations create. An operator must inspect it. */
  | "half_made_schema"
  /** A migration failed. Nothing was changed. */
  | "migration_failed"
  /**
   * Another session locks a table that a migration must change. Nothing was changed. Migrate again after that session
   * has ended.
   */
  | "locked"
  /** The database user lacks a permission. */
  | "permission"
  /** The database is a cell although none was expected, or it is not the expected cell. */
  | "cell"
  /** A cell's move cannot begin or continue. */
  | "move"
  /** The folder cannot hold a database, or its database cannot be opened. */
  | "folder"
  /** Another process uses the folder. */
  | "in_use"
  /** A database in a folder needs the `@electric-sql/pglite` package, which is not installed. */
  | "not_installed"
  /** Any other server error. */
  | "server"

/** The database cannot be used. The message is one sentence for an operator and never contains the password. */
export class DatabaseRefused extends Data.TaggedError("DatabaseRefused")<{
  readonly reason: RefusalReason
  readonly message: string
}> {
  readonly code = "database_refused"
}

/** Creates the error for a database that cannot be used because of its role as a cell. */
export const cellRefused = (message: string): DatabaseRefused => new DatabaseRefused({ reason: "cell", message })

const causeOf = ({ reason: { cause } }: SqlError): string =>
  Predicate.hasProperty(cause, "code") && typeof cause.code === "string" ? ` (${cause.code})` : ""

/** The server's message about a schema. It names tables and functions but no values. */
const findingOf = ({ reason: { cause } }: SqlError, state: string): string =>
  Predicate.hasProperty(cause, "message") && typeof cause.message === "string" ? cause.message : state

/** Whether a statement failed because another session holds a lock. */
export const isLocked = (error: SqlError): boolean => ["55P03", "40P01"].includes(stateOf(error) ?? "")

/** Describes in one sentence why a migration failed. The sentence contains the error code but no values. */
export const migrationRefusalOf = (address: Address, name: string, error: SqlError): DatabaseRefused => {
  const state = stateOf(error)
  if (isLocked(error)) {
    const message = `Another session, such as a backup, locks a table that the migration ${name} changes. Nothing was changed: migrate again when that session has ended.`
    return new DatabaseRefused({ reason: "locked", message })
  }
  if (state === undefined || /^(?:08|28|42)/.test(state)) return refusalOf(address, error)
  return new DatabaseRefused({
    reason: "migration_failed",
    message: `The migration ${name} failed (${state}). Nothing was changed.`
  })
}

/** Explains why TLS failed; null if something else failed. OpenSSL's code identifies an untrusted certificate. */
const tlsFaultOf = (place: string, { reason: { cause, message } }: SqlError): string | null => {
  if (message === "PgConnection: Server refused TLS") {
    return `PostgreSQL at ${place} does not offer TLS, which sslmode requires: turn on TLS on the server, or set sslmode=disable on a trusted network.`
  }
  const code = Predicate.hasProperty(cause, "code") ? String(cause.code) : ""
  if (/^ERR_SSL_.*ALERT/.test(code)) {
    return `PostgreSQL at ${place} refuses the client certificate (${code}): check sslcert and sslkey.`
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return `The certificate of PostgreSQL at ${place} is for a different host name: connect to the host name in the certificate, or set sslmode=verify-ca.`
  }
  if (code === "CERT_HAS_EXPIRED")
    return `The certificate of PostgreSQL at ${place} has expired: renew the certificate on the server.`
  if (/CERT|^UNABLE_TO_|^ERR_(?:TLS|SSL)_|^HOSTNAME_MISMATCH$/.test(code)) {
    return `The certificate of PostgreSQL at ${place} is not trusted (${code}): set sslrootcert to the certificate authority's file.`
  }
  return null
}

/** The error for an invalid URL. */
export const wrongAddress = new DatabaseRefused({
  reason: "address",
  message: `The database address must point to a PostgreSQL database, ${addressForm}`
})

/** The error for a pooler in session mode that does not pass on connection settings. */
const unsupportedParameters = (place: string) =>
  new DatabaseRefused({
    reason: "pooler",
    message: `The pooler at ${place} refuses connection settings: in PgBouncer, set ignore_startup_parameters = statement_timeout,plan_cache_mode.`
  })

/** Describes in one sentence why a database cannot be used. */
export const refusalOf = ({ schema = defaultSchema, url }: Address, error: SqlError): DatabaseRefused => {
  const target = targetOf(url)
  if (target === null) return wrongAddress
  const { place, database, user } = target
  const refuse = (reason: RefusalReason, message: string) => new DatabaseRefused({ reason, message })
  const state = stateOf(error)
  const tlsFault = tlsFaultOf(place, error)
  if (tlsFault !== null) return refuse("tls", tlsFault)
  if (state === "28000") {
    const rules = "its rules (pg_hba.conf) may require TLS, with sslmode=verify-full, or a client certificate"
    return refuse(
      "credentials",
      `PostgreSQL at ${place} does not allow the user ${user} to connect from here: ${rules}.`
    )
  }
  if (/unsupported startup parameter/.test(findingOf(error, ""))) return unsupportedParameters(place)
  if (state?.startsWith("28") || error.reason._tag === "AuthenticationError") {
    return refuse("credentials", `PostgreSQL at ${place} refuses the user ${user} or the password.`)
  }
  if (state === "3D000") return refuse("database", `PostgreSQL at ${place} has no database ${database}.`)
  if (state === "42501") {
    const todo = "grant it, or migrate as the database's owner"
    return refuse(
      "permission",
      `The user ${user} lacks a permission in the database ${database} (${findingOf(error, state)}): ${todo}.`
    )
  }
  if (state?.startsWith("42")) {
    const problem = `differs from what the migrations create (${findingOf(error, state)})`
    const todo = "nothing was changed; remove the conflicting object, or restore the missing object, and migrate again"
    return refuse("half_made_schema", `The schema ${schema} in the database ${database} ${problem}: ${todo}.`)
  }
  if (state !== undefined && !state.startsWith("08")) {
    return refuse(
      "server",
      `PostgreSQL at ${place} is unusable right now${causeOf(error)}: try again later, and read the server's log if this continues.`
    )
  }
  return refuse("unreachable", `PostgreSQL cannot be reached at ${place}${causeOf(error)}.`)
}
