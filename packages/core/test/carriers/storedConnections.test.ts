import { assert, describe, it } from "@effect/vitest"
import { NodeCrypto } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Context, Effect, Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import type { CarrierAdapter } from "../../src/carriers/Carrier.ts"
import { Connections } from "../../src/carriers/Connections.ts"
import { ready } from "../../src/hostApi.ts"
import * as Change from "../../src/storage/Change.ts"
import { Storage } from "../../src/storage/Storage.ts"
import { sealKeys, World } from "../../src/testing/World.ts"
import { beginning, live, outcomes, read, runDue, start } from "../support/world.ts"
import { appointing, carrierId, fields, given, logOf, remove, set, test } from "./support.ts"

/** A storage backend that stores encoded text, as a database does, and records it. */
const writing = (storage: Storage["Service"], texts: Array<string> = []): Storage["Service"] => ({
  ...storage,
  commit: (change) => {
    const writes = change.writes.map((record) => Change.record({ ...record, body: record.body }))
    texts.push(...writes.map((write) => JSON.stringify(write)))
    return storage.commit({ ...change, writes })
  }
})

/** A host on a storage backend that outlives it. */
const hostOn = (storage: Storage["Service"], adapter: CarrierAdapter, keys = sealKeys(1)) =>
  Layer.build(
    World.layer(Layer.succeed(Storage, storage), {
      carriers: [adapter],
      seal_keys: keys,
      cryptography: NodeCrypto.layer
    })
  )

/** A test with a storage backend that outlives its hosts. */
const onStorage = (
  name: string,
  body: (storage: Storage["Service"], texts: ReadonlyArray<string>) => Effect.Effect<unknown, unknown, Scope.Scope>
) =>
  it.effect(name, () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(beginning)
      const texts: Array<string> = []
      yield* body(writing(yield* Storage, texts), texts)
    }).pipe(Effect.scoped, Effect.provide(MemoryStorage.layer))
  )

describe("a stored connection", () => {
  onStorage("contains no value in plain text", (storage, texts) =>
    Effect.gen(function* () {
      const testConnection = () => Effect.succeed({ ok: false, message: "No such producer: PROD." } as const)
      const host = yield* hostOn(storage, appointing({ testConnection }).adapter)
      yield* Effect.provideContext(
        Effect.gen(function* () {
          yield* set(given)
          yield* test
          const { id } = yield* start({}, live)
          yield* runDue
          assert.deepStrictEqual(yield* outcomes(id), [`${carrierId} quoted`])
          yield* remove
        }),
        host
      )
      const stored = texts.join("\n")
      assert.include(stored, '"kind":"connection"')
      for (const value of [...Object.values(given), "producer_code", "No such producer"]) {
        assert.notInclude(stored, value)
      }
    })
  )

  onStorage("reaches other hosts within a second after it is set or removed", (storage) =>
    Effect.gen(function* () {
      const here = yield* hostOn(storage, appointing().adapter)
      const elsewhere = yield* hostOn(storage, appointing().adapter)
      const { organization } = Context.get(here, World)
      const used = Connections.use(({ of }) => of(organization.workspaces.live, carrierId))
      const pair = Effect.all([Effect.provideContext(used, here), Effect.provideContext(used, elsewhere)])
      assert.deepStrictEqual(yield* pair, [null, null])
      yield* Effect.provideContext(set(given), here)
      assert.deepStrictEqual(yield* pair, [given, null])
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(yield* pair, [given, given])
      yield* Effect.provideContext(remove, here)
      assert.deepStrictEqual(yield* pair, [null, given])
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(yield* pair, [null, null])
    })
  )

  onStorage("is not used if a required field is missing", (storage) =>
    Effect.gen(function* () {
      const before = yield* hostOn(storage, appointing().adapter)
      const more = { ...fields, login: "string" } as const
      const after = yield* hostOn(storage, appointing({ connection: more }).adapter)
      const { organization } = Context.get(before, World)
      yield* Effect.provideContext(set(given), before)
      const seen = yield* Effect.provideContext(
        Effect.gen(function* () {
          const { list, of } = yield* Connections
          const used = yield* of(organization.workspaces.live, carrierId)
          return { used, states: (yield* list(organization.id)).map(({ state }) => state) }
        }),
        after
      )
      assert.deepStrictEqual(seen, { used: null, states: ["incomplete"] })
    })
  )
})

describe("a connection whose seal key is lost", () => {
  onStorage("is logged once, and its carrier is not asked until the connection is set again", (storage) =>
    Effect.gen(function* () {
      const carrier = appointing()
      // A host that started before anything was sealed with the key that it lacks.
      const last = yield* hostOn(storage, carrier.adapter, sealKeys(2))
      const first = yield* hostOn(storage, appointing().adapter, sealKeys(1, 2))
      yield* Effect.provideContext(set(given), first)
      const { organization, keys } = Context.get(first, World)
      const place = { organization_id: organization.id, environment: "live", carrier_id: carrierId } as const
      const asked = Effect.gen(function* () {
        const { id } = yield* start({}, { key: keys.live.server })
        yield* runDue
        const { quote_request } = yield* read(id, { key: keys.live.server })
        return quote_request.carriers.map(({ outcome, reason }) => [outcome, reason])
      })
      const lines = yield* logOf(
        Effect.gen(function* () {
          for (let n = 0; n < 3; n++) {
            assert.deepStrictEqual(yield* asked, [["not_asked", "not_appointed"]])
            yield* TestClock.adjust(1_000)
          }
        })
      ).pipe(Effect.provideContext(last))
      assert.lengthOf(lines, 1, lines.join())
      assert.match(String(lines[0]), new RegExp(`this host does not have[\\s\\S]*${organization.id} live ${carrierId}`))
      yield* Effect.provideContext(
        Effect.gen(function* () {
          const connections = yield* Connections
          assert.match(String(yield* ready), /sealed with a key/)
          assert.deepStrictEqual(
            (yield* connections.list(organization.id)).map(({ carrier_id, state, values }) => [
              carrier_id,
              state,
              values
            ]),
            [[carrierId, "unreadable", {}]]
          )
          assert.strictEqual((yield* connections.test(place)).outcome, "failed")
          yield* connections.set({ ...place, values: given })
          assert.deepStrictEqual(yield* asked, [["quoted", null]])
          assert.lengthOf(carrier.asks, 1)
        }),
        last
      )
    })
  )
})
