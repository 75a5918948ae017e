import { assert, describe, it } from "@effect/vitest"
import { NodeCrypto } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Deferred, Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { AllowanceLimits, noLimits } from "../../src/access/limits/Allowance.ts"
import { Seal } from "../../src/access/sealing/Seal.ts"
import { SealedRows } from "../../src/access/sealing/SealedRows.ts"
import { layer, sandboxCarriers, sealedRows } from "../../src/Quotewire.ts"
import { Storage, StorageUnavailable } from "../../src/storage/Storage.ts"
import { sealKeys, World } from "../../src/testing/World.ts"
import { eraseRequest } from "../quoting/erasing.ts"
import { advance, anotherHost, beginning, read, start, testInWorld } from "../support/world.ts"
import { endpoints } from "../webhooks/support.ts"
import {
  bothKeys,
  furnish,
  namesOf,
  newKeys,
  oldKeys,
  rotate,
  rotationStory,
  sealedBy,
  stored,
  writing
} from "./resealing.ts"

const options = { seal_keys: oldKeys, webhooks: endpoints().layer }

const textsOf = (storage: Layer.Layer<Storage>) =>
  Layer.effect(Storage, Effect.map(Storage, writing)).pipe(Layer.provide(storage))

/** A host, which starts with these keys. */
const hostOn = (storage: Layer.Layer<Storage>, settings = bothKeys) =>
  layer.pipe(
    Layer.provideMerge(storage),
    Layer.provide(endpoints().layer),
    Layer.provide(Layer.mergeAll(settings, sandboxCarriers, Layer.succeed(AllowanceLimits, noLimits))),
    Layer.provide(NodeCrypto.layer),
    Layer.fresh
  )

/** A program that only rotates the keys. */
const rowsOn = (storage: Layer.Layer<Storage>, settings = bothKeys) =>
  sealedRows.pipe(Layer.provide(storage), Layer.provide(settings), Layer.provide(NodeCrypto.layer), Layer.fresh)

describe("resealing with the newest key", () => {
  testInWorld("changes nothing that callers see, and allows removing the older key", rotationStory, {
    ...options,
    around: writing
  })

  testInWorld("reseals records that other processes have sealed", rotationStory, options)

  it.effect("resumes after it was stopped at any step, and loses nothing", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(beginning)
      const memory = MemoryStorage.copyable()
      yield* Effect.provide(furnish, Layer.fresh(World.layer(textsOf(memory.layer), options)))
      const [oldName = ""] = yield* namesOf(oldKeys)
      let steps = 0
      /** Kills the process before or after its next step, so that nothing later happens. */
      const dying = (storage: Storage["Service"], last: number, how: "before" | "after"): Storage["Service"] => {
        let taken = 0
        const step = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, E> =>
          Effect.suspend(() => {
            taken += 1
            steps = Math.max(steps, taken)
            if (taken < last) return call
            if (taken > last || how === "before") return Effect.interrupt
            return Effect.andThen(call, Effect.interrupt)
          })
        return {
          ...storage,
          rewrite: (workspaceId, rewrites) => step(storage.rewrite(workspaceId, rewrites)),
          commit: (change) => step(storage.commit(change))
        }
      }
      let stopped = 0
      for (let last = 1; last <= Math.max(1, steps); last++) {
        for (const how of ["before", "after"] as const) {
          const copy = memory.copy()
          const cut = Layer.effect(
            Storage,
            Effect.map(Storage, (storage) => dying(storage, last + 1, how))
          ).pipe(Layer.provide(textsOf(copy.layer)))
          yield* Effect.provide(Effect.void, hostOn(textsOf(copy.layer)))
          const exit = yield* Effect.exit(Effect.provide(rotate, rowsOn(cut)))
          if (Exit.isFailure(exit)) stopped += 1
          yield* Effect.gen(function* () {
            assert.isTrue((yield* rotate).complete)
            assert.deepStrictEqual(sealedBy(yield* stored, oldName), [])
          }).pipe(Effect.provide(hostOn(textsOf(copy.layer))))
          yield* Effect.provide(Effect.void, hostOn(textsOf(copy.layer), newKeys))
        }
      }
      assert.isAbove(stopped, 10)
    })
  )

  testInWorld(
    "reseals everything even if starts, answers, erasures and another resealing run concurrently",
    Effect.gen(function* () {
      const [oldName = ""] = yield* namesOf(oldKeys)
      yield* furnish
      const started = yield* Effect.forEach(Array.from({ length: 10 }), () => start())
      const rotating = yield* anotherHost({ ...options, seal_keys: bothKeys })
      const rotations = yield* Effect.all(
        [
          rotating(rotate),
          rotating(rotate),
          ...started.slice(0, 5).map(({ id }) => Effect.as(rotating(eraseRequest(id)), null)),
          // This host still seals with the older key.
          ...Array.from({ length: 5 }, () => Effect.as(start(), null)),
          Effect.as(rotating(advance(60)), null)
        ],
        { concurrency: "unbounded" }
      )
      assert.isAbove(Math.max(...rotations.map((rotation) => rotation?.resealed ?? 0)), 30)
      const last = yield* rotating(rotate)
      assert.deepInclude(last, { complete: true, left: [] })
      assert.deepStrictEqual(sealedBy(yield* stored, oldName), [])
      for (const [index, { id }] of started.entries()) {
        const { quote_request } = yield* rotating(read(id))
        assert.strictEqual(quote_request.status_details.reason === "consent_withdrawn", index < 5)
      }
    }),
    { ...options, around: writing }
  )
})

