import { assert, describe, it } from "@effect/vitest"
import { Change } from "@quotewire/core"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Exit, Fiber, Scope } from "effect"
import { eventually, inRealTime } from "../../../test/support/eventually.ts"
import { statements } from "../../../test/support/TestDatabase.ts"
import { open, type Port, workspace } from "./support/hosts.ts"
import { failOver, replicated, waiting } from "./support/standby.ts"

const event = (place: number, id: string): Change.Change =>
  Change.make(workspace(place), { events: [{ id, occurred_at: 1, about: [], body: "{}" }] })

const feedOf = (storage: Port, place: number) =>
  Effect.map(storage.feed({ workspace_id: workspace(place), after: 0, limit: 1_000 }), ({ events }) =>
    events.map(({ number, id }) => `${number} ${id}`)
  )

/** More workspaces than a host has connections, so that each write can block its own connection. */
const places = Array.from({ length: 12 }, (_, index) => index + 1)

/** Writes to every workspace concurrently, or to as many other workspaces. Returns the number of refused writes. */
const writeAll = (storage: Port, round: string, others = 0) =>
  Effect.map(
    Effect.forEach(
      places,
      (place) => Effect.exit(storage.commit(event(others * places.length + place, `${round} ${place}`))),
      {
        concurrency: "unbounded"
      }
    ),
    (exits) => exits.filter(Exit.isFailure).length
  )

const feeds = (storage: Port) => Effect.forEach(places, (place) => feedOf(storage, place))

describe("a host whose synchronous standby stalls", () => {
  it.effect(
    "returns no data that would be lost if the standby were promoted",
    () =>
      inRealTime(
        Effect.gen(function* () {
          const servers = yield* replicated()
          const { optionsOf, primary, standby, wire } = servers
          const storage = yield* open(optionsOf(primary))
          assert.strictEqual(yield* writeAll(storage, "before"), 0)
          // A host that stops while its writes wait.
          const stopping = yield* Scope.make()
          const leaver = yield* Scope.provide(open(optionsOf(primary)), stopping)
          wire.silence()
          const left = yield* Effect.forkChild(writeAll(leaver, "left"), { startImmediately: true })
          yield* eventually(Effect.map(waiting(primary), (sessions) => assert.isAbove(sessions, 0)))
          yield* Scope.close(stopping, Exit.void)
          yield* Fiber.join(left)
          assert.strictEqual(yield* writeAll(storage, "during"), places.length)
          assert.strictEqual(yield* writeAll(storage, "still"), places.length)

          const served = yield* feeds(storage)
          yield* failOver(servers)
          const kept = yield* feeds(yield* open(optionsOf(standby)))
          for (const [index, events] of served.entries())
            assert.deepStrictEqual(kept[index]?.slice(0, events.length), events)
        })
      ),
    120_000
  )

  it.effect(
    "limits waiting writes to one per connection, and recovers with the standby",
    () =>
      inRealTime(
        Effect.gen(function* () {
          const { optionsOf, primary, wire } = yield* replicated()
          const storage = yield* open({ ...optionsOf(primary), write_connections: 3 })
          assert.strictEqual(yield* writeAll(storage, "before"), 0)
          wire.silence()
          // In workspaces that no write has locked yet, so that each write reaches its commit.
          for (let round = 1; round <= 5; round++) {
            assert.strictEqual(yield* writeAll(storage, `round ${round}`, round), places.length)
            assert.isAtMost(yield* waiting(primary), 3)
            yield* feeds(storage)
          }
          wire.restore()
          // The standby notices its dead connection when the primary closes it.
          yield* Effect.promise(() =>
            statements(primary.url("postgres"), "select pg_terminate_backend(pid) from pg_stat_replication")
          )
          yield* eventually(Effect.map(writeAll(storage, "after"), (refused) => assert.strictEqual(refused, 0)))
          assert.strictEqual(yield* waiting(primary), 0)
        })
      ),
    120_000
  )
})

describe("a migration that is stopped while its commit waits for the standby", () => {
  it.effect(
    "is not visible before the standby has received the commit",
    () =>
      inRealTime(
        Effect.gen(function* () {
          const { optionsOf, primary, wire } = yield* replicated(false)
          wire.silence()
          const migrating = yield* Effect.forkChild(PgStorage.migrate(optionsOf(primary)))
          yield* eventually(Effect.map(waiting(primary), (sessions) => assert.strictEqual(sessions, 1)))
          yield* Fiber.interrupt(migrating)
          assert.strictEqual((yield* PgStorage.status(optionsOf(primary))).found, 0)
        })
      ),
    120_000
  )
})
