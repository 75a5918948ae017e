import { Data, Predicate, Redacted } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { stateOf } from "./StatementRefused.ts"
import { default_schema } from "./schemaName.ts"

/** Why a database cannot be used. */
export type RefusalReason =
  /** The address is not that of a PostgreSQL database. */
  | "address"
  /** Nothing answers at the address. */
  | "unreachable"
  /** The server refuses the user or the password. */
  | "credentials"
  /** The server has no such database. */
  | "database"
  /** The schema is older than this program needs. Migrate it. */
  | "older_schema"
  /** The schema is newer than this program knows. */
  | "newer_schema"
  /** The schema differs from what the migrations make. An operator must look at it. */
  | "half_made_schema"
  /** A migration failed. Nothing was changed. */
  | "migration_failed"
  /** Another session holds a table that a migration changes. Nothing was changed. Migrate again when it has ended. */
  | "locked"
  /** The user lacks a permission. */
  | "permission"
  /** It is a cell among others, or not the cell that it should be. */
  | "cell"
  /** A move of a cell cannot begin or go on. */
  | "move"
  /** Any other error of the server. */
  | "server"

/** The database cannot be used. The message is one sentence for an operator, without the password. */
export class DatabaseRefused extends Data.TaggedError("DatabaseRefused")<{
  readonly reason: RefusalReason
  readonly message: string
}> {}

/** Where a schema is. */
interface Address {
  readonly url: Redacted.Redacted<string>
  readonly schema?: string
}

interface Target {
  readonly place: string
  readonly database: string
  readonly user: string
}

const decoded = (text: string): string | null => {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/**
 * The address as a URL; null if it is none of a PostgreSQL database.
 *
 * If special characters of a password are not encoded, a part of it can read as host or path. That is null, too: nothing
 * may be sent there, and no message may name it.
 */
export const addressOf = (text: string): URL | null => {
  const url = /^\s*postgres(?:ql)?:\/\//i.test(text) ? URL.parse(text) : null
  if (url === null) return null
  const { hash, password, pathname, search, username } = url
  const isSplit = hash !== "" || pathname.includes("@") || (pathname === "" && search.includes("@"))
  const isDecodable = [username, password, pathname].every((part) => decoded(part) !== null)
  return isDecodable && !isSplit ? url : null
}

/** What an address must be. */
export const address_form =
  "such as postgres://user:password@host:5432/database, with special characters of the password percent-encoded."

const targetOf = (address: Redacted.Redacted<string>): Target | null => {
  const url = addressOf(Redacted.value(address))
  if (url === null) return null
  const { hostname, pathname, port, searchParams, username } = url
  return {
    place: `${searchParams.get("host") ?? (hostname || "localhost")}:${searchParams.get("port") ?? (port || "5432")}`,
    database: searchParams.get("dbname") ?? decoded(pathname.slice(1)) ?? "",
    user: searchParams.get("user") ?? decoded(username) ?? ""
  }
}

const causeOf = ({ reason: { cause } }: SqlError): string =>
  Predicate.hasProperty(cause, "code") && typeof cause.code === "string" ? ` (${cause.code})` : ""

/** What the server says is wrong with a schema. It names tables and functions, but no values. */
const findingOf = ({ reason: { cause } }: SqlError, state: string): string =>
  Predicate.hasProperty(cause, "message") && typeof cause.message === "string" ? cause.message : state

/** Whether a statement gave up because another session holds a lock. */
export const isLocked = (error: SqlError): boolean => ["55P03", "40P01"].includes(stateOf(error) ?? "")

/** Describes in one sentence why a migration was not made. The message has the code of the error and no values. */
export const migrationRefusalOf = (address: Address, name: string, error: SqlError): DatabaseRefused => {
  const state = stateOf(error)
  if (isLocked(error)) {
    const message = `Another session, such as a backup, holds a table that the migration ${name} changes: nothing was changed; migrate again when it has ended.`
    return new DatabaseRefused({ reason: "locked", message })
  }
  if (state === undefined || /^(?:08|28|42)/.test(state)) return refusalOf(address, error)
  return new DatabaseRefused({
    reason: "migration_failed",
    message: `The migration ${name} failed (${state}): nothing was changed.`
  })
}

/** The refusal of an address that is none. */
export const wrongAddress = new DatabaseRefused({
  reason: "address",
  message: `The database address must be that of a PostgreSQL database, ${address_form}`
})

/** Describes in one sentence why a database cannot be used. */
export const refusalOf = ({ schema = default_schema, url }: Address, error: SqlError): DatabaseRefused => {
  const target = targetOf(url)
  if (target === null) return wrongAddress
  const { place, database, user } = target
  const refuse = (reason: RefusalReason, message: string) => new DatabaseRefused({ reason, message })
  const state = stateOf(error)
  if (state?.startsWith("28") || error.reason._tag === "AuthenticationError") {
    return refuse("credentials", `PostgreSQL at ${place} refuses the user ${user}, or its password.`)
  }
  if (state === "3D000") return refuse("database", `PostgreSQL at ${place} has no database ${database}.`)
  if (state === "42501") return refuse("permission", `The user ${user} lacks a permission in the database ${database}.`)
  if (state?.startsWith("42")) {
    const found = `differs from what the migrations make (${findingOf(error, state)})`
    const todo = "nothing was changed; remove what is in the way, or restore what is missing, and migrate again"
    return refuse("half_made_schema", `The schema ${schema} in the database ${database} ${found}: ${todo}.`)
  }
  if (state !== undefined && !state.startsWith("08")) {
    return refuse("server", `PostgreSQL at ${place} cannot be used now${causeOf(error)}.`)
  }
  return refuse("unreachable", `PostgreSQL cannot be reached at ${place}${causeOf(error)}.`)
}
