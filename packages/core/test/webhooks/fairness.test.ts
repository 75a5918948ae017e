import { assert, describe } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { Access } from "../../src/access/Access.ts"
import { pass, runDue, start, work } from "../engine/support.ts"
import { confirmed, create, log, silence, tale, url } from "./support.ts"

const live = { environment: "live" } as const
const isSlow = (address: string) => address.includes("slow")

describe("a slow endpoint", () => {
  tale(
    "has at most sixteen attempts at a time, whatever waits for it",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        for (let i = 0; i < 60; i++) yield* start({}, live)
        yield* work
        // Retries come on top of fresh events.
        for (let i = 0; i < 40; i++) {
          yield* start({}, live)
          yield* pass(5_000)
        }
        assert.isAtMost(endpoints.most(url), 16)
        assert.isAtLeast(endpoints.most(url), 12)
        assert.lengthOf(yield* log(id, live), 100)
      }),
    { send: () => silence, send_takes_ms: () => 15_000 }
  )

  tale(
    "gets fresh events before the retries of older ones",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        yield* work
        for (let i = 0; i < 22; i++) yield* start({}, live)
        yield* pass(36_000)
        // All have been tried once by now, and more retries are due than may run.
        const ids = new Set(endpoints.sent.map(({ request }) => request.headers["webhook-id"]))
        assert.strictEqual(ids.size, 22)
        const count = endpoints.sent.length
        yield* start({}, live)
        yield* pass(100)
        const fresh = endpoints.sent.slice(count).map(({ request }) => request.headers["webhook-id"])
        assert.deepStrictEqual(fresh, [(yield* log(id, live))[0]?.event_id])
      }),
    { send: () => silence, send_takes_ms: () => 15_000 }
  )
})

describe("fresh events", () => {
  tale(
    "go before retries that were due earlier",
    (endpoints) =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        for (let i = 0; i < 3; i++) yield* start({}, live)
        yield* runDue
        yield* pass(25_000)
        for (let i = 0; i < 3; i++) yield* start({}, live)
        const count = endpoints.sent.length
        yield* runDue
        const ids = (yield* log(id, live)).map(({ event_id }) => event_id).toReversed()
        assert.deepStrictEqual(
          endpoints.sent.slice(count).map(({ request }) => request.headers["webhook-id"]),
          [...ids.slice(3), ...ids.slice(0, 3)]
        )
      }),
    { send: () => silence }
  )
})

describe("half of all endpoints hanging", () => {
  tale(
    "does not delay the others",
    (endpoints) =>
      Effect.gen(function* () {
        const access = yield* Access
        const keys: Array<string> = []
        for (let i = 0; i < 8; i++) {
          const { id: organization_id } = yield* access.createOrganization(`Organization ${i}`)
          const { key } = yield* access.createKey({ organization_id, environment: "live", kind: "server" })
          keys.push(key)
          for (let place = 0; place < 10; place++) {
            const name = `${place % 2 === 0 ? "slow" : "quick"}-${i}-${place}`
            yield* create({ url: `https://${name}.acme.dev/` }, { key })
          }
        }
        yield* work
        const took: Array<number> = []
        for (let round = 0; round < 20; round++) {
          const began = endpoints.sent.length
          const at = yield* Clock.currentTimeMillis
          for (const key of keys) yield* start({}, { key })
          yield* pass(3_000)
          const quick = endpoints.sent.slice(began).filter(({ request }) => !isSlow(request.url))
          assert.lengthOf(quick, 40)
          took.push(...quick.map((sent) => sent.at - at))
        }
        assert.isAtMost(Math.max(...took), 10)
        const slow = endpoints.sent.filter(({ request }) => isSlow(request.url))
        for (const { request } of slow) assert.isAtMost(endpoints.most(request.url), 16)
        assert.isAbove(slow.length, 40 * 11)
      }),
    {
      send: ({ url }) => (isSlow(url) ? silence : confirmed),
      send_takes_ms: (_, { url }) => (isSlow(url) ? 15_000 : 20)
    }
  )
})
