import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Layer, Redacted } from "effect"
import { PostgresServer } from "../../test/support/PostgresServer.ts"
import { statements } from "../../test/support/TestDatabase.ts"

/** Creates and drops databases on a PostgreSQL server. */
export interface Databases {
  /** Creates a database that contains only the schema. */
  readonly fresh: () => Promise<string>
  readonly drop: (url: string) => Promise<unknown>
}

/**
 * The server settings that differ from the defaults. They prevent checkpoints in the middle of a round. Commits wait
 * for the disk, as they do by default.
 */
const settings = {
  shared_buffers: "1GB",
  min_wal_size: "4GB",
  max_wal_size: "16GB",
  checkpoint_timeout: "1h",
  autovacuum_naptime: "10s"
}

/** The number of WAL segments that are created before anything is measured, as on a server that has run for a while. */
const logSegments = 200

const makeLog = `do $$ begin
  for n in 1..${logSegments} loop
    perform pg_logical_emit_message(false, 'quotewire', 'a segment is begun');
    perform pg_switch_wal();
  end loop;
end $$`

/** Starts a PostgreSQL server for the duration of the work. Its commits wait for the disk. */
export const using = <A>(run: (databases: Databases) => Promise<A>): Promise<A> =>
  usingServer((_, databases) => run(databases))

/** Like `using`, but the work can also inspect the server. */
export const usingServer = async <A>(run: (server: PostgresServer, databases: Databases) => Promise<A>): Promise<A> => {
  const server = await PostgresServer.start({ durable: true, settings })
  try {
    const admin = server.url("postgres")
    await statements(admin, makeLog, "checkpoint")
    await statements(admin, "create database model")
    await Effect.runPromise(PgStorage.migrate({ url: Redacted.make(server.url("model")) }))
    let databaseCount = 0
    return await run(server, {
      fresh: async () => {
        const name = `bench_${++databaseCount}`
        await statements(admin, `create database ${name} template model`)
        return server.url(name)
      },
      drop: (url) => statements(admin, `drop database if exists ${new URL(url).pathname.slice(1)} with (force)`)
    })
  } finally {
    await server.remove()
  }
}

/** Runs work on a database of its own. */
export const onFresh = async <A>(databases: Databases, run: (url: string) => Promise<A>): Promise<A> => {
  const url = await databases.fresh()
  try {
    return await run(url)
  } finally {
    await databases.drop(url)
  }
}

/** The storage of a process. */
export const storage = (url: string) => Layer.orDie(PgStorage.layer({ url: Redacted.make(url) }))
