import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { PgCells } from "@quotewire/storage-pg/cells"
import { Effect, Fiber, Redacted } from "effect"
import { eventually } from "../../../test/support/eventually.ts"
import {
  assertNothingLeft,
  type MovableCell,
  movableCell,
  moveUntil,
  openCells,
  reasonOf,
  type StepName,
  sql,
  step,
  subscriptionIn,
  TwoServers
} from "./support/moves.ts"
import { Wire } from "./support/Wire.ts"

/** Blocks the copy of the feed: it waits on the target. */
const holdUpCopy = [
  "create function wait() returns trigger language plpgsql as 'begin perform pg_sleep(3600); return new; end'",
  "create trigger wait before insert on eu_1.event for each row execute function public.wait()",
  "alter table eu_1.event enable always trigger wait"
]

/**
 * Puts a move into a state that a crash of the target server can leave: the feed is copied and its slot is gone, but
 * the server has not recorded that the feed no longer needs the slot.
 */
const loseCopy = Effect.fnUntraced(function* ({ new_url, old_url }: MovableCell) {
  const name = yield* subscriptionIn(new_url)
  const slots = "select slot_name from pg_replication_slots where slot_name like 'pg\\_%\\_sync\\_%'"
  yield* sql(new_url, `alter subscription ${name} disable`)
  yield* eventually(sql(old_url, `select pg_drop_replication_slot(slot_name)::text from (${slots}) s`))
  yield* sql(
    new_url,
    "set allow_system_table_mods = on",
    `update pg_subscription_rel r set srsubstate = 'f', srsublsn = '0/1'
      from pg_subscription s where s.oid = r.srsubid and s.subname = '${name}' and r.srrelid = 'eu_1.event'::regclass`,
    `alter subscription ${name} enable`
  )
})

