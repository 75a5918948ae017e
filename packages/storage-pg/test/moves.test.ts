import { assert, layer } from "@effect/vitest"
import { PgCells } from "@quotewire/storage-pg/cells"
import { Effect, Fiber, Option, Redacted } from "effect"
import { Client } from "pg"
import { eventually, until } from "../../../test/support/eventually.ts"
import { emptyDatabase } from "../../../test/support/TestDatabase.ts"
import { type Port, workspace } from "./support/hosts.ts"
import { Load } from "./support/Load.ts"
import {
  assertNothingLeft,
  emptyOn,
  type MovableCell,
  movableCell,
  moveUntil,
  openCells,
  reasonOf,
  type StepName,
  sql,
  step,
  stepIn,
  TwoServers
} from "./support/moves.ts"

const writers = 16

/** The cell in its target database, with another database to move to. */
const movesOn = Effect.fnUntraced(function* ({ cells: [cell], new_url }: MovableCell) {
  const [first] = yield* TwoServers
  const cells: PgCells.AllCells = [
    { ...cell, url: Redacted.make(new_url), moves_to: Redacted.make(yield* emptyOn(first)) }
  ]
  return cells
})

/** Another session on the database, which runs statements until the scope closes. */
const session = Effect.fnUntraced(function* (url: string) {
  const client = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client(url)
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )
  return (text: string) => Effect.promise(() => client.query(text))
})

/** No mark arrives as long as the session holds a lock. */
const holdUp = [
  "create or replace function wait() returns trigger language plpgsql as 'begin perform pg_advisory_xact_lock(42); return new; end'",
  "create or replace trigger wait before insert on eu_1.move_mark for each row execute function public.wait()",
  "alter table eu_1.move_mark enable always trigger wait",
  "select pg_advisory_lock(42)"
]

