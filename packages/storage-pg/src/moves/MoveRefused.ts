import type { SqlError } from "effect/sql/SqlError"
import { DatabaseRefused, refusalOf } from "../connection/DatabaseRefused.ts"
import type { DatabaseOptions } from "../connection/Pools.ts"
import { stateOf } from "../connection/StatementRefused.ts"

/** Which end of a move. */
export type End = "old" | "new"

/** A move cannot begin or continue. */
export const refused = (message: string): DatabaseRefused => new DatabaseRefused({ reason: "move", message })

const permissions: Readonly<Record<End, string>> = {
  old: "At the old place, the user must own the schema, have the attribute REPLICATION, and have the privilege CREATE on the database.",
  new: "At the new place the user must be able to create a schema and a subscription: be a member of pg_create_subscription, or a superuser before PostgreSQL 16."
}

/** Describes in one sentence why a step failed at one end. */
export const refusalAt = (end: End, options: DatabaseOptions, error: SqlError): DatabaseRefused => {
  const state = stateOf(error)
  if (state === "42501") return refused(permissions[end])
  if (state === "08006" && end === "new") {
    return refused(
      "The server of the new place cannot reach the old one at its address: open the network between them, and allow the user in pg_hba.conf."
    )
  }
  if (state === "57014") {
    return refused(
      `A transaction on the server of the ${end} place takes too long: find it in pg_stat_activity and end it, then run the command again, or with --undo.`
    )
  }
  if (state === undefined || /^(?:08|28|3D)/.test(state)) return refusalOf(options, error)
  return refused(
    `PostgreSQL at the ${end} place refuses a step of the move (${state}): see its log, and run the command again, or with --undo.`
  )
}
