import { Change, Ids, Storage } from "@quotewire/core"
import { PgCells } from "@quotewire/storage-pg"
import { Context, Effect, Fiber, Layer, Redacted } from "effect"
import { PostgresServer } from "../test/support/PostgresServer.ts"
import { statements } from "../test/support/TestDatabase.ts"

/*
 * Measures how long calls wait while a cell moves from one PostgreSQL server to another: two hosts in this process, writers that store changes
 * one after the other, and readers of what they have stored.
 */

const writers = 32
const changes_before = 300
const moves = 5

const changeOf = (writer: number, version: number): Change.Change =>
  Change.make(Ids.WorkspaceId.make(`wks_${`${writer % 8}`.padStart(26, "1")}`), {
    writes: [
      Change.record({
        kind: "remembered_call",
        id: `${writer}`,
        version,
        body: JSON.stringify({ filler: "x".repeat(1_000) }),
        created_at: 0,
        updated_at: 0
      })
    ],
    events: [{ id: `${writer} ${version}`, occurred_at: version, body: "{}" }]
  })

const server = () => PostgresServer.start({ durable: true, settings: { wal_level: "logical" } })

/** Moves a cell once, and returns how long it was held, the longest wait of a call, and how many calls there were. */
const moveOnce = (from: PostgresServer, to: PostgresServer, round: number) =>
  Effect.gen(function* () {
    const name = `round_${round}`
    for (const end of [from, to]) {
      yield* Effect.promise(() => statements(end.url("postgres"), `create database ${name}`))
    }
    const cells: PgCells.AllCells = [
      { name: "home", url: Redacted.make(from.url(name)), moves_to: Redacted.make(to.url(name)) }
    ]
    yield* PgCells.add(cells, "home", 1)
    const open = Effect.map(Layer.build(PgCells.layer(cells)), Context.get(Storage.Storage))
    const hosts = [yield* open, yield* open]
    const waits_ms: Array<number> = []
    let is_measured = false
    let is_over = false

    const timed = <A, E>(call: Effect.Effect<A, E>) =>
      Effect.gen(function* () {
        const began = performance.now()
        yield* call
        if (is_measured) waits_ms.push(performance.now() - began)
      })
    const write = Effect.fnUntraced(function* (writer: number) {
      const host = hosts[writer % 2]
      if (host === undefined) return
      for (let version = 1; !is_over; version++) {
        const change = changeOf(writer, version)
        yield* timed(host.commit(change))
        const [record] = change.writes
        if (record !== undefined) yield* timed(host.get({ workspace_id: change.workspace_id, ...record, version }))
        if (version > changes_before) yield* Effect.sleep(5)
      }
    })
    const running = yield* Effect.forkChild(
      Effect.forEach(Array.from({ length: writers }), (_, writer) => write(writer), { concurrency: "unbounded" })
    )
    yield* Effect.sleep(8_000)
    is_measured = true
    yield* Effect.sleep(1_000)
    const usual_ms = Math.max(...waits_ms)
    let held_ms = 0
    const onProgress = (progress: PgCells.MoveProgress) =>
      Effect.sync(() => {
        if ("held_ms" in progress) held_ms = progress.held_ms
      })
    yield* PgCells.move(cells, "home", { onProgress })
    yield* Effect.sleep(1_000)
    is_over = true
    yield* Fiber.join(running)
    return {
      held_ms,
      longest_wait_ms: Math.round(Math.max(...waits_ms)),
      usual_ms: Math.round(usual_ms),
      calls: waits_ms.length
    }
  }).pipe(Effect.scoped)

const [from, to] = [await server(), await server()]
try {
  for (let round = 1; round <= moves; round++) console.log(await Effect.runPromise(moveOnce(from, to, round)))
} finally {
  await from.remove()
  await to.remove()
}
