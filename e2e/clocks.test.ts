import { assert, describe, it } from "@effect/vitest"
import { PgStorage } from "@quotewire/storage-pg"
import { Clock, Context, Effect, Layer } from "effect"
import { scopedDatabase, type TestDatabase } from "../test/support/TestDatabase.ts"
import { Host, http } from "./host.ts"
import { advance, feed, startRequest, subscribe } from "./support/subscriber.ts"

const skew_ms = 30_000

/** A clock that is as far off for as long as it runs. */
const off = (by_ms: number): Clock.Clock => {
  const right = Clock.Clock.defaultValue()
  return {
    currentTimeMillisUnsafe: () => right.currentTimeMillisUnsafe() + by_ms,
    currentTimeMillis: Effect.map(right.currentTimeMillis, (now) => now + by_ms),
    currentTimeNanosUnsafe: () => right.currentTimeNanosUnsafe() + BigInt(by_ms) * 1_000_000n,
    currentTimeNanos: Effect.map(right.currentTimeNanos, (now) => now + BigInt(by_ms) * 1_000_000n),
    monotonicTimeNanosUnsafe: () => right.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: right.monotonicTimeNanos,
    sleep: (duration) => right.sleep(duration)
  }
}

/** A host of a database that answers and works, with a clock that is as far off. */
const hostOf = ({ options }: TestDatabase, by_ms: number) =>
  Layer.build(
    Layer.fresh(http(PgStorage.layer(options))).pipe(Layer.provide(Layer.succeed(Clock.Clock, off(by_ms))))
  ).pipe(Effect.map(Context.get(Host)))

describe("two hosts whose clocks differ by thirty seconds", () => {
  it.live(
    "tell every story whole and once, whichever of them is asked",
    () =>
      Effect.gen(function* () {
        const database = yield* scopedDatabase
        const right = yield* hostOf(database, 0)
        const ahead = yield* hostOf(database, skew_ms)
        const keys = yield* right.newOrganization
        const on = <A, E, R>(host: Host["Service"], effect: Effect.Effect<A, E, R>) =>
          Effect.provideService(effect, Host, host)
        const timeOf = (host: Host["Service"]) =>
          Effect.map(host.call(keys, "get_sandbox", {}), ({ body }) => Date.parse(body.workspace_time))
        assert.isAbove((yield* timeOf(ahead)) - (yield* timeOf(right)), skew_ms / 2)
        const { allAre, receiver } = yield* on(right, subscribe(keys))
        const hosts = [right, ahead, right, ahead, right, ahead]
        const ids = yield* Effect.forEach(hosts, (host) => on(host, startRequest(keys)), { concurrency: "unbounded" })
        for (const host of [ahead, right, ahead, right]) yield* on(host, advance(keys, 30))
        const events = yield* on(right, feed(keys))
        assert.deepStrictEqual(yield* on(ahead, feed(keys)), events)
        for (const id of ids) {
          const { body } = yield* ahead.call(keys, "get_quote_request", { id, wait_seconds: 0 })
          assert.deepStrictEqual([body.quote_request.status, body.quotes.length], ["completed", 3])
        }
        assert.lengthOf(events, 8 * ids.length)
        assert.lengthOf(
          events.filter(({ type }) => type === "quote_request.completed"),
          ids.length
        )
        yield* on(right, allAre("succeeded", events.length))
        assert.sameMembers(
          [...receiver.ids()],
          events.map(({ id }) => id)
        )
        assert.isTrue(receiver.arrivals().every(({ verification }) => verification.ok))
        // What was done twice, if anything, was the same.
        assert.lengthOf(new Set(receiver.arrivals().map(({ text }) => text)), events.length)
      }),
    60_000
  )
})
