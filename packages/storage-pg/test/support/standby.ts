import { chmodSync } from "node:fs"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Redacted, type Scope } from "effect"
import { eventually } from "../../../../test/support/eventually.ts"
import { PostgresServer, temporaryFolder } from "../../../../test/support/PostgresServer.ts"
import { statements } from "../../../../test/support/TestDatabase.ts"
import { Wire } from "./Wire.ts"

/** A primary whose commits wait for a standby, and the proxy between them. */
export interface Replicated {
  readonly primary: PostgresServer
  readonly standby: PostgresServer
  readonly wire: Wire
  /** How a host connects to one of the two servers, with short time limits. */
  readonly optionsOf: (server: PostgresServer) => PgStorage.Options
}

const sql = (server: PostgresServer, ...texts: ReadonlyArray<string>) =>
  Effect.promise(() => statements(server.url("postgres"), ...texts))

const removed = (start: () => Promise<PostgresServer>) =>
  Effect.acquireRelease(Effect.promise(start), (server) => Effect.promise(() => server.remove()))

/** Starts a primary and a synchronous standby, by default with the schema. */
export const replicated = (isMigrated = true): Effect.Effect<Replicated, never, Scope.Scope> =>
  Effect.gen(function* () {
    const primary = yield* removed(() =>
      PostgresServer.start({ durable: false, settings: { synchronous_commit: "on" } })
    )
    const wire = yield* Effect.acquireRelease(
      Effect.promise(() => Wire.to(primary.port)),
      (laid) => Effect.sync(() => laid.close())
    )
    const folder = temporaryFolder()
    // PostgreSQL may run as a different user.
    chmodSync(folder, 0o777)
    const standby = yield* removed(() => primary.startStandby(folder, wire.port))
    const optionsOf = (server: PostgresServer): PgStorage.Options => ({
      url: Redacted.make(server.url("postgres")),
      call_seconds: 1,
      statement_seconds: 1,
      connect_seconds: 5
    })
    if (isMigrated) yield* Effect.orDie(PgStorage.migrate(optionsOf(primary)))
    yield* sql(primary, "alter system set synchronous_standby_names = '*'", "select pg_reload_conf()")
    yield* eventually(
      Effect.flatMap(sql(primary, "select from pg_stat_replication where sync_state = 'sync'"), (rows) =>
        rows.length > 0 ? Effect.void : Effect.die("the standby does not follow yet")
      )
    )
    return { primary, standby, wire, optionsOf }
  })

/** How many sessions of a server wait for the standby to confirm their commits. */
export const waiting = (server: PostgresServer): Effect.Effect<number> =>
  Effect.map(sql(server, "select from pg_stat_activity where wait_event = 'SyncRep'"), ({ length }) => length)

/** Ends the primary as a crash would, and promotes the standby. */
export const failOver = Effect.fnUntraced(function* ({ primary, standby }: Replicated) {
  yield* Effect.promise(() => primary.stop("immediate"))
  yield* sql(standby, "select pg_promote(true, 60)")
})
