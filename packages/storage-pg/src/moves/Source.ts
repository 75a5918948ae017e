import { Effect, Schedule, Schema } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { hasRow, type Session } from "../connection/Session.ts"
import { stateOf } from "../connection/StatementRefused.ts"
import { asideOf, makePlaceTable, releaseStatement } from "../places/Place.ts"
import { rowsReader, someRowsReader } from "../rows/Columns.ts"
import { query } from "../sql/files.ts"
import { literal, nameOf } from "./Replication.ts"

/*
 * The steps of a move in the cell's old database, which is the publisher. Each step can be repeated safely.
 */

/** How long a hold waits for its table locks, in milliseconds. During this time, hosts' statements queue behind it. */
const lockMs = 250
/**
 * How long a hold waits for a running vacuum before it takes its table locks, in milliseconds. Hosts do not wait during
 * this time.
 */
const vacuumMs = 10_000
/**
 * How long to wait for a new slot, in milliseconds. PostgreSQL first waits for every running transaction on the server
 * that has written something.
 */
const slotMs = 60_000
/** How long a hold may last, in milliseconds. Any host may end a hold that lasts longer. */
export const holdMs = 600

const Facts = Schema.Struct({
  version: Schema.Int,
  wal_level: Schema.String,
  is_standby: Schema.Boolean,
  free_slots: Schema.Int,
  free_senders: Schema.Int,
  sequences: Schema.Int,
  has_aside: Schema.Boolean
})
/** Facts about the old database that are checked before a move begins. */
export type Facts = typeof Facts.Type

const Lag = Schema.Struct({
  bytes: Schema.Int,
  confirmed: Schema.Int,
  copies_confirmed: Schema.Int,
  is_lost: Schema.Boolean
})
/**
 * How far the new database is behind: the bytes of WAL that it has not received, the position that it has confirmed,
 * the sum of the positions confirmed for tables that it has copied but not caught up with, and whether the old server
 * has invalidated the slot (`wal_status` is `lost`).
 */
export type Lag = typeof Lag.Type

const copySlotsQuery = query("moves/copy_slots")
const decideQuery = query("moves/decide")
const forgetQuery = query("moves/forget")
const lagQuery = query("moves/lag")
const leaveQuery = query("moves/leave")
const lockAgainstAll = query("moves/lock_tables", { mode: "access exclusive" })
const lockAgainstVacuum = query("moves/lock_tables", { mode: "share update exclusive" })
const markQuery = query("moves/mark")
const missingSlotsQuery = query("moves/missing_slots")
const stayQuery = query("moves/stay")

const readFacts = someRowsReader(Facts)
const readEpochs = rowsReader(Schema.Struct({ epoch: Schema.Int }))
const readMarks = rowsReader(Schema.Struct({ mark: Schema.String }))
const readLag = rowsReader(Lag)
const readSlots = rowsReader(Schema.Struct({ name: Schema.String }))
const readPids = rowsReader(Schema.Struct({ pid: Schema.NullOr(Schema.Int) }))

const aside = (schema: string | undefined) => `"${asideOf(schema)}"`

/** Reads the facts that are checked before a move begins. */
export const facts = (session: Session, schema: string | undefined): Effect.Effect<Facts, SqlError> =>
  Effect.map(
    session.run(query("moves/source_facts", { aside: literal(aside(schema)) })),
    ({ rows }) => readFacts(rows)[0]
  )

/** Begins a move. Returns the cell's epoch, which counts its moves; null if the cell is not here. */
export const leave = Effect.fnUntraced(function* (
  { run }: Session,
  moveId: string
): Effect.fn.Return<number | null, SqlError> {
  yield* makePlaceTable(run)
  const [row] = readEpochs((yield* run(leaveQuery, [moveId])).rows)
  return row?.epoch ?? null
})

const hasSlot = ({ run }: Session, moveId: string): Effect.Effect<boolean, SqlError> =>
  hasRow(run, "select from pg_replication_slots where slot_name = $1", [nameOf(moveId)])

/**
 * Publishes the tables and creates the slot that retains what the new database has not received. Returns false if the
 * new database has already subscribed but the slot is gone, because a new slot would lack the changes written after the
 * old slot was lost.
 */
export const publish = Effect.fnUntraced(function* (
  session: Session,
  moveId: string,
  isSubscribed: boolean
): Effect.fn.Return<boolean, SqlError> {
  const { run } = session
  const name = nameOf(moveId)
  yield* run(query("moves/publish", { name }), [], false)
  if (!(yield* hasSlot(session, moveId))) {
    if (isSubscribed) return false
    yield* run(`set statement_timeout = ${slotMs}`, [], false)
    yield* run("select pg_create_logical_replication_slot($1, 'pgoutput')::text", [name])
    yield* run("set statement_timeout = 0", [], false)
  }
  return true
})

/**
 * Reads how far the new database is behind, including the tables that need these slots; null if the move has no slot.
 */
export const lag = (
  { run }: Session,
  moveId: string,
  neededSlots: ReadonlyArray<string>
): Effect.Effect<Lag | null, SqlError> =>
  Effect.map(run(lagQuery, [nameOf(moveId), neededSlots]), ({ rows }) => readLag(rows)[0] ?? null)

