import { assert } from "@effect/vitest"
import { Change, type Ids, Storage } from "@quotewire/core"
import type { PgStorage } from "@quotewire/storage-pg"
import { PgCells } from "@quotewire/storage-pg/cells"
import { Context, Effect, Exit, Layer, Redacted, type Scope } from "effect"
import { PostgresServer } from "../../../../test/support/PostgresServer.ts"
import { statements } from "../../../../test/support/TestDatabase.ts"
import { type Port, workspace } from "./hosts.ts"

/** Two servers that can replicate, for a group of tests. */
export class TwoServers extends Context.Service<TwoServers, readonly [PostgresServer, PostgresServer]>()(
  "test/TwoServers"
) {
  static readonly layer = Layer.effect(
    TwoServers,
    Effect.acquireRelease(
      Effect.promise(async () => {
        const settings = {
          wal_level: "logical",
          max_replication_slots: "20",
          max_wal_senders: "20",
          // A move that a test stops keeps its worker processes.
          max_worker_processes: "20",
          max_logical_replication_workers: "12",
          // Some releases of PostgreSQL start copying only one table per interval.
          wal_retrieve_retry_interval: "100ms"
        }
        const start = () => PostgresServer.start({ durable: false, settings })
        return Promise.all([start(), start()])
      }),
      (servers) => Effect.promise(() => Promise.all(servers.map((server) => server.remove())))
    )
  )
}

let databases = 0

/** An empty database on a server. */
export const emptyOn = Effect.fnUntraced(function* (server: PostgresServer) {
  const name = `moves_${++databases}`
  yield* Effect.promise(() => statements(server.url("postgres"), `create database ${name}`))
  return server.url(name)
})

/** A cell that was added and can move to the other server, with the addresses of both ends. */
export interface MovableCell {
  readonly cells: readonly [PgCells.CellOptions]
  readonly old_url: string
  readonly new_url: string
}

/** A single cell on the first server, which can move to the second server. */
export const movableCell: Effect.Effect<MovableCell, PgStorage.DatabaseRefused, TwoServers> = Effect.gen(function* () {
  const [first, second] = yield* TwoServers
  const old_url = yield* emptyOn(first)
  const new_url = yield* emptyOn(second)
  const cell: PgCells.CellOptions = {
    name: "home",
    url: Redacted.make(old_url),
    moves_to: Redacted.make(new_url),
    schema: "eu_1"
  }
  yield* PgCells.add([cell], "home", 1)
  return { cells: [cell], old_url, new_url }
})

/** A separate host on these cells, until the scope closes. */
export const openCells = (cells: PgCells.AllCells): Effect.Effect<Port, PgStorage.DatabaseRefused, Scope.Scope> =>
  Effect.map(Layer.build(PgCells.layer(cells)), Context.get(Storage.Storage))

/** The next change of a writer: a version of its record, with an event and a job. */
export const step = (writer: number, version: number): Change.Change =>
  stepIn(workspace((writer % 4) + 1), writer, version)

/** The same in a given workspace. */
export const stepIn = (workspaceId: Ids.WorkspaceId, writer: number, version: number): Change.Change =>
  Change.make(workspaceId, {
    writes: [
      Change.record({ kind: "idempotency_record", id: `${writer}`, version, body: "{}", created_at: 0, updated_at: 0 })
    ],
    events: [{ id: `${writer} ${version}`, occurred_at: version, about: [], body: "{}" }],
    jobs: [{ kind: "collect", due_at: version, ordered: false, payload: "{}" }]
  })

/** Runs statements in a database, and returns the rows of the last. */
export const sql = (url: string, ...texts: ReadonlyArray<string>) => Effect.promise(() => statements(url, ...texts))

export type StepName = PgCells.MoveProgress["step"]

/** Moves a cell, and stops after a step like a killed process. */
export const moveUntil = Effect.fnUntraced(function* ({ cells }: MovableCell, last: StepName) {
  const onProgress = ({ step: reached }: PgCells.MoveProgress) => (reached === last ? Effect.interrupt : Effect.void)
  assert.isTrue(Exit.hasInterrupts(yield* Effect.exit(PgCells.move(cells, "home", { onProgress }))), last)
})

/** Why a move command failed. */
export const reasonOf = <A>(program: Effect.Effect<A, PgStorage.DatabaseRefused>) =>
  Effect.map(Effect.flip(program), ({ message, reason }) => ({ message, reason }))

/** The name of the subscription on the target, which its slot and its publication share. */
export const subscriptionIn = Effect.fnUntraced(function* (url: string) {
  const found = "select subname from pg_subscription s join pg_database d on d.oid = s.subdbid"
  const [subscription] = yield* sql(url, `${found} where d.datname = current_database()`)
  return String(subscription?.subname)
})

const leftBehind = `select
  (select count(*) from pg_replication_slots where database = current_database())::int as slots,
  (select count(*) from pg_publication)::int as publications,
  (select count(*) from pg_subscription s join pg_database d on d.oid = s.subdbid where d.datname = current_database())::int
    as subscriptions`

/** Fails if a move left any replication object in a database. */
export const assertNothingLeft = Effect.fnUntraced(function* (url: string, message?: string) {
  assert.deepStrictEqual(yield* sql(url, leftBehind), [{ slots: 0, publications: 0, subscriptions: 0 }], message)
})
