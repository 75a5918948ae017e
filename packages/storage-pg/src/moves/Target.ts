import { Effect, Redacted, Schema } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { addressOf } from "../connection/Address.ts"
import { hasRow, type Session } from "../connection/Session.ts"
import { makePlaceTable, settleStatement } from "../places/Place.ts"
import { rowsReader, someRowsReader } from "../rows/Columns.ts"
import { query } from "../sql/files.ts"
import { nameOf, readTables } from "./Replication.ts"

/*
 * The steps of a move in the cell's new database, which is the subscriber. Each step can be repeated safely.
 */

const Facts = Schema.Struct({
  version: Schema.Int,
  is_standby: Schema.Boolean,
  workers: Schema.Int,
  has_schema: Schema.Boolean
})
/** Facts about the new database that are checked before a move begins. */
export type Facts = typeof Facts.Type

const Copied = Schema.Struct({
  tables_left: Schema.Int,
  tables: Schema.Int,
  is_running: Schema.Boolean,
  needed_slots: Schema.Array(Schema.String)
})
/** The progress of the copy, and the slots in the old database that it needs. */
export type CopyProgress = typeof Copied.Type

const arriveQuery = query("moves/arrive")
const arrivedQuery = query("moves/arrived")
const copiedQuery = query("moves/copied")
const copySlotNamesQuery = query("moves/copy_slot_names")
const targetFactsQuery = query("moves/target_facts")

/**
 * Stops the server from logging the parameters of statements. A server that logs statements also logs their parameters
 * and, with an error, their context. Only a superuser can turn that off. The context matters if the session is
 * terminated, because no exception handler runs then.
 */
const hideParameters =
  "select set_config('log_parameter_max_length', '0', false), set_config('log_error_verbosity', 'terse', false) from pg_roles where rolname = current_user and rolsuper"

const readFacts = someRowsReader(Facts)
const readCopied = rowsReader(Copied)
const readCopySlotNames = someRowsReader(Schema.Struct({ names: Schema.String }))

/** Reads the facts that are checked before a move begins. */
export const facts = ({ run }: Session): Effect.Effect<Facts, SqlError> =>
  Effect.map(run(targetFactsQuery), ({ rows }) => readFacts(rows)[0])

/** Marks this location as the target of a move. Returns false if a different cell or move is here. */
export const arrive = Effect.fnUntraced(function* (
  { run }: Session,
  moveId: string,
  epoch: number
): Effect.fn.Return<boolean, SqlError> {
  yield* makePlaceTable(run)
  return yield* hasRow(run, arriveQuery, [moveId, epoch])
})

/** Whether the move has already created its subscription. */
export const isSubscribed = ({ run }: Session, moveId: string): Effect.Effect<boolean, SqlError> =>
  hasRow(
    run,
    "select from pg_subscription where subname = $1 and subdbid = (select oid from pg_database where datname = current_database())",
    [nameOf(moveId)]
  )

/**
 * Subscribes to the old database. `startCopying` then starts the copy. Until the subscription is dropped, the new
 * server stores the old server's URL, including the password. Only superusers can read it.
 */
export const subscribe = Effect.fnUntraced(function* (
  session: Session,
  moveId: string,
  source: Redacted.Redacted<string>
): Effect.fn.Return<void, SqlError> {
  const name = nameOf(moveId)
  if (yield* isSubscribed(session, moveId)) return
  // Empties the tables, because an earlier subscription of this move may have been dropped. Everything is then copied
  // again.
  const names = (yield* readTables(session)).map((table) => `quotewire."${table.name}"`)
  yield* session.run(`truncate ${names.join(", ")}`, [], false)
  yield* session.run(hideParameters)
  // The password is percent-encoded as in a URL. Otherwise, for PostgreSQL, the password would end at its first `@`,
  // and the rest of it would be reported as the host.
  const address = addressOf(Redacted.value(source))?.href ?? ""
  yield* session.run("select set_config('move.source', $1, false)", [address])
  yield* session.run(query("moves/subscribe", { name }), [], false)
})

/** Lets the subscription copy the tables and then replicate changes. */
export const startCopying = ({ run }: Session, moveId: string): Effect.Effect<void, SqlError> =>
  Effect.asVoid(run(`alter subscription ${nameOf(moveId)} enable`, [], false))

/**
 * The name pattern of the slots from which the subscription copies tables. PostgreSQL creates such a slot in the old
 * database for each table while the table is being copied.
 */
export const copySlotNames = ({ run }: Session, moveId: string): Effect.Effect<string, SqlError> =>
  Effect.map(run(copySlotNamesQuery, [nameOf(moveId)]), ({ rows }) => readCopySlotNames(rows)[0].names)

/** Reads the progress of the copy; null if there is no subscription. */
export const copied = ({ run }: Session, moveId: string): Effect.Effect<CopyProgress | null, SqlError> =>
  Effect.map(run(copiedQuery, [nameOf(moveId)]), ({ rows }) => readCopied(rows)[0] ?? null)

/** Collects statistics for the query planner, because statistics are not replicated. */
export const analyze = Effect.fnUntraced(function* (session: Session): Effect.fn.Return<void, SqlError> {
  for (const { name } of yield* readTables(session)) yield* session.run(`analyze quotewire."${name}"`, [], false)
})

/** Whether the mark, and therefore everything before it, has arrived. If so, records that durably. */
export const hasArrived = ({ run }: Session, mark: string): Effect.Effect<boolean, SqlError> =>
  hasRow(run, arrivedQuery, [mark])

/** Makes the cell `live` here after the cutover was decided in the old database. */
export const settle = ({ run }: Session, moveId: string): Effect.Effect<void, SqlError> =>
  Effect.asVoid(run(settleStatement, [moveId]))

/** Drops the subscription and, if the old database responds, its slot. */
export const unsubscribe = Effect.fnUntraced(function* (
  session: Session,
  moveId: string
): Effect.fn.Return<void, SqlError> {
  const name = nameOf(moveId)
  if (!(yield* isSubscribed(session, moveId))) return
  const drop = session.run(`drop subscription ${name}`, [], false)
  yield* Effect.catchTag(drop, "SqlError", () => unsubscribeFromLost(session, moveId))
})

/** Drops the subscription without its slot, because the old database does not respond. */
export const unsubscribeFromLost = Effect.fnUntraced(function* (
  session: Session,
  moveId: string
): Effect.fn.Return<void, SqlError> {
  const name = nameOf(moveId)
  for (const change of ["disable", "set (slot_name = none)"]) {
    yield* session.run(`alter subscription ${name} ${change}`, [], false)
  }
  yield* session.run(`drop subscription ${name}`, [], false)
})

/** Drops what a move has copied, to undo the move. */
export const clear = ({ run }: Session): Effect.Effect<void, SqlError> =>
  Effect.asVoid(run("drop schema if exists quotewire cascade", [], false))
