import { assert, describe, it } from "@effect/vitest"
import { Receiver } from "@quotewire/core/testing"
import { PgStorage } from "@quotewire/storage-pg"
import { PgCells } from "@quotewire/storage-pg/cells"
import { Clock, Context, Effect, Layer } from "effect"
import { FourCells } from "../packages/storage-pg/test/support/cells.ts"
import { off } from "../test/support/clocks.ts"
import { scopedDatabase, statements, type TestDatabase } from "../test/support/TestDatabase.ts"
import { Host, http } from "./host.ts"
import { advance, askUntil, feed, startRequest, subscribe } from "./support/subscriber.ts"

const skewMs = 30_000
/** Less than the difference between the clocks, and more than the delay on a busy machine. */
const lateMs = 10_000

/** A host on a database that serves calls and runs jobs, and whose own clock is off by this much. */
const hostOf = ({ options }: TestDatabase, byMs: number) =>
  Layer.build(
    Layer.fresh(http(PgStorage.layerWithClock(options))).pipe(Layer.provide(Layer.succeed(Clock.Clock, off(byMs))))
  ).pipe(Effect.map(Context.get(Host)))

/** A host that is ahead and one that is behind, and the keys of an organization. */
const apart = Effect.gen(function* () {
  const database = yield* scopedDatabase
  const ahead = yield* hostOf(database, skewMs)
  const behind = yield* hostOf(database, -skewMs)
  return { ahead, behind, keys: yield* ahead.newOrganization }
})

const on = <A, E, R>(host: Host["Service"], effect: Effect.Effect<A, E, R>) => Effect.provideService(effect, Host, host)

describe("two hosts whose clocks are a minute apart", () => {
  it.live("use the database's clock, and run no job twice or late", () =>
    Effect.gen(function* () {
      const { ahead, behind, keys } = yield* apart
      for (const host of [ahead, behind]) {
        const { body } = yield* host.call(keys, "get_sandbox", {})
        assert.isAtMost(Math.abs(Date.parse(body.workspace_time) - Date.now()), lateMs)
      }
      // A delivery takes so long that both hosts look for work several times while one of them is delivering.
      const { allAre, receiver } = yield* on(ahead, subscribe(keys, { otherwise: Receiver.slowBody(5, 500) }))
      const ids = yield* Effect.forEach([ahead, behind, ahead, behind], (host) => on(host, startRequest(keys)))
      for (const [index, id] of ids.entries()) {
        const host = index % 2 === 0 ? behind : ahead
        const read = host.call(keys, "get_quote_request", { id, wait_seconds: 0 })
        yield* on(
          host,
          askUntil(read, ({ body }) => body.quote_request.status === "completed")
        )
      }
      const events = yield* on(behind, feed(keys))
      assert.lengthOf(events, 8 * ids.length)
      const last = Math.max(...events.map(({ occurred_at }) => Date.parse(occurred_at)))
      assert.isAtMost(Math.abs(Date.now() - last), lateMs)
      yield* on(behind, allAre("succeeded", events.length))
      assert.sameMembers(
        receiver.arrivals().map(({ event }) => event?.id),
        events.map(({ id }) => id)
      )
    })
  )

  it.live("complete every quote request once, whichever host gets the calls", () =>
    Effect.gen(function* () {
      const { ahead, behind, keys } = yield* apart
      const { allAre, receiver } = yield* on(behind, subscribe(keys))
      const hosts = [behind, ahead, behind, ahead, behind, ahead]
      const ids = yield* Effect.forEach(hosts, (host) => on(host, startRequest(keys)), { concurrency: "unbounded" })
      for (const host of [ahead, behind, ahead, behind]) yield* on(host, advance(keys, 30))
      const events = yield* on(behind, feed(keys))
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
      yield* on(behind, allAre("succeeded", events.length))
      assert.sameMembers(
        receiver.arrivals().map(({ event }) => event?.id),
        events.map(({ id }) => id)
      )
      assert.isTrue(receiver.arrivals().every(({ verification }) => verification.ok))
    })
  )
})

/**
 * Makes the first cell's server clock run ahead, as seen by a host: a replacement hides the built-in clock function.
 */
const ahead = `do $$ begin
  create function public.clock_timestamp() returns timestamptz language sql as
    $f$ select pg_catalog.clock_timestamp() + interval '${skewMs} milliseconds' $f$;
  execute format('alter database %I set search_path = public, pg_catalog', current_database());
end $$`

describe("a host whose cells' clocks differ by thirty seconds", () => {
  it.live("uses the first cell's clock for every cell, and runs every job once", () =>
    Effect.gen(function* () {
      const { cells, urls } = yield* FourCells
      yield* Effect.promise(() => statements(urls[0] ?? "", ahead))
      const host = yield* Effect.map(Layer.build(http(PgCells.layerWithClock(cells))), Context.get(Host))
      const journey = Effect.gen(function* () {
        const keys = yield* host.newOrganization
        const { body } = yield* host.call(keys, "get_sandbox", {})
        assert.isAtMost(Math.abs(Date.parse(body.workspace_time) - Date.now() - skewMs), lateMs)
        const { allAre, receiver } = yield* subscribe(keys)
        yield* startRequest(keys)
        yield* advance(keys, 60)
        const events = yield* feed(keys)
        assert.lengthOf(events, 8)
        yield* allAre("succeeded", events.length)
        assert.sameMembers(
          receiver.arrivals().map(({ event }) => event?.id),
          events.map(({ id }) => id)
        )
      })
      yield* Effect.forEach(Array.from({ length: 8 }), () => on(host, Effect.scoped(journey)), {
        concurrency: "unbounded"
      })
    }).pipe(Effect.provide(FourCells.layer))
  )
})
