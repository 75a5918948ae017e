import { assert, describe, it } from "@effect/vitest"
import { CarrierConnections } from "@quotewire/core"
import { CarrierHttp } from "@quotewire/core/testing"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { until } from "../../../../test/support/eventually.ts"
import * as CarrierTransports from "../../src/carriers/CarrierTransports.ts"
import { json, outcome, serve } from "./support.ts"

/*
 * More requests than connections, over real sockets. The carrier answers when the test lets it, so nothing depends on speed.
 */

const limit = 3

/** A carrier that responds to requests once its gate is open, and counts its concurrent requests. */
const gated = Effect.gen(function* () {
  const waiting: Array<() => void> = []
  let most = 0
  let open = 0
  const server = yield* serve((_request, response) => {
    open += 1
    most = Math.max(most, open)
    waiting.push(() => {
      open -= 1
      json(response, {})
    })
  })
  return { ...server, waiting, most: () => most }
})

const clientOf = (base_url: string, timeout_ms = 10_000) =>
  Effect.map(
    CarrierHttp.make({ base_url }, { environment: "live", connection: {}, timeout_ms, idempotent: false }),
    ({ effect }) => effect
  )

describe("a host with few connections to a carrier", () => {
  it.live("sends the next request as soon as one response has been read completely", () =>
    Effect.gen(function* () {
      const carrier = yield* gated
      const http = yield* clientOf(carrier.origin)
      const all = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 4 * limit }, () => outcome(http.get("/q"))),
          { concurrency: "unbounded" }
        )
      )
      for (let answered = 0; answered < 4 * limit; answered++) {
        yield* until(() => carrier.waiting.length > 0)
        carrier.waiting.shift()?.()
      }
      assert.deepStrictEqual(
        yield* Fiber.join(all),
        Array.from({ length: 4 * limit }, () => [200])
      )
      assert.isAtMost(carrier.most(), limit)
    }).pipe(Effect.provide(CarrierTransports.layer({ connections_per_origin: limit })))
  )

  it.effect("does not count the wait for a connection toward a request's timeout", () =>
    Effect.gen(function* () {
      const carrier = yield* serve((_request, response) => json(response, {}))
      const { take } = yield* CarrierConnections
      const isFree = yield* Deferred.make<void>()
      const busy = take(new URL(carrier.origin).host).pipe(Effect.andThen(Deferred.await(isFree)), Effect.scoped)
      yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: limit }, () => busy),
          { concurrency: "unbounded" }
        )
      )
      yield* Effect.yieldNow
      const http = yield* clientOf(carrier.origin, 1_000)
      const request = yield* Effect.forkChild(outcome(http.get("/q")))
      // Only the test clock moves. The sockets are real.
      yield* TestClock.adjust(9_000)
      assert.lengthOf(carrier.requests, 0)
      yield* Deferred.succeed(isFree, undefined)
      assert.deepStrictEqual(yield* Fiber.join(request), [200])
    }).pipe(Effect.provide(CarrierTransports.layer({ connections_per_origin: limit })))
  )

  it.live("frees the connections of cancelled requests, and never blocks calls to another carrier", () =>
    Effect.gen(function* () {
      const carrier = yield* gated
      const other = yield* serve((_request, response) => json(response, {}))
      const http = yield* clientOf(carrier.origin)
      const givenUp = yield* Effect.forEach(Array.from({ length: limit }), () =>
        Effect.forkChild(outcome(http.get("/q")))
      )
      yield* until(() => carrier.waiting.length === limit)
      assert.deepStrictEqual(yield* outcome((yield* clientOf(other.origin)).get("/q")), [200])

      const { take } = yield* CarrierConnections
      const got = yield* Deferred.make<void>()
      const next = take(new URL(carrier.origin).host).pipe(
        Effect.andThen(Deferred.succeed(got, undefined)),
        Effect.scoped
      )
      const waits = yield* Effect.forkChild(next)
      yield* Effect.yieldNow
      assert.isFalse(yield* Deferred.isDone(got))
      yield* Effect.forEach(givenUp, (request) => Fiber.interrupt(request))
      yield* Fiber.join(waits)
      assert.isTrue(yield* Deferred.isDone(got))
    }).pipe(Effect.provide(CarrierTransports.layer({ connections_per_origin: limit })))
  )
})
