import { Supervise } from "@quotewire/core"
import { Effect, Queue, Schema, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { RunStatement } from "../connection/Session.ts"
import { someRowsReader } from "../rows/Columns.ts"

/*
 * Maintenance that a PostgreSQL server does in the background and PGlite does not. Without it, the write-ahead log and
 * old row versions would grow until the database is closed.
 */

/** How many writes happen between two checks of the write-ahead log. */
const lookAfter = 100
/** The maximum size of the write-ahead log, in bytes. */
const maxLog = 32 * 1_024 * 1_024
/** How many checks of the write-ahead log happen between two removals of old row versions. */
const vacuumAfter = 100
/** The pause after a failure, in milliseconds. */
const pauseMs = 1_000

const logEnd = "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as at"
const readEnd = someRowsReader(Schema.Struct({ at: Schema.Number }))
const tableNames = "select string_agg('quotewire.' || quote_ident(tablename), ', ') as names from pg_tables"
const ofSchema = "where schemaname = 'quotewire'"
const readNames = someRowsReader(Schema.Struct({ names: Schema.String }))

/** Creates a function to call after each write. It does the maintenance between writes. */
export const make = Effect.fnUntraced(function* (
  run: RunStatement
): Effect.fn.Return<() => void, SqlError, Scope.Scope> {
  const endOf = Effect.map(run(logEnd), ({ rows }) => readEnd(rows)[0].at)
  const [{ names }] = readNames((yield* run(`${tableNames} ${ofSchema}`)).rows)
  const wake = yield* Queue.sliding<void>(1)
  let begin = yield* endOf
  let looks = 0
  let writes = 0
  const tidy = Effect.gen(function* () {
    yield* Queue.take(wake)
    const end = yield* endOf
    if (end - begin > maxLog) {
      yield* run("checkpoint")
      begin = end
    }
    looks += 1
    if (looks % vacuumAfter === 0) yield* run(`vacuum ${names}`)
  })
  yield* Effect.forkScoped(Supervise.repeatForever("Tidying up the database", tidy, pauseMs))
  return () => {
    writes += 1
    if (writes % lookAfter === 0) Queue.offerUnsafe(wake, undefined)
  }
})
