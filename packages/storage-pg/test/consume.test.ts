import { assert, describe, it } from "@effect/vitest"
import { Change, Event, embed, Ids, Storage } from "@quotewire/core"
import { World } from "@quotewire/core/testing"
import { PgStorage } from "@quotewire/storage-pg"
import { Effect, Layer } from "effect"
import { until } from "../../../test/support/eventually.ts"
import { scopedDatabase } from "../../../test/support/TestDatabase.ts"

const sealKeys = World.sealKeys(0)

/** A process on the database. Once it is dead, its storage calls never end. */
const host = (options: PgStorage.Options) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      let isDead = false
      const alive = <A, E>(call: Effect.Effect<A, E>) => Effect.suspend(() => (isDead ? Effect.never : call))
      const storage = Layer.effect(
        Storage.Storage,
        Effect.map(Storage.Storage, (port) => ({
          ...port,
          commit: (change: Change.Change) => alive(port.commit(change)),
          get: (key: Storage.RecordKey) => alive(port.get(key))
        }))
      ).pipe(Layer.provide(PgStorage.layer(options)))
      const quotewire = embed({ storage, seal_keys: sealKeys, work: false, grace_ms: 0 })
      return {
        quotewire,
        isDead: () => isDead,
        kill: () => {
          isDead = true
        }
      }
    }),
    ({ quotewire, isDead }) => (isDead() ? Effect.void : Effect.promise(() => quotewire.close()))
  )

type Host = Effect.Success<ReturnType<typeof host>>

const eventId = (place: number) => Ids.EventId.make(`evt_${place.toString().padStart(26, "0")}`)

/** Commits events with these places to a feed. */
const emit = ({ quotewire }: Host, workspaceId: Ids.WorkspaceId, places: ReadonlyArray<number>) =>
  Effect.promise(() =>
    quotewire.run(
      Effect.gen(function* () {
        const events = places.map((place) =>
          Event.record({
            id: eventId(place),
            type: "quote.created",
            at: Date.now(),
            environment: "sandbox",
            line: "renters",
            resource: { type: "quote", id: "qt_1", version: 1 }
          })
        )
        yield* (yield* Storage.Storage).commit(Change.make(workspaceId, { events }))
      })
    )
  )

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

describe("two processes that consume on one database", () => {
  it.effect("handle each event once and in order, and one process takes over when the other dies", () =>
    Effect.gen(function* () {
      const { options } = yield* scopedDatabase
      const hosts = { one: yield* host(options), other: yield* host(options) }
      const { workspaces } = yield* Effect.promise(() => hosts.one.quotewire.createOrganization("Acme"))
      const handled: Array<{ readonly by: string; readonly place: number }> = []
      let running = 0
      let most = 0
      let hangsAt = Number.POSITIVE_INFINITY
      // Both processes run the same consumer. Its handler notes who handled which event.
      for (const [by, { quotewire, isDead }] of Object.entries(hosts)) {
        const { ready } = quotewire.consume(
          "billing",
          async ({ id }) => {
            if (isDead()) return new Promise(() => undefined)
            const place = Number(id.slice(4))
            handled.push({ by, place })
            if (place >= hangsAt) return new Promise(() => undefined)
            most = Math.max(most, ++running)
            await Promise.resolve()
            running--
          },
          { lease_ms: 2_000 }
        )
        yield* Effect.promise(() => ready)
      }
      // While both run, every event is handled once, in order, by one process at a time.
      yield* Effect.forEach(range(1, 300), (place) => emit(hosts.one, workspaces.sandbox, [place]))
      yield* emit(hosts.other, workspaces.sandbox, range(301, 1_000))
      yield* until(() => handled.length === 1_000)
      assert.deepStrictEqual(
        handled.map(({ place }) => place),
        range(1, 1_000)
      )
      assert.strictEqual(most, 1)

      // The process that holds the workspace dies while it handles an event.
      hangsAt = 1_001
      yield* emit(hosts.one, workspaces.sandbox, [1_001, 1_002])
      yield* until(() => handled.length > 1_000)
      const holder = handled.at(-1)?.by === "one" ? "one" : "other"
      // The other process takes over.
      hosts[holder].kill()
      hangsAt = Number.POSITIVE_INFINITY
      yield* until(() => handled.at(-1)?.place === 1_002)
      const survivor = holder === "one" ? "other" : "one"
      const [dying, ...after] = handled.slice(1_000)
      assert.deepStrictEqual(dying, { by: holder, place: 1_001 })
      // Events handled in the last second before the death are handled again, too.
      const from = after[0]?.place ?? 0
      assert.isAtMost(from, 1_001)
      assert.deepStrictEqual(
        after,
        range(from, 1_002).map((place) => ({ by: survivor, place }))
      )
    })
  )
})
