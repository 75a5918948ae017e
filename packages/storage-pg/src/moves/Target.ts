import { Effect, Redacted, Schema } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { addressOf } from "../connection/DatabaseRefused.ts"
import { hasRow, type Session } from "../connection/Session.ts"
import { makePlaceTable } from "../places/Place.ts"
import { rowsReader, someRowsReader } from "../rows/Columns.ts"
import { query } from "../sql/files.ts"
import { nameOf } from "./names.ts"
import * as tables from "./tables.ts"

/*
 * The steps of a move at the new place of a cell, the subscriber. Each step is idempotent.
 */

const Facts = Schema.Struct({
  version: Schema.Int,
  is_standby: Schema.Boolean,
  workers: Schema.Int,
  has_schema: Schema.Boolean
})
/** What a move needs to know about the new place before it begins. */
export type Facts = typeof Facts.Type

const Copied = Schema.Struct({ tables_left: Schema.Int, tables: Schema.Int, is_running: Schema.Boolean })
/** How far the copy is. */
export type Copied = typeof Copied.Type

const arriveQuery = query("moves/arrive")
const arrivedQuery = query("moves/arrived")
const copiedQuery = query("moves/copied")
const copySlotNamesQuery = query("moves/copy_slot_names")
const settleQuery = query("moves/settle")
const targetFactsQuery = query("moves/target_facts")

/**
 * A server that logs statements logs their parameters, too, and with an error its context. Only a superuser can turn that off. The
 * context matters if the session is terminated: no exception handler runs then.
 */
const hideParameters =
  "select set_config('log_parameter_max_length', '0', false), set_config('log_error_verbosity', 'terse', false) from pg_roles where rolname = current_user and rolsuper"

const readFacts = someRowsReader(Facts)
const readCopied = rowsReader(Copied)
const readCopySlotNames = someRowsReader(Schema.Struct({ names: Schema.String }))

/** Reads what a move needs to know before it begins. */
export const facts = ({ run }: Session): Effect.Effect<Facts, SqlError> =>
  Effect.map(run(targetFactsQuery), ({ rows }) => readFacts(rows)[0])

/** Marks this place as the target of a move; false if another cell or move is here. */
export const arrive = Effect.fnUntraced(function* (
  { run }: Session,
  move_id: string,
  epoch: number
): Effect.fn.Return<boolean, SqlError> {
  yield* makePlaceTable(run)
  return yield* hasRow(run, arriveQuery, [move_id, epoch])
})

/** Whether a move has subscribed. */
export const isSubscribed = ({ run }: Session, move_id: string): Effect.Effect<boolean, SqlError> =>
  hasRow(
    run,
    "select from pg_subscription where subname = $1 and subdbid = (select oid from pg_database where datname = current_database())",
    [nameOf(move_id)]
  )

/**
 * Subscribes to the old place; `startCopying` follows. The new server keeps the address of the old one, with its password, until the subscription is
 * dropped; only superusers can read it.
 */
export const subscribe = Effect.fnUntraced(function* (
  session: Session,
  move_id: string,
  source: Redacted.Redacted<string>
): Effect.fn.Return<void, SqlError> {
  const name = nameOf(move_id)
  if (yield* isSubscribed(session, move_id)) return
  // An earlier subscription of this move may have been dropped: everything is copied anew.
  const names = (yield* tables.read(session)).map(({ name }) => `quotewire."${name}"`)
  yield* session.run(`truncate ${names.join(", ")}`, [], false)
  yield* session.run(hideParameters)
  // As a URL writes it: PostgreSQL would end a password at the first `@`, and name the rest of it as the host.
  const address = addressOf(Redacted.value(source))?.href ?? ""
  yield* session.run("select set_config('move.source', $1, false)", [address])
  yield* session.run(query("moves/subscribe", { name }), [], false)
})

/** Lets the subscription copy the tables and follow changes. */
export const startCopying = ({ run }: Session, move_id: string): Effect.Effect<void, SqlError> =>
  Effect.asVoid(run(`alter subscription ${nameOf(move_id)} enable`, [], false))

/**
 * The pattern of the names of the slots from which the subscription copies tables. PostgreSQL makes them at the old place, one for
 * each table for as long as it is copied.
 */
export const copySlotNames = ({ run }: Session, move_id: string): Effect.Effect<string, SqlError> =>
  Effect.map(run(copySlotNamesQuery, [nameOf(move_id)]), ({ rows }) => readCopySlotNames(rows)[0].names)

/** How far the copy is; null if there is no subscription. */
export const copied = ({ run }: Session, move_id: string): Effect.Effect<Copied | null, SqlError> =>
  Effect.map(run(copiedQuery, [nameOf(move_id)]), ({ rows }) => readCopied(rows)[0] ?? null)

/** Collects statistics for the query planner: they are not replicated. */
export const analyze = Effect.fnUntraced(function* (session: Session): Effect.fn.Return<void, SqlError> {
  for (const { name } of yield* tables.read(session)) yield* session.run(`analyze quotewire."${name}"`, [], false)
})

/** Whether the mark, and so everything before it, has arrived. The answer is durable. */
export const hasArrived = ({ run }: Session, mark: string): Effect.Effect<boolean, SqlError> =>
  hasRow(run, arrivedQuery, [mark])

/** Makes the cell live here, once the move is decided at the old place. */
export const settle = ({ run }: Session, move_id: string): Effect.Effect<void, SqlError> =>
  Effect.asVoid(run(settleQuery, [move_id]))

/** Drops the subscription, with its slot if the old place answers. */
export const unsubscribe = Effect.fnUntraced(function* (
  session: Session,
  move_id: string
): Effect.fn.Return<void, SqlError> {
  const name = nameOf(move_id)
  if (!(yield* isSubscribed(session, move_id))) return
  const drop = session.run(`drop subscription ${name}`, [], false)
  const without = ["disable", "set (slot_name = none)"].map((change) =>
    session.run(`alter subscription ${name} ${change}`, [], false)
  )
  yield* Effect.catchTag(drop, "SqlError", () => Effect.andThen(Effect.all(without), drop))
})

/** Drops what a move has copied, when the move is undone. */
export const clear = ({ run }: Session): Effect.Effect<void, SqlError> =>
  Effect.asVoid(run("drop schema if exists quotewire cascade", [], false))