describe("resealing", () => {
  testInWorld(
    "is refused if a key in use is missing, or if no host has started with the newest key yet",
    Effect.gen(function* () {
      const [oldName = ""] = yield* namesOf(oldKeys)
      const storage = Layer.succeed(Storage, yield* Storage)
      yield* start()
      const early = yield* Effect.flip(Effect.provide(rotate, rowsOn(storage)))
      assert.match(`${early}`, /No host has started with \S+ as its newest seal key/)
      const wrong = yield* Effect.flip(Effect.provide(rotate, rowsOn(storage, sealKeys(2, 3))))
      assert.include(`${wrong}`, `must include the key ${oldName}`)
      assert.isAbove(sealedBy(yield* stored, oldName).length, 0)
    }),
    { ...options, around: writing }
  )

  testInWorld(
    "preserves and reports data that it cannot open, and counts the data's key as in use",
    Effect.gen(function* () {
      const [oldName = ""] = yield* namesOf(oldKeys)
      const { id } = yield* start()
      const storage = yield* Storage
      const [[place, { body, ...record }] = assert.fail("There is no application")] = [...(yield* stored)].filter(
        ([place]) => place.includes(" application ")
      )
      const [workspace_id = ""] = place.split(" ")
      const workspace = [...(yield* storage.workspaces(null, 100))].find((one) => one === workspace_id)
      const altered = {
        kind: record.kind,
        id: record.id,
        version: 1,
        before: body,
        body: `${body.slice(0, -8)}AAAAAAA=`
      }
      yield* storage.rewrite(workspace ?? assert.fail(workspace_id), [altered])
      const rotating = yield* anotherHost({ ...options, seal_keys: bothKeys })
      const rotation = yield* rotating(rotate)
      assert.deepInclude(rotation, { complete: true, left: [{ key_name: oldName, sealed: 1 }], removable: [] })
      assert.strictEqual((yield* stored).get(place)?.body, altered.body)
      const refused = yield* Effect.flip(Effect.provide(Effect.void, hostOn(Layer.succeed(Storage, storage), newKeys)))
      assert.include(`${refused}`, oldName)
      // A key that was given up prevents no host from starting, and data sealed with it reads as lost.
      yield* rotating(SealedRows.use(({ giveUp }) => giveUp(oldName)))
      const alone = yield* anotherHost({ ...options, seal_keys: newKeys })
      assert.strictEqual((yield* alone(read(id))).quote_request.id, id)
      assert.isFalse(yield* alone(Effect.flatMap(Seal, ({ isMissingKey }) => isMissingKey)))
    }),
    { ...options, around: writing }
  )

  testInWorld(
    "keeps a key in use if a host starts sealing with that key during the resealing",
    Effect.gen(function* () {
      const [oldName = ""] = yield* namesOf(oldKeys)
      yield* start()
      const storage = yield* Storage
      yield* Effect.provide(Effect.void, hostOn(Layer.succeed(Storage, storage)))
      const begun = yield* Deferred.make<void>()
      const goOn = yield* Deferred.make<void>()
      const waiting: Storage["Service"] = {
        ...storage,
        workspaces: (after, limit) =>
          Effect.gen(function* () {
            const found = yield* storage.workspaces(after, limit)
            yield* Deferred.succeed(begun, undefined)
            yield* Deferred.await(goOn)
            return found
          })
      }
      const fiber = yield* Effect.forkChild(Effect.provide(rotate, rowsOn(Layer.succeed(Storage, waiting))))
      yield* Deferred.await(begun)
      // Both hosts have both keys: one host lists the older key first, the other the newer key.
      const late = yield* anotherHost({ ...options, seal_keys: sealKeys(1, 2) })
      yield* anotherHost({ ...options, seal_keys: bothKeys })
      yield* Deferred.succeed(goOn, undefined)
      yield* Fiber.join(fiber)
      yield* late(start())
      const { complete } = yield* Effect.provide(rotate, rowsOn(Layer.succeed(Storage, storage)))
      assert.isTrue(complete)
      assert.deepStrictEqual(sealedBy(yield* stored, oldName), [])
    }),
    { ...options, around: writing }
  )

  testInWorld(
    "fails while storage is unavailable, and changes nothing",
    Effect.gen(function* () {
      yield* start()
      const storage = yield* Storage
      yield* Effect.provide(Effect.void, hostOn(Layer.succeed(Storage, storage)))
      const lost = new StorageUnavailable({ retry_after_seconds: 1 })
      const away = { ...storage, rewrite: () => Effect.fail(lost) }
      const before = yield* stored
      const error = yield* Effect.flip(Effect.provide(rotate, rowsOn(Layer.succeed(Storage, away))))
      assert.strictEqual(`${error}`, `${lost}`)
      assert.deepStrictEqual([...(yield* stored)].map(String), [...before].map(String))
    }),
    { ...options, around: writing }
  )
})
