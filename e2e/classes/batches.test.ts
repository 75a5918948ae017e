import { assert, describe, it } from "@effect/vitest"
import { Change, Storage } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"
import { PgStorage } from "@quotewire/storage-pg"
import { Context, Effect, Exit, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { listApiRequests } from "../../packages/core/src/calls/RequestLogOperations.ts"
import { getSandbox } from "../../packages/core/src/operations.ts"
import { World } from "../../packages/core/src/testing/World.ts"
import { host } from "../../packages/core/test/access/support.ts"
import { live, pass, start, testInWorld, work } from "../../packages/core/test/support/world.ts"
import { create, log, testWebhooks } from "../../packages/core/test/webhooks/support.ts"
import { workspace } from "../../packages/storage-pg/test/support/hosts.ts"
import { scopedDatabase } from "../../test/support/TestDatabase.ts"

/*
 * Work that shares a statement. A record that storage never accepts does not affect the others.
 */

/**
 * Refuses each change with a record of this kind that contains the text, and each tally that does, as PostgreSQL
 * refuses a value that it cannot store.
 */
const refusing =
  (text: () => string, kind: string) =>
  (storage: Storage.Storage["Service"]): Storage.Storage["Service"] => {
    const holds = (part: object) => text() !== "" && JSON.stringify(part).includes(text())
    const refused = Effect.die(new Error("refused on purpose"))
    return {
      ...storage,
      commit: (change) =>
        change.writes.some((write) => write.kind === kind && holds(write)) ? refused : storage.commit(change),
      addCounts: (now, additions) => (holds(additions) ? refused : storage.addCounts(now, additions))
    }
  }

const poison = "a poisonous member"

describe("a batch with one record that storage refuses", () => {
  testInWorld(
    "loses only the refused record if the record is a request log entry",
    Effect.gen(function* () {
      const { call } = yield* World
      for (let nth = 0; nth < 20; nth++) {
        const user_agent = nth === 7 ? poison : `program ${nth}`
        const wire = { method: "GET", route: "/v1/sandbox", status: null, client_name: null, client_version: null }
        yield* call(getSandbox, {}, { transport: { ...wire, user_agent } })
      }
      yield* pass(1_000)
      const { requests } = yield* call(listApiRequests, { limit: 100 })
      const logged = requests.map(({ agent }) => agent.user_agent).filter((agent) => agent?.startsWith("program"))
      assert.lengthOf(logged, 19)
    }),
    { around: refusing(() => poison, "api_request") }
  )

  it.effect("loses only the refused record if the record is a shared count", () =>
    Effect.gen(function* () {
      const storage = Context.get(yield* Layer.build(MemoryStorage.layer), Storage.Storage)
      const here = yield* host(refusing(() => poison, "none")(storage))
      const there = yield* host(storage)
      for (let nth = 0; nth < 60; nth++) yield* here.failed("192.0.2.9")
      yield* here.failed(poison)
      yield* TestClock.adjust(1_000)
      assert.strictEqual((yield* Effect.flip(there.failed("192.0.2.9")))._tag, "rate_limited")
    })
  )

  const delivery = { poison: "" }
  testWebhooks(
    "delays only the refused record if the record is an attempt's outcome",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        for (let nth = 0; nth < 20; nth++) {
          const started = yield* start({}, live)
          if (nth === 7) delivery.poison = started.id
        }
        yield* work
        yield* pass(2_000)
        const statuses = (yield* log(id, live)).map(({ status }) => status)
        assert.deepStrictEqual(
          statuses.filter((status) => status !== "succeeded"),
          ["pending"]
        )
        delivery.poison = ""
        yield* pass(30_000)
        for (const { status } of yield* log(id, live)) assert.strictEqual(status, "succeeded")
        assert.lengthOf(endpoints.sent, 21)
      }),
    { send_takes_ms: () => 100 },
    { around: refusing(() => delivery.poison, "delivery") }
  )
})

const kind = "quote"

/** A change that stores one record with this body. */
const storing = (id: string, body: string) =>
  Change.make(workspace(1), {
    writes: [Change.record({ kind, id, version: 1, body, created_at: 0, updated_at: 0 })]
  })

describe("changes that share a statement on PostgreSQL", () => {
  it.live("are all stored, except a change that PostgreSQL refuses", () =>
    Effect.gen(function* () {
      const { options } = yield* scopedDatabase
      const storage = Context.get(yield* Layer.build(PgStorage.layer(options)), Storage.Storage)
      const huge = JSON.stringify("x".repeat(20_000_000))
      const bodies = Array.from({ length: 100 }, (_, nth) => (nth === 31 ? huge : nth === 62 ? "\u0000" : `${nth}`))
      const exits = yield* Effect.forEach(bodies, (body, nth) => Effect.exit(storage.commit(storing(`${nth}`, body))), {
        concurrency: "unbounded"
      })
      const refused = exits.flatMap((exit, nth) => (Exit.isFailure(exit) ? [nth] : []))
      assert.deepStrictEqual(refused, [62])
      for (const [nth, body] of bodies.entries()) {
        const stored = yield* storage.get({ workspace_id: workspace(1), kind, id: `${nth}` })
        const expected = nth === 62 ? null : body.length
        assert.strictEqual(Option.isNone(stored) ? null : stored.value.body.length, expected)
      }
    }).pipe(Effect.scoped)
  )
})
