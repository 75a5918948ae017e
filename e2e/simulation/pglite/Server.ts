import { PGlite } from "@electric-sql/pglite"
import { Effect, Redacted } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Rows } from "../../../packages/storage-pg/src/connection/Send.ts"
import * as PgliteSession from "../../../packages/storage-pg/src/folder/PgliteSession.ts"
import { steps } from "../../../packages/storage-pg/src/migrations/PlainSchema.ts"
import { migrateOn } from "../../../packages/storage-pg/src/migrations/Schema.ts"

/*
 * A PostgreSQL server in this process, with the shipped schema. Its clock is the machine's, and its random values
 * follow from what ran before, so that a story is reproducible.
 */

/** Nothing is stored on a disk, so nothing needs to be flushed. */
const settings = [
  "fsync = off",
  "full_page_writes = off",
  "synchronous_commit = off",
  "wal_level = minimal",
  "max_wal_senders = 0",
  "shared_buffers = 16MB",
  "autovacuum = off"
]

/** Starts PGlite in this process. */
export const start = (): Promise<PGlite> => PGlite.create({ postgresqlconf: settings })

/** A server with one session. */
export interface Server {
  /** Runs a statement immediately, at the machine's time. */
  readonly run: (now: number, sql: string, params: ReadonlyArray<unknown>) => Effect.Effect<Rows, SqlError>
  /** The payloads that statements have announced to hosts since the last call. */
  readonly takeNotifications: () => ReadonlyArray<string>
  /** Saves the current content as the beginning of every story. */
  readonly keep: () => void
  /** The bodies of everything stored, including older versions and jobs. */
  readonly texts: () => ReadonlyArray<string>
  /** Resets to the beginning. */
  readonly restore: () => void
}

/** PostgreSQL functions whose results no seed could determine, as `search_path` finds them before PostgreSQL's own. */
const simulated = [
  "create schema simulated",
  `create function simulated.clock_timestamp() returns timestamptz language sql volatile
    as $$ select to_timestamp(current_setting('simulated.now')::float8 / 1000) $$`,
  `create function simulated.now() returns timestamptz language sql volatile
    as $$ select simulated.clock_timestamp() $$`,
  "create sequence simulated.drawn",
  `create function simulated.gen_random_uuid() returns uuid language sql volatile
    as $$ select md5(nextval('simulated.drawn')::text)::uuid $$`,
  "set search_path = simulated, pg_catalog",
  "set plan_cache_mode = force_generic_plan",
  "listen quotewire"
]

const readsTime = /\b(?:clock_timestamp|now)\(\)/

const tables = "select tablename as name from pg_tables where schemaname = 'quotewire' and tablename <> 'migration'"
const texts = `select body from quotewire.record union all select body from quotewire.older_version
  union all select body from quotewire.event union all select payload from quotewire.job`
/** The functions of the schema that would return the true time or random values. */
const inconstant = `select proname as name from pg_proc
  where pronamespace = 'quotewire'::regnamespace and prosrc ~ '(_timestamp|now|random\\w*)\\(\\)'`

/** Creates the shipped schema with the shipped migrations. */
export const make = (database: PGlite): Server => {
  const { run, takeNotifications } = PgliteSession.open(database)
  const now = (sql: string, params: ReadonlyArray<unknown> = []) => Effect.runSync(run(sql, params)).rows
  const namesIn = (sql: string) => now(sql).map(({ name }) => String(name))
  const setTime = (to: number) => now("select set_config('simulated.now', $1, false)", [`${to}`])

  for (const statement of simulated) now(statement)
  setTime(0)
  const nowhere = { url: Redacted.make("postgres://localhost/simulated") }
  Effect.runSync(migrateOn(nowhere, run, steps))
  const changing = namesIn(inconstant)
  if (changing.length > 0) throw new Error(`A story would not be the same twice: ${changing.join(", ")}`)
  const names = namesIn(tables)
  let time = 0

  return {
    run: (at, sql, params) =>
      Effect.suspend(() => {
        if (at !== time && readsTime.test(sql)) {
          time = at
          setTime(at)
        }
        return Effect.map(run(sql, params), ({ rows }) => rows)
      }),
    takeNotifications,
    texts: () => now(texts).map(({ body }) => String(body)),
    keep: () => {
      now("create schema beginning")
      for (const name of names) now(`create table beginning.${name} as table quotewire.${name}`)
    },
    restore: () => {
      takeNotifications()
      now(`truncate ${names.map((name) => `quotewire.${name}`).join(", ")}`)
      for (const name of names) now(`insert into quotewire.${name} select * from beginning.${name}`)
      now("select setval('simulated.drawn', 1)")
      // Empties the WAL, which is kept in memory.
      now("checkpoint")
    }
  }
}
