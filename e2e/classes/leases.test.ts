import { assert, describe } from "@effect/vitest"
import { Storage } from "@quotewire/core"
import { Effect, Scope } from "effect"
import { anotherHost, live, pass, start, work } from "../../packages/core/test/support/world.ts"
import {
  confirmed,
  create,
  delivery,
  endpoints as endpointsOf,
  only,
  testWebhooks
} from "../../packages/core/test/webhooks/support.ts"

/*
 * A worker is slower than the lease of its job, so a second worker takes the job while the first is still working on
 * it.
 */

const leaseMs = 30_000

/**
 * A second host on the same storage, which is paused after it sends: each of its statements is then delayed by this
 * long.
 */
const pausedHost = Effect.fnUntraced(function* (sending: ReturnType<typeof endpointsOf>, pauseMs: number) {
  const storage = yield* Storage.Storage
  const late = <A, E>(statement: Effect.Effect<A, E>) =>
    Effect.suspend(() => Effect.delay(statement, sending.sent.length === 0 ? 0 : pauseMs))
  const paused: Storage.Storage["Service"] = {
    ...storage,
    commit: (change) => late(storage.commit(change)),
    claim: (query) => late(storage.claim(query))
  }
  const there = yield* Effect.provideService(anotherHost({ webhooks: sending.layer }), Storage.Storage, paused)
  yield* there(Scope.provide(work, yield* Effect.scope))
})

describe("a webhook attempt longer than its lease", () => {
  const slow = endpointsOf()
  testWebhooks("is repeated by another host, and the first host's late outcome changes nothing", (endpoints) =>
    Effect.gen(function* () {
      yield* pausedHost(slow, leaseMs + 10_000)
      const { id } = yield* create({}, live)
      yield* start({}, live)
      yield* pass(1_000)
      assert.lengthOf(slow.sent, 1)
      yield* work
      yield* pass(leaseMs)
      const taken = yield* only(id, live)
      assert.deepStrictEqual([taken.status, taken.attempts.length], ["succeeded", 1])
      yield* pass(4 * leaseMs)
      assert.deepStrictEqual(yield* only(id, live), taken)
      const all = [...slow.sent, ...endpoints.sent]
      assert.lengthOf(all, 2)
      const same = new Set(all.map(({ request }) => `${request.headers["webhook-id"]} ${request.body}`))
      assert.strictEqual(same.size, 1)
    })
  )

  testWebhooks(
    "is prevented by aborting a hanging send before the lease expires",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        yield* work
        yield* start({}, live)
        yield* pass(leaseMs - 1)
        const { event_id, attempts } = yield* only(id, live)
        assert.deepStrictEqual(
          attempts.map(({ status, response_status_code }) => [status, response_status_code]),
          [["failed", null]]
        )
        yield* pass(12 * 60_000)
        // After 5 seconds, and after 5 minutes.
        assert.lengthOf((yield* delivery(id, event_id, live)).attempts, 3)
        assert.lengthOf(endpoints.sent, 3)
      }),
    { send: () => confirmed, send_takes_ms: () => 1_000_000_000 }
  )
})
