import { Storage } from "@quotewire/core"
import { Effect, Predicate } from "effect"
import type { SqlError } from "effect/sql/SqlError"

/** The engine that manages a schema: Citus if it has distributed the schema, otherwise plain PostgreSQL. */
export type Engine = "postgresql" | "citus"

/** How long a caller should wait before a retry when the database is unavailable, in seconds. */
const retryAfterSeconds = 2

/** The error if PostgreSQL cannot be reached or cannot run the statement for now. */
export const unavailable = new Storage.StorageUnavailable({ retry_after_seconds: retryAfterSeconds })

/**
 * The SQLSTATE classes and codes of errors that are temporary or that an operator can fix without changing the program.
 */
const passing = [
  "08", // connection
  "28", // authorization: the password may be about to change
  "3D000", // the database is gone
  "53", // out of disk, memory or connections
  "57", // shut down, starting, cancelled, timed out
  "58", // errors of the operating system
  "25006", // read-only: a standby
  "25P03", // idle for too long
  "25P04", // a transaction that takes too long
  "40", // serialization, deadlock: rolled back
  "55P03" // a lock was not available in time
]
/**
 * The class of PostgreSQL's internal errors. Citus uses this class for most of its errors, so on Citus the class does
 * not show that an error is internal.
 */
const internal = "XX"

/** The SQLSTATE of a failed statement; undefined if the server did not respond. */
export const stateOf = ({ reason }: SqlError): string | undefined => {
  const { cause } = reason
  return Predicate.hasProperty(cause, "code") &&
    typeof cause.code === "string" &&
    /^(?=.*[0-9])[0-9A-Z]{5}$/.test(cause.code)
    ? cause.code
    : undefined
}

/** Whether the server did not respond, or no longer has the database. */
export const isLost = (error: SqlError): boolean =>
  error.reason._tag === "ConnectionError" || /^(?:08|3D|57P)/.test(stateOf(error) ?? "08")

/**
 * Whether a statement did not run because its tables or functions are missing, as they are during a move of the
 * database.
 */
export const isWithoutTables = (error: SqlError): boolean => ["3F000", "42P01", "42883"].includes(stateOf(error) ?? "")

const passes = (error: SqlError, engine: Engine): boolean => {
  if (error.reason._tag === "ConnectionError") return true
  const state = stateOf(error)
  if (state?.startsWith(internal)) return engine === "postgresql"
  return state !== undefined && passing.some((start) => state.startsWith(start))
}

const named = (cause: unknown, name: "table" | "constraint" | "column" | "routine"): string =>
  Predicate.hasProperty(cause, name) && typeof cause[name] === "string" ? ` ${name} ${cause[name]}` : ""

/**
 * A failure that must be a bug in this program. The message says where it happened but contains no values, because they
 * can be personal data.
 */
export class StatementRefused extends Error {
  constructor({ reason }: SqlError, state: string | undefined) {
    const location = `${named(reason.cause, "table")}${named(reason.cause, "constraint")}${named(reason.cause, "column")}`
    super(`PostgreSQL refuses a statement: ${state ?? reason._tag}${location}${named(reason.cause, "routine")}`)
    this.name = "StatementRefused"
  }
}

/** Why PostgreSQL is unavailable, without any values: its SQLSTATE, or the code of the connection's error. */
const whyOf = (error: SqlError): string => {
  const state = stateOf(error)
  if (state !== undefined) return `SQLSTATE ${state}`
  const { cause } = error.reason
  return Predicate.hasProperty(cause, "code") && typeof cause.code === "string" ? cause.code : "the connection was lost"
}

/** Translates a statement's failure: `StorageUnavailable` if it is temporary. Otherwise the effect dies. */
export const refused = (error: SqlError, engine: Engine): Effect.Effect<never, Storage.StorageUnavailable> =>
  passes(error, engine)
    ? Effect.fail(new Storage.StorageUnavailable({ retry_after_seconds: retryAfterSeconds, why: whyOf(error) }))
    : Effect.die(new StatementRefused(error, stateOf(error)))
