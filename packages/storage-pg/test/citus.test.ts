import { assert, describe, it, layer } from "@effect/vitest"
import { Change, Storage } from "@quotewire/core"
import { StorageContract, StorageModel } from "@quotewire/core/testing"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Exit, Fiber } from "effect"
import { statements } from "../../../test/support/TestDatabase.ts"
import { citus_url, emptyAll, needed, oneCell, scopedSchema, twoCells } from "./support/citus.ts"
import { open, workspace } from "./support/hosts.ts"

/** A claim so late that every cell is asked: what was known about the emptied ones is forgotten. */
const forget = Effect.flatMap(Storage.Storage, (storage) => storage.claim({ now: 1e12, lease_ms: 1, limit: 0 }))
const onEmpty = <A, E, R>(test: Effect.Effect<A, E, R>) => emptyAll.pipe(Effect.andThen(forget), Effect.andThen(test))

const event = (place: number): Change.NewEvent => ({ id: `evt_${place}`, occurred_at: place, body: "{}" })

describe.skipIf(citus_url === undefined)(`on Citus (${needed})`, () => {
  describe.each([
    { name: "one cell", storage: oneCell },
    { name: "two cells", storage: twoCells }
  ])("$name", ({ storage }) => {
    layer(storage, { timeout: 60_000 })("keep the rules of storage", (it) => {
      for (const { name, run } of StorageContract.cases) it.effect(name, () => onEmpty(run))

      it.effect.prop(
        "in random histories",
        [StorageModel.histories],
        ([history]) => onEmpty(StorageModel.compare(history)),
        { arbitrary: { runs: 10, size: 60 }, timeout: 300_000 }
      )
    })
  })

  it.live("a cell moves to another server while it is written, and no change is refused or lost", () =>
    Effect.gen(function* () {
      const { options, url } = yield* scopedSchema
      const storage = yield* open(options)
      const query = (sql: string) => Effect.promise(() => statements(url, sql))
      const server = Effect.map(
        query(
          `select nodename as host, nodeport as port from citus_shards where table_name = '${options.schema}.event'::regclass`
        ),
        ([row]) => ({ host: String(row?.host), port: Number(row?.port) })
      )
      const from = yield* server
      const [to] = yield* query(
        `select nodename as host, nodeport as port from pg_dist_node where shouldhaveshards and nodeport <> ${from.port}`
      )
      let written = 0
      const writing = yield* Effect.forkChild(
        Effect.forever(
          Effect.suspend(() => storage.commit(Change.make(workspace(1), { events: [event(written)] }))).pipe(
            Effect.tap(() => Effect.sync(() => written++))
          )
        )
      )
      yield* query(`select citus_schema_move('${options.schema}', '${to?.host}', ${to?.port})`)
      yield* storage.commit(Change.make(workspace(2), { events: [event(0)] }))
      const exit = yield* Fiber.interrupt(writing).pipe(Effect.andThen(Fiber.await(writing)))
      assert.isTrue(Exit.hasInterrupts(exit))
      assert.strictEqual((yield* server).port, Number(to?.port))
      const { events } = yield* storage.feed({ workspace_id: workspace(1), after: 0, limit: 100_000 })
      assert.isAtLeast(events.length, written)
      assert.deepStrictEqual(
        events.map(({ number }) => number),
        events.map((_, place) => place + 1)
      )
    })
  )

  it.live("is not used while a function is not distributed, until it is migrated", () =>
    Effect.gen(function* () {
      const { options, url } = yield* scopedSchema
      const sql = `create function ${options.schema}.later() returns integer language plpgsql as $$ begin return 1; end $$`
      yield* Effect.promise(() => statements(url, sql))
      const refusal = yield* Effect.flip(open(options))
      assert.strictEqual(refusal.reason, "half_made_schema")
      assert.match(refusal.message, /not all of its functions: run quotewire migrate/)
      yield* PgStorage.migrate(options)
      yield* open(options)
    })
  )

  it.live("reports an internal error as a fault, not as a database that is unavailable for now", () =>
    Effect.gen(function* () {
      const { options, url } = yield* scopedSchema
      const storage = yield* open(options)
      const [found] = yield* Effect.promise(() =>
        statements(url, `select pg_get_functiondef('${options.schema}.lock_workspaces_1'::regproc) as text`)
      )
      const failing = String(found?.text).replace("begin", "begin raise exception 'broken' using errcode = 'XX000';")
      yield* Effect.promise(() => statements(url, failing))
      const exit = yield* Effect.exit(storage.commit(Change.make(workspace(1), { events: [event(0)] })))
      assert.isTrue(Exit.hasDies(exit))
    })
  )
})