layer(TwoServers.layer, { excludeTestServices: true, timeout: "60 seconds" })("a cell move", (it) => {
  it.effect("loses no data, changes no order, and makes no call fail", () =>
    Effect.gen(function* () {
      const { cells, new_url, old_url } = yield* movableCell
      const hosts = [yield* openCells(cells), yield* openCells(cells)]
      const host = (place: number): Port => hosts[place % 2] ?? assert.fail("two hosts")
      const load = new Load()
      const all = [
        ...Array.from({ length: writers }, (_, writer) => load.write(host(writer), writer)),
        ...Array.from({ length: writers }, (_, writer) => load.read(host(writer + 1), writer)),
        ...[1, 2, 3, 4].map((place) => load.follow(host(place), place)),
        load.claim(host(0)),
        load.claim(host(1))
      ]
      const running = yield* Effect.forkChild(Effect.all(all, { concurrency: "unbounded", discard: true }))
      // Every writer, every feed reader, and the claims.
      const progress = () => [...load.accepted.values(), ...load.followed.values(), load.claimed.size]
      yield* until(() => progress().length === writers + 4 + 1 && progress().every((count) => count > 0))
      assert.strictEqual(yield* PgCells.move(cells, "home"), "moved")
      // The load continues on the target database.
      const before = progress()
      yield* until(() => progress().every((count, index) => count > (before[index] ?? 0)))
      load.isOver = true
      yield* Fiber.join(running)

      // A host with only the new address in its settings finds everything once.
      const [cell] = cells
      const { moves_to = cell.url, ...rest } = cell
      const later = yield* openCells([{ ...rest, url: moves_to }])
      for (const [writer, version] of load.accepted) {
        const found = yield* later.get({
          workspace_id: workspace((writer % 4) + 1),
          kind: "idempotency_record",
          id: `${writer}`
        })
        assert.strictEqual(Option.getOrThrow(found).version, version)
      }
      const accepted = [...load.accepted.values()].reduce((sum, version) => sum + version, 0)
      const counts =
        "select (select count(*) from eu_1.event)::int as events, (select count(*) from eu_1.job)::int as jobs"
      assert.deepStrictEqual(yield* sql(new_url, counts), [{ events: accepted, jobs: accepted }])
      assert.deepStrictEqual(yield* sql(old_url, "select state, move_id from eu_1.place"), [
        { state: "left", move_id: null }
      ])
      for (const url of [old_url, new_url]) yield* assertNothingLeft(url)
    })
  )

  it.effect("can resume after a stop at any step, and keeps the cell usable", () =>
    Effect.gen(function* () {
      const movable = yield* movableCell
      const { cells, new_url, old_url } = movable
      const host = yield* openCells(cells)
      const other = yield* openCells(cells)
      let version = 0
      const use = Effect.gen(function* () {
        version += 1
        yield* host.commit(step(1, version))
        const found = yield* other.get({ workspace_id: workspace(2), kind: "idempotency_record", id: "1" })
        assert.strictEqual(Option.getOrThrow(found).version, version)
      })
      yield* use
      // Each stop repeats the earlier steps, so these cover the others, too.
      for (const last of ["begun", "published", "subscribed", "held", "switched", "unsubscribed"] as const) {
        yield* moveUntil(movable, last)
        yield* use
        const [cell] = host.cells ?? []
        assert.strictEqual(
          yield* cell?.moving ?? Effect.die("Moves are not known"),
          last !== "switched" && last !== "unsubscribed"
        )
        if (last !== "held" && last !== "switched") continue
        const [report] = yield* PgCells.report(cells)
        assert.deepInclude(report?.move, { phase: last === "held" ? "moving" : "finishing", is_running: false })
      }
      assert.strictEqual(yield* PgCells.move(cells, "home"), "moved")
      assert.strictEqual(yield* PgCells.move(cells, "home"), "nothing")
      yield* use
      for (const url of [old_url, new_url]) yield* assertNothingLeft(url)

      const again = yield* movesOn(movable)
      assert.strictEqual(yield* PgCells.move(again, "home"), "moved")
      const third = yield* openCells(again)
      yield* third.commit(step(1, version + 1))
      assert.deepStrictEqual(yield* sql(new_url, "select state, epoch from eu_1.place"), [{ state: "left", epoch: 1 }])
      const { moves_to: url = cells[0].url } = again[0]
      const back: PgCells.AllCells = [{ ...again[0], url, moves_to: Redacted.make(old_url) }]
      assert.match((yield* PgCells.checkMove(back, "home")).join(), /cannot move back/)
    })
  )

  it.effect("keeps the cell usable while a backup or a lagging target delays the cutover", () =>
    Effect.gen(function* () {
      const { cells, new_url, old_url } = yield* movableCell
      const host = yield* openCells(cells)
      const backup = yield* session(old_url)
      const applying = yield* session(new_url)
      const steps: Array<StepName> = []
      let version = 0
      const onProgress = ({ step: last }: PgCells.MoveProgress) =>
        Effect.gen(function* () {
          const released = steps.filter((step) => step === "released").length
          if (last === "following" && !steps.includes(last)) {
            for (const text of holdUp) yield* applying(text)
            for (const text of ["begin", "lock table eu_1.event in access share mode"]) yield* backup(text)
          }
          if (last === "released") {
            yield* host.commit(step(1, ++version))
            yield* released === 0 ? backup("rollback") : applying("select pg_advisory_unlock_all()")
          }
          steps.push(last)
        }).pipe(Effect.orDie)
      yield* PgCells.move(cells, "home", { onProgress })
      assert.deepStrictEqual(
        steps.filter((last) => ["held", "released", "switched"].includes(last)),
        ["released", "held", "released", "held", "switched"]
      )
      yield* host.commit(step(1, ++version))
      assert.deepStrictEqual(yield* sql(new_url, "select version from eu_1.record where kind = 'idempotency_record'"), [
        { version }
      ])
    })
  )

  it.effect("can be undone until the cutover, and leaves nothing behind when it is undone", () =>
    Effect.gen(function* () {
      const movable = yield* movableCell
      const { cells, new_url, old_url } = movable
      const host = yield* openCells(cells)
      let version = 0
      for (const last of ["begun", "subscribed", "held"] as const) {
        yield* moveUntil(movable, last)
        assert.strictEqual(yield* PgCells.undoMove(cells, "home"), "undone")
        yield* host.commit(step(1, ++version))
        for (const url of [old_url, new_url]) yield* assertNothingLeft(url, last)
        assert.deepStrictEqual(yield* sql(new_url, "select to_regnamespace('eu_1') as schema"), [{ schema: null }])
      }
      assert.strictEqual(yield* PgCells.undoMove(cells, "home"), "nothing")
      yield* moveUntil(movable, "switched")
      const { message, reason } = yield* reasonOf(PgCells.undoMove(cells, "home"))
      assert.strictEqual(reason, "move")
      assert.include(message, "can no longer be undone")
      yield* host.commit(step(1, ++version))
    })
  )

  it.effect("does not affect the other cells", () =>
    Effect.gen(function* () {
      const { cells, new_url } = yield* movableCell
      const [first] = yield* TwoServers
      const [movable] = cells
      const { moves_to: _, ...home } = { ...movable, url: Redacted.make(yield* emptyOn(first)) }
      const both: PgCells.AllCells = [home, { ...movable, name: "other", url: Redacted.make(yield* emptyOn(first)) }]
      for (const { name } of both) yield* PgCells.add(both, name, 1)
      const host = yield* openCells(both)
      const hosts = [host, yield* openCells(both)]
      const all = Array.from({ length: 12 }, (_, place) => place)
      const use = (version: number) =>
        Effect.forEach(
          all,
          (place) => (hosts[place % 2] ?? host).commit(stepIn(workspace(place + 1), place, version)),
          {
            concurrency: "unbounded"
          }
        )
      yield* use(1)
      yield* PgCells.move(both, "other")
      yield* use(2)
      const { jobs } = yield* host.claim({ now: 1_000_000, lease_ms: 1_000, limit: 100 })
      assert.lengthOf(jobs, 24)
      const places = "select count(distinct workspace_id)::int as count from eu_1.event"
      const [moved] = yield* sql(new_url, places)
      const [stayed] = yield* sql(Redacted.value(home.url), places)
      assert.strictEqual(Number(moved?.count) + Number(stayed?.count), 12)
      assert.isAbove(Number(moved?.count), 0)
      assert.deepStrictEqual(yield* sql(Redacted.value(home.url), "select to_regclass('eu_1.place') as place"), [
        { place: null }
      ])
    })
  )

  it.effect("locks out a second command, migrations, and hosts on the wrong database", () =>
    Effect.gen(function* () {
      const movable = yield* movableCell
      const { cells } = movable
      const [cell] = cells
      const { moves_to = cell.url, ...old } = cell
      const reasons: Array<unknown> = []
      const onProgress = ({ step }: PgCells.MoveProgress) =>
        Effect.gen(function* () {
          if (step === "subscribed") {
            reasons.push((yield* reasonOf(PgCells.move(cells, "home"))).message)
            reasons.push((yield* reasonOf(PgCells.undoMove(cells, "home"))).message)
            reasons.push((yield* PgCells.migrate(cells))[0]?.refusal?.reason)
            reasons.push((yield* reasonOf(Effect.scoped(openCells([{ ...old, url: moves_to }])))).reason)
            reasons.push((yield* PgCells.report(cells))[0]?.move?.is_running)
          }
        }).pipe(Effect.orDie)
      yield* PgCells.move(cells, "home", { onProgress })
      const running = "Another command is moving this cell: wait for that command, or stop it."
      assert.deepStrictEqual(reasons, [running, running, "move", "cell", true])
      const { message } = yield* reasonOf(Effect.scoped(openCells([old])))
      assert.include(message, "was moved to another database")
    })
  )

  it.effect("is noticed by a host that was suspended during the move if the host's settings name the target", () =>
    Effect.gen(function* () {
      const movable = yield* movableCell
      const { cells, old_url } = movable
      const [cell] = cells
      const { moves_to: _, ...old } = cell
      const asleep = yield* openCells(cells)
      const forgetful = yield* openCells([old])
      const awake = yield* openCells(cells)
      for (const host of [asleep, forgetful]) yield* host.workspaces(null, 1)
      yield* PgCells.move(cells, "home")
      yield* awake.commit(step(1, 1))
      const key = { workspace_id: workspace(2), kind: "idempotency_record", id: "1" }
      assert.strictEqual((yield* Effect.flip(forgetful.get(key)))._tag, "StorageUnavailable")
      assert.strictEqual((yield* Effect.flip(forgetful.commit(step(1, 1))))._tag, "StorageUnavailable")
      // The old database is dropped before this host resumes.
      const [server] = yield* TwoServers
      const name = new URL(old_url).pathname.slice(1)
      yield* sql(server.url("postgres"), `drop database ${name} with (force)`)
      const found = yield* eventually(asleep.get(key))
      assert.strictEqual(Option.getOrThrow(found).version, 1)
      yield* asleep.commit(step(1, 2))
    })
  )

  it.effect("does not start if a requirement is unmet, and explains what to do", () =>
    Effect.gen(function* () {
      const movable = yield* movableCell
      const { cells, new_url } = movable
      const [cell] = cells
      assert.deepStrictEqual(yield* PgCells.checkMove(cells, "home"), [])
      yield* sql(new_url, "create schema eu_1", "create table eu_1.event ()")
      assert.match((yield* PgCells.checkMove(cells, "home")).join(), /already has a schema with the cell's schema name/)
      assert.match(
        (yield* reasonOf(PgCells.move(cells, "home"))).message,
        /already has a schema with the cell's schema name/
      )
      yield* sql(new_url, "drop schema eu_1 cascade")

      // The server of the other tests has no logical WAL.
      const { url } = yield* Effect.acquireRelease(Effect.promise(emptyDatabase), ({ drop }) => Effect.promise(drop))
      const plain: PgCells.AllCells = [{ ...cell, url: Redacted.make(url) }]
      yield* PgCells.add(plain, "home", 1)
      assert.match((yield* reasonOf(PgCells.move(plain, "home"))).message, /wal_level = logical/)
      const { moves_to: _, ...nowhere } = cell
      assert.match((yield* reasonOf(PgCells.move([nowhere], "home"))).message, /moves_to/)
    })
  )
})