layer(TwoServers.layer, { excludeTestServices: true, timeout: "60 seconds" })("a cell move", (it) => {
  it.effect("stops if its replication slot was dropped, and can be restarted", () =>
    Effect.gen(function* () {
      const movable = yield* movableCell
      const { cells, new_url, old_url } = movable
      const host = yield* openCells(cells)
      yield* moveUntil(movable, "following")
      const name = yield* subscriptionIn(new_url)
      yield* sql(new_url, `alter subscription ${name} disable`)
      yield* eventually(sql(old_url, `select pg_drop_replication_slot('${name}')::text`))
      yield* host.commit(step(1, 1))
      yield* sql(new_url, `alter subscription ${name} enable`)
      assert.match(
        (yield* reasonOf(PgCells.move(cells, "home"))).message,
        /replication slot no longer exists on the old server.*--undo/
      )
      assert.strictEqual(yield* PgCells.undoMove(cells, "home"), "undone")
      assert.strictEqual(yield* PgCells.move(cells, "home"), "moved")
      yield* host.commit(step(1, 2))
    })
  )

  it.effect("reports immediately that its replication slot was invalidated, and can be restarted", () =>
    Effect.gen(function* () {
      const { cells, new_url, old_url } = yield* movableCell
      const host = yield* openCells(cells)
      const onProgress = ({ step: last }: PgCells.MoveProgress) =>
        Effect.gen(function* () {
          if (last !== "subscribed") return
          const name = yield* subscriptionIn(new_url)
          yield* sql(new_url, `alter subscription ${name} disable`)
          yield* sql(old_url, "alter system set max_slot_wal_keep_size = 0", "select pg_reload_conf()")
          yield* host.commit(step(1, 1)).pipe(Effect.orDie)
          // The WAL begins a new file, and a checkpoint invalidates slots that retain older ones.
          yield* eventually(
            Effect.gen(function* () {
              const found = `select wal_status from pg_replication_slots where slot_name = '${name}'`
              const [slot] = yield* sql(old_url, "select pg_switch_wal()", "checkpoint", found)
              assert.strictEqual(slot?.wal_status, "lost")
            })
          )
        })
      const { message } = yield* reasonOf(PgCells.move(cells, "home", { onProgress }))
      assert.match(message, /max_slot_wal_keep_size.*--undo/)
      yield* sql(old_url, "alter system reset max_slot_wal_keep_size", "select pg_reload_conf()")
      assert.strictEqual(yield* PgCells.undoMove(cells, "home"), "undone")
      assert.strictEqual(yield* PgCells.move(cells, "home"), "moved")
      yield* host.commit(step(1, 2))
    })
  )

  it.effect("copies the cell again after the subscription was dropped", () =>
    Effect.gen(function* () {
      const movable = yield* movableCell
      const { cells, new_url, old_url } = movable
      const host = yield* openCells(cells)
      yield* host.commit(step(1, 1))
      yield* moveUntil(movable, "following")
      const name = yield* subscriptionIn(new_url)
      const changes = ["disable", "set (slot_name = none)"].map((change) => `alter subscription ${name} ${change}`)
      yield* sql(new_url, ...changes, `drop subscription ${name}`)
      yield* sql(old_url, "delete from eu_1.job")
      yield* host.commit(step(1, 2))
      assert.strictEqual(yield* PgCells.move(cells, "home"), "moved")
      assert.deepStrictEqual(yield* sql(new_url, "select due_at::int from eu_1.job"), [{ due_at: 2 }])
    })
  )

  it.effect("copies everything again if the target has lost a copied table in a crash", () =>
    Effect.gen(function* () {
      const movable = yield* movableCell
      const { cells, new_url, old_url } = movable
      const host = yield* openCells(cells)
      yield* host.commit(step(1, 1))
      const steps: Array<StepName> = []
      const onProgress = ({ step: last }: PgCells.MoveProgress) =>
        Effect.gen(function* () {
          if (last === "subscribed" && !steps.includes(last)) yield* loseCopy(movable)
          steps.push(last)
          if (last === "copying_again") yield* host.commit(step(1, 2)).pipe(Effect.orDie)
        })
      assert.strictEqual(yield* PgCells.move(cells, "home", { onProgress }), "moved")
      assert.include(steps, "copying_again")
      yield* host.commit(step(1, 3))
      assert.deepStrictEqual(yield* sql(new_url, "select count(*)::int as events from eu_1.event"), [{ events: 3 }])
      for (const url of [old_url, new_url]) yield* assertNothingLeft(url)
    })
  )

  it.effect("can be resumed or undone after the target has lost a copied table", () =>
    Effect.gen(function* () {
      const movable = yield* movableCell
      const { cells, new_url, old_url } = movable
      const host = yield* openCells(cells)
      yield* host.commit(step(1, 1))
      yield* moveUntil(movable, "subscribed")
      yield* loseCopy(movable)
      assert.strictEqual(yield* PgCells.undoMove(cells, "home"), "undone")
      for (const url of [old_url, new_url]) yield* assertNothingLeft(url)
      yield* moveUntil(movable, "subscribed")
      yield* loseCopy(movable)
      yield* host.commit(step(1, 2))
      assert.strictEqual(yield* PgCells.move(cells, "home"), "moved")
      assert.deepStrictEqual(yield* sql(new_url, "select count(*)::int as events from eu_1.event"), [{ events: 2 }])
      for (const url of [old_url, new_url]) yield* assertNothingLeft(url)
    })
  )

  it.effect("does not log the source password if the target cannot subscribe", () =>
    Effect.gen(function* () {
      const { cells, new_url, old_url } = yield* movableCell
      const [first, second] = yield* TwoServers
      const old = new URL(old_url)
      const password = "pass quotewire word"
      yield* sql(old_url, `create role mover superuser login password '${password}'`)
      const wire = yield* Effect.acquireRelease(
        Effect.promise(() => Wire.to(first.port)),
        (wire) => Effect.sync(() => wire.close())
      )
      Object.assign(old, { username: "mover", password, port: `${wire.port}` })
      const leaky = ["log_statement = ddl", "log_min_duration_statement = 0", "log_error_verbosity = verbose"]
      yield* sql(
        new_url,
        ...leaky.map((setting) => `alter database ${new URL(new_url).pathname.slice(1)} set ${setting}`)
      )
      const movable = [{ ...cells[0], url: Redacted.make(old.href) }] as const
      const onProgress = ({ step }: PgCells.MoveProgress) =>
        Effect.sync(() => {
          if (step === "published") wire.refuse()
        })
      assert.match(
        (yield* reasonOf(PgCells.move(movable, "home", { onProgress }))).message,
        /cannot reach the old server/
      )
      const log = readFileSync(join(second.folder, "log"), "utf8")
      assert.include(log, "could not connect to the publisher")
      assert.notInclude(log, encodeURIComponent(password))
      wire.restore()
      assert.strictEqual(yield* PgCells.move(movable, "home"), "moved")
      assert.notInclude(readFileSync(join(second.folder, "log"), "utf8"), encodeURIComponent(password))
    })
  )

  it.effect.each([
    ["pg_cancel_backend", /canceling statement due to user request/],
    ["pg_terminate_backend", /terminating connection due to administrator command/]
  ] as const)("logs no password if %s stops it", ([stop, says]) =>
    Effect.gen(function* () {
      const { cells, new_url, old_url } = yield* movableCell
      const [first, second] = yield* TwoServers
      const old = new URL(old_url)
      const password = `${stop} word`
      yield* sql(old_url, `create role by_${stop} superuser login password '${password}'`)
      const wire = yield* Effect.acquireRelease(
        Effect.promise(() => Wire.to(first.port)),
        (wire) => Effect.sync(() => wire.close())
      )
      Object.assign(old, { username: `by_${stop}`, password, port: `${wire.port}` })
      const onProgress = ({ step }: PgCells.MoveProgress) =>
        Effect.sync(() => {
          if (step === "published") wire.silence()
        })
      const movable = [{ ...cells[0], url: Redacted.make(old.href) }] as const
      const moving = yield* Effect.forkChild(PgCells.move(movable, "home", { onProgress }))
      const stopped = `select ${stop}(pid) from pg_stat_activity where query like '%move.source%' and state = 'active' and pid <> pg_backend_pid()`
      yield* eventually(Effect.map(sql(new_url, stopped), (found) => assert.lengthOf(found, 1)))
      const log = () => readFileSync(join(second.folder, "log"), "utf8")
      yield* eventually(Effect.sync(() => assert.match(log(), says)))
      wire.refuse()
      yield* Fiber.interrupt(moving)
      assert.notInclude(log(), encodeURIComponent(password))
    })
  )

  it.effect.each(["copying", "following"] as const)(
    'can be undone if the target server was lost in the step "%s"',
    (last) =>
      Effect.gen(function* () {
        const { cells, new_url, old_url } = yield* movableCell
        const [, second] = yield* TwoServers
        const host = yield* openCells(cells)
        yield* host.commit(step(1, 1))
        const onProgress = ({ step }: PgCells.MoveProgress) =>
          Effect.gen(function* () {
            if (step === "published" && last === "copying") yield* sql(new_url, ...holdUpCopy)
            if (step !== last) return
            // All tables but one are copied.
            const left = "select srsubstate as state from pg_subscription_rel where srsubstate <> 'r'"
            const isHeldUp = Effect.map(sql(new_url, left), (found) => assert.deepStrictEqual(found, [{ state: "d" }]))
            if (last === "copying") yield* eventually(isHeldUp)
            yield* Effect.promise(() => second.stop("immediate"))
          })
        assert.strictEqual((yield* reasonOf(PgCells.move(cells, "home", { onProgress }))).reason, "unreachable")

        const steps: Array<StepName> = []
        const undoing = PgCells.undoMove(cells, "home", {
          onProgress: ({ step }) => Effect.sync(() => steps.push(step))
        })
        assert.strictEqual(yield* undoing, "undone")
        assert.deepStrictEqual(steps, ["unreachable"])
        yield* assertNothingLeft(old_url)
        yield* host.commit(step(1, 2))

        // What an operator does when the server is back.
        yield* Effect.promise(() => second.startAgain())
        const name = yield* subscriptionIn(new_url)
        const without = ["disable", "set (slot_name = none)"].map((change) => `alter subscription ${name} ${change}`)
        yield* sql(new_url, ...without, `drop subscription ${name}`, "drop schema eu_1 cascade")
        assert.strictEqual(yield* PgCells.move(cells, "home"), "moved")
        yield* host.commit(step(1, 3))
        for (const url of [old_url, new_url]) yield* assertNothingLeft(url)
      })
  )
})
