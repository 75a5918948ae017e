import type { SqlError } from "effect/sql/SqlError"
import { DatabaseRefused, refusalOf } from "../connection/DatabaseRefused.ts"
import type { DatabaseOptions } from "../connection/Pools.ts"
import { stateOf } from "../connection/StatementRefused.ts"

/** One of the two ends of a move: the old or the new database. */
export type End = "old" | "new"

/** Creates the error for a move that cannot begin or continue. */
export const refused = (message: string): DatabaseRefused => new DatabaseRefused({ reason: "move", message })

const permissions: Readonly<Record<End, string>> = {
  old: "In the old database, the user must own the schema, have the REPLICATION attribute, and have the CREATE privilege on the database.",
  new: "In the new database, the user must be able to create a schema and a subscription: be a member of pg_create_subscription, or a superuser before PostgreSQL 16."
}

/** Describes in one sentence why a step failed at one end. */
export const refusalAt = (end: End, options: DatabaseOptions, error: SqlError): DatabaseRefused => {
  const state = stateOf(error)
  if (state === "42501") return refused(permissions[end])
  if (state === "08006" && end === "new") {
    return refused(
      "The new server cannot reach the old server at its address: allow connections between the servers, and allow the user in pg_hba.conf."
    )
  }
  if (state === "57014") {
    return refused(
      `A transaction on the ${end} server is taking too long: find the transaction in pg_stat_activity and end it. Then run the command again, or run it with --undo to go back.`
    )
  }
  if (state === undefined || /^(?:08|28|3D)/.test(state)) return refusalOf(options, error)
  return refused(
    `The ${end} server refuses a step of the move (${state}): see its log. Then run the command again, or run it with --undo to go back.`
  )
}
