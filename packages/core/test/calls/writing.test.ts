import { assert, describe, it } from "@effect/vitest"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Context, Effect, Exit, Latch, Layer, Scope } from "effect"
import * as Operation from "../../src/calls/Operation.ts"
import { CallBuffer, RequestLogEnabled } from "../../src/calls/RequestLog.ts"
import { listApiRequests } from "../../src/calls/RequestLogOperations.ts"
import { Storage, StorageUnavailable } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import { list, pass, refusal, testInWorld, world } from "../support/world.ts"
import { request, requests } from "./support.ts"

const second = 1_000

/** The operations in a workspace's request log. */
const logged = Effect.map(requests({ limit: 100 }), (page) => page.requests.map(({ operation }) => operation))

/** The parts of a change that belong to the request log. */
const callsIn = (change: { readonly writes: ReadonlyArray<{ readonly kind: string }> }): number =>
  change.writes.filter(({ kind }) => kind === "api_request").length

/** Runs everything that does not wait for time to pass. */
const settled = pass(0)

describe("log entries", () => {
  testInWorld("are written in batches of at most 500 per workspace, as soon as 500 entries wait", () => {
    const sizes: Array<number> = []
    return {
      around: (storage) => ({
        ...storage,
        commit: (change) => {
          if (callsIn(change) > 0) sizes.push(callsIn(change))
          return storage.commit(change)
        }
      }),
      body: Effect.gen(function* () {
        for (let i = 0; i < 499; i++) yield* list()
        yield* settled
        assert.deepStrictEqual(sizes, [])
        yield* list()
        yield* settled
        assert.deepStrictEqual(sizes, [500])
        for (let i = 0; i < 200; i++) yield* list()
        yield* settled
        assert.deepStrictEqual(sizes, [500])
        yield* pass(second)
        assert.deepStrictEqual(sizes, [500, 200])
      })
    }
  })

  const slow = Latch.makeUnsafe()
  testInWorld(
    "delay no call, even if storage is slow to write the entries",
    Effect.gen(function* () {
      for (let i = 0; i < 3; i++) {
        yield* list()
        yield* pass(second)
      }
      assert.deepStrictEqual(yield* logged, [])
      yield* slow.open
      yield* pass(second)
      assert.lengthOf(yield* logged, 4)
    }),
    {
      around: (storage) => ({
        ...storage,
        commit: (change) =>
          callsIn(change) > 0 ? Effect.andThen(slow.await, storage.commit(change)) : storage.commit(change)
      })
    }
  )

  testInWorld("wait while storage is unavailable, and are written later", () => {
    let down = false
    return {
      around: (storage) => ({
        ...storage,
        commit: (change) =>
          down ? Effect.fail(new StorageUnavailable({ retry_after_seconds: 1 })) : storage.commit(change)
      }),
      body: Effect.gen(function* () {
        down = true
        yield* list()
        yield* pass(10 * second)
        yield* refusal(list({ limit: 0 }))
        yield* pass(10 * second)
        assert.deepStrictEqual(yield* logged, [])
        down = false
        yield* pass(second)
        assert.deepStrictEqual(yield* logged, ["list_api_requests", "list_quote_requests", "list_quote_requests"])
      })
    }
  })

  testInWorld("are written once, even if the outcome of the commit is unknown", () => {
    let forgetful = true
    return {
      around: (storage) => ({
        ...storage,
        commit: (change) =>
          forgetful && callsIn(change) > 0
            ? Effect.andThen(storage.commit(change), Effect.fail(new StorageUnavailable({ retry_after_seconds: 1 })))
            : storage.commit(change)
      }),
      body: Effect.gen(function* () {
        yield* list()
        yield* pass(600)
        forgetful = false
        yield* list()
        yield* pass(second)
        assert.deepStrictEqual(yield* logged, ["list_quote_requests", "list_quote_requests"])
      })
    }
  })

  testInWorld("are dropped if storage refuses them, and do not block later entries", () => {
    let broken = true
    return {
      around: (storage) => ({
        ...storage,
        commit: (change) => (broken && callsIn(change) > 0 ? Effect.die("too odd") : storage.commit(change))
      }),
      body: Effect.gen(function* () {
        yield* list()
        yield* pass(second)
        broken = false
        yield* list()
        yield* pass(second)
        assert.deepStrictEqual(yield* logged, ["list_quote_requests"])
      })
    }
  })

  it.effect("are written when the host stops", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const storage = yield* Layer.build(MemoryStorage.layer)
      const kept = Layer.succeed(Storage, Context.get(storage, Storage))
      const services = yield* Scope.provide(Layer.build(World.layer(kept)), scope)
      yield* Effect.provideContext(list(), services)
      yield* Scope.close(scope, Exit.void)
      const { organization } = Context.get(services, World)
      const { records } = yield* Context.get(storage, Storage).page({
        workspace_id: organization.workspaces.sandbox,
        kind: "api_request",
        order: "newest",
        after: null,
        limit: 10
      })
      assert.deepStrictEqual(
        records.map(({ labels }) => labels),
        [["status:200", "operation:list_quote_requests"]]
      )
    })
  )

  it.effect("are not written if the log is off, and the log's operations are not available", () =>
    Effect.gen(function* () {
      yield* list()
      yield* pass(second)
      assert.isFalse(yield* Operation.isAvailable(listApiRequests))
      assert.strictEqual((yield* refusal(requests()))._tag, "not_found")
      assert.strictEqual((yield* refusal(requests({}, { as: "widget" })))._tag, "not_found")
      assert.strictEqual((yield* refusal(request("req_x")))._tag, "not_found")
      const { organization } = yield* World
      const storage = yield* Storage
      const { records } = yield* storage.page({
        workspace_id: organization.workspaces.sandbox,
        kind: "api_request",
        order: "newest",
        after: null,
        limit: 10
      })
      assert.deepStrictEqual(records, [])
    }).pipe(Effect.provide(world().pipe(Layer.provide(Layer.succeed(RequestLogEnabled, false)))))
  )
})

describe("buffered log entries", () => {
  it("are limited: when there are too many, the oldest are dropped and counted", () => {
    const held = new CallBuffer<string>(20)
    for (let i = 0; i < 21; i++) held.add(String(i))
    assert.strictEqual(held.size, 19)
    assert.deepStrictEqual([held.takeLost(), held.takeLost()], [2, 0])
    const taken = held.take()
    assert.deepStrictEqual(
      taken,
      Array.from({ length: 19 }, (_, i) => String(i + 2))
    )
  })

  it("keep their order and their limit when they are returned to the buffer", () => {
    const held = new CallBuffer<string>(3)
    held.add("1")
    held.add("2")
    const taken = held.take()
    held.add("3")
    held.add("4")
    held.putBack(taken)
    assert.strictEqual(held.takeLost(), 1)
    assert.deepStrictEqual(held.take(), ["2", "3", "4"])
  })
})
