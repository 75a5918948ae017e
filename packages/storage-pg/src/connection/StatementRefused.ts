import { Storage } from "@quotewire/core"
import { Effect, Predicate } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Engine } from "./Engine.ts"

/** When a caller should try again after a lost database. */
const retry_after_seconds = 2

/** PostgreSQL cannot be reached for now, or cannot run the statement for now. */
export const unavailable = new Storage.StorageUnavailable({ retry_after_seconds })

/** The classes and codes of SQLSTATE that are temporary, or that an operator can fix. */
const passing = [
  "08", // connection
  "28", // authorization: the password may be changing
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
/** Internal errors of PostgreSQL. Citus gives this class to most of its errors, so there it says nothing. */
const internal = "XX"

/** The SQLSTATE of a failure; undefined if the server did not answer. */
export const stateOf = ({ reason }: SqlError): string | undefined => {
  const { cause } = reason
  return Predicate.hasProperty(cause, "code") && typeof cause.code === "string" && /^[0-9A-Z]{5}$/.test(cause.code)
    ? cause.code
    : undefined
}

/** Whether the server did not answer, or has no such database. */
export const isLost = (error: SqlError): boolean =>
  error.reason._tag === "ConnectionError" || /^(?:08|3D|57P)/.test(stateOf(error) ?? "08")

/** Whether a statement was not run because its tables or functions are not there, as while a database is moved. */
export const isWithoutTables = (error: SqlError): boolean => ["3F000", "42P01", "42883"].includes(stateOf(error) ?? "")

const passes = (error: SqlError, engine: Engine): boolean => {
  if (error.reason._tag === "ConnectionError") return true
  const state = stateOf(error)
  if (state?.startsWith(internal)) return engine === "postgresql"
  return state !== undefined && passing.some((start) => state.startsWith(start))
}

const named = (cause: unknown, name: "table" | "constraint" | "column" | "routine"): string =>
  Predicate.hasProperty(cause, name) && typeof cause[name] === "string" ? ` ${name} ${cause[name]}` : ""

/** A failure that only a bug in this program explains. The message names the place but no values, which can be personal. */
export class StatementRefused extends Error {
  constructor({ reason }: SqlError, state: string | undefined) {
    const where = `${named(reason.cause, "table")}${named(reason.cause, "constraint")}${named(reason.cause, "column")}`
    super(`PostgreSQL refuses a statement: ${state ?? reason._tag}${where}${named(reason.cause, "routine")}`)
    this.name = "StatementRefused"
  }
}

/** Translates the failure of a statement: `StorageUnavailable` if it is temporary, otherwise a defect. */
export const refused = (error: SqlError, engine: Engine): Effect.Effect<never, Storage.StorageUnavailable> =>
  passes(error, engine) ? Effect.fail(unavailable) : Effect.die(new StatementRefused(error, stateOf(error)))
