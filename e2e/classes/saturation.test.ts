import { assert, describe } from "@effect/vitest"
import { operations, Storage } from "@quotewire/core"
import { Context, Effect, Fiber, Layer } from "effect"
import type { Services } from "../../packages/core/src/Quotewire.ts"
import { type CallOptions, World } from "../../packages/core/src/testing/World.ts"
import { list, pass, testInWorld, world } from "../../packages/core/test/support/world.ts"

/*
 * A service that lacks a resource says so: clients give up on 401 and 403, but retry on 503 and 429.
 */

const away = Effect.fail(new Storage.StorageUnavailable({ retry_after_seconds: 1 }))

/**
 * A storage backend without a free connection: each query fails immediately, or waits for a connection until it times
 * out.
 */
const database: { state: "well" | "full" | "slow" } = { state: "well" }
const busy = <A, E>(question: Effect.Effect<A, E>): Effect.Effect<A, E | Storage.StorageUnavailable> =>
  Effect.suspend((): Effect.Effect<A, E | Storage.StorageUnavailable> => {
    if (database.state === "well") return question
    return database.state === "full" ? away : Effect.delay(away, 5_000)
  })
const around = (storage: Storage.Storage["Service"]): Storage.Storage["Service"] => ({
  ...storage,
  commit: (change) => busy(storage.commit(change)),
  get: (key) => busy(storage.get(key)),
  page: (query) => busy(storage.page(query)),
  feed: (query) => busy(storage.feed(query)),
  erase: (erasure) => busy(storage.erase(erasure)),
  addCounts: (now, additions) => busy(storage.addCounts(now, additions))
})

/** Calls every operation, and returns the statuses of the responses. */
const statusesOf = Effect.fnUntraced(function* (options: CallOptions) {
  const { call } = yield* World
  const statuses = new Map<string, number>()
  for (const operation of operations) {
    const input = { id: "sub_00000000000000000000000000" }
    const calling = yield* Effect.forkChild(
      Effect.match(call<unknown, Services>(operation, input, options), {
        onFailure: ({ status }) => status,
        onSuccess: () => 200
      })
    )
    yield* pass(15_000)
    statuses.set(operation.name, yield* Fiber.join(calling))
  }
  return statuses
})

/** The statuses on which a client gives up: its key, its authority or its resource is gone. */
const ends = [401, 403, 404]

describe("a host whose database is saturated", () => {
  for (const state of ["full", "slow"] as const) {
    testInWorld(
      `never returns 401, 403 or 404 to any key or call while the database is ${state}`,
      Effect.gen(function* () {
        const elsewhere = Context.get(yield* Layer.build(Layer.fresh(world())), World)
        const callers: ReadonlyArray<CallOptions> = [
          { environment: "live" },
          { as: "widget", read_handle: "rh_unknown" },
          { as: "platform", read_handle: "rh_unknown" },
          // Well-formed, but unknown here.
          { key: elsewhere.keys.live.server }
        ]
        database.state = state
        for (const caller of callers) {
          const statuses = yield* statusesOf(caller)
          assert.deepStrictEqual([...new Set(statuses.values())], [503])
        }
        database.state = "well"
        yield* list()
        database.state = state
        for (const [operation, status] of yield* statusesOf({})) assert.notInclude(ends, status, operation)
      }).pipe(
        Effect.ensuring(
          Effect.sync(() => {
            database.state = "well"
          })
        )
      ),
      { around }
    )
  }
})