/** Whether any of these slots is missing. */
export const lacksSlot = ({ run }: Session, names: ReadonlyArray<string>): Effect.Effect<boolean, SqlError> =>
  names.length === 0 ? Effect.succeed(false) : hasRow(run, missingSlotsQuery, [names])

/** Whether a statement failed because other sessions lock the tables. */
const isBusy = (error: SqlError): boolean => ["55P03", "40P01", "57014"].includes(stateOf(error) ?? "")

/** Runs statements of a transaction. If other sessions lock the tables too long, rolls back and returns null. */
const unlessBusy = <A>({ run }: Session, statements: Effect.Effect<A, SqlError>): Effect.Effect<A | null, SqlError> =>
  Effect.catchTag(statements, "SqlError", (error) =>
    Effect.andThen(run("rollback", [], false), isBusy(error) ? Effect.succeed(null) : Effect.fail(error))
  )

/**
 * Begins the transaction of a hold and blocks vacuum in it. Otherwise the hold would wait for a running vacuum, and
 * hosts would wait behind the hold. Hosts do not wait for this step, and PostgreSQL cancels a conflicting autovacuum
 * after a second. Returns false if the tables are locked.
 */
export const blockVacuum = (session: Session): Effect.Effect<boolean, SqlError> => {
  const begin = ["begin", `set local statement_timeout = ${vacuumMs}`, lockAgainstVacuum]
  const statements = Effect.forEach(begin, (statement) => session.run(statement, [], false), { discard: true })
  return Effect.map(unlessBusy(session, Effect.as(statements, true)), (isBlocked) => isBlocked === true)
}

/**
 * Holds the cell and commits. Returns the mark, a row that is the last to be replicated; null if other sessions lock
 * the tables too long.
 */
export const hold = (session: Session, schema: string | undefined): Effect.Effect<string | null, SqlError> => {
  const { run } = session
  const holdQuery = query("moves/hold", { aside: aside(schema), hold: `'${holdMs} ms'` })
  const statements = Effect.gen(function* () {
    // Hosts' running statements end before these locks are granted.
    for (const statement of [`set local statement_timeout = ${lockMs}`, lockAgainstAll, holdQuery])
      yield* run(statement, [], false)
    const [row] = readMarks((yield* run(markQuery)).rows)
    yield* run("commit", [], false)
    return row?.mark ?? null
  })
  return unlessBusy(session, statements)
}

/** Ends a hold without a cutover. */
export const release = ({ run }: Session, schema: string | undefined): Effect.Effect<void, SqlError> =>
  Effect.asVoid(run(releaseStatement(schema, "any"), [], false))

/** Decides the cutover: from now on, the cell is in the new database. Returns false if the hold has expired. */
export const decide = ({ run }: Session, mark: string): Effect.Effect<boolean, SqlError> =>
  hasRow(run, decideQuery, [mark])

/** How often dropping a slot is retried. A slot stays in use briefly after its subscription is dropped. */
const whileInUse = { schedule: Schedule.spaced("100 millis"), times: 50 }

const dropSlot = ({ run }: Session, name: string): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    const { rows } = yield* run("select active_pid as pid from pg_replication_slots where slot_name = $1", [name])
    const [slot] = readPids(rows)
    if (slot === undefined) return
    if (slot.pid !== null) yield* run("select pg_terminate_backend($1)", [slot.pid])
    yield* run("select pg_drop_replication_slot($1)::text", [name])
  }).pipe(Effect.retry(whileInUse))

/**
 * Records the name pattern of the slots from which the new database copies tables. It is stored as the publication's
 * comment. A subscription drops these slots itself, unless its server is lost. Then nothing else identifies the slots,
 * and they would retain WAL forever.
 */
export const noteCopySlots = ({ run }: Session, moveId: string, names: string): Effect.Effect<void, SqlError> =>
  Effect.asVoid(run(`comment on publication ${nameOf(moveId)} is ${literal(names)}`, [], false))

/** Drops the slots and the publication. */
export const unpublish = Effect.fnUntraced(function* (
  session: Session,
  moveId: string
): Effect.fn.Return<void, SqlError> {
  const name = nameOf(moveId)
  yield* dropSlot(session, name)
  const copySlots = readSlots((yield* session.run(copySlotsQuery, [name])).rows)
  for (const slot of copySlots) yield* dropSlot(session, slot.name)
  yield* session.run(`drop publication if exists ${name}`, [], false)
})

/** Ends an undone move. The cell stays here. */
export const stay = Effect.fnUntraced(function* ({ run }: Session, moveId: string): Effect.fn.Return<void, SqlError> {
  yield* run("delete from quotewire.move_mark")
  yield* run(stayQuery, [moveId])
})

/** Restores the tables of a cell that has left, because its new database is lost. */
export const takeBack = ({ run }: Session, schema: string | undefined): Effect.Effect<void, SqlError> =>
  Effect.asVoid(run(query("moves/take_back", { aside: aside(schema) }), [], false))

/**
 * Drops the tables of a cell that has left. Only the row in `place` stays, so that old hosts cannot use this database.
 */
export const clear = Effect.fnUntraced(function* (
  { run }: Session,
  schema: string | undefined,
  moveId: string
): Effect.fn.Return<void, SqlError> {
  yield* run(`drop schema if exists ${aside(schema)} cascade`, [], false)
  yield* run(forgetQuery, [moveId])
})
