import { assert, describe } from "@effect/vitest"
import { Context, Effect, Layer, Scope } from "effect"
import { Access } from "../../src/access/Access.ts"
import type { CarrierAsk } from "../../src/carriers/Carrier.ts"
import { CarrierClient } from "../../src/carriers/CarrierClient.ts"
import type { CallToCarrier } from "../../src/carriers/health/CarrierLimits.ts"
import { directoryWorkspace, Storage, StorageUnavailable } from "../../src/storage/Storage.ts"
import {
  type Character,
  carrier,
  carriers,
  offers,
  prompt,
  type ScriptedCarrier,
  silent,
  slow,
  unavailable
} from "../quoting/carriers.ts"
import { anotherHost, beginning, live, outcomes, pass, read, start, testInWorld, work } from "../support/world.ts"
import { appointing, given, set } from "./support.ts"

/** Another host that runs jobs, with its own carrier. */
const join = Effect.fnUntraced(function* (own: ScriptedCarrier) {
  const there = yield* anotherHost(carriers(own))
  yield* there(Scope.provide(work, yield* Effect.scope))
})

/** The clients of three hosts. */
const clients = Effect.forEach([1, 2, 3], () =>
  Effect.map(Layer.build(Layer.fresh(CarrierClient.layer)), Context.get(CarrierClient))
)

const callTo = ({ adapter }: ScriptedCarrier): CallToCarrier => {
  const line = adapter.lines.renters ?? assert.fail("the carrier has no such line")
  return { workspace_id: directoryWorkspace, candidate: { adapter, line }, ask: anAsk }
}

const anAsk: CarrierAsk = {
  line: "renters",
  environment: "live",
  facts: {},
  assumptions: [],
  credit_disclosed: false,
  idempotency_key: "key",
  attempt: 1,
  scenario: null,
  requested_at: beginning,
  asked_at: beginning,
  now: beginning,
  deadline: beginning + 3_600_000
}

/** Asks a carrier repeatedly, as soon as there is room, with a pause after each ask that lets others in. */
const insisting = (client: CarrierClient["Service"], of: CallToCarrier) =>
  Effect.forever(
    Effect.flatMap(client.ask(of, Effect.succeed(true), Effect.succeed(true)), (asked) =>
      Effect.sleep(asked._tag === "no_room" ? asked.again_after_ms : 400)
    )
  )

/** The largest number of times within one minute. */
const mostInAMinute = (moments: ReadonlyArray<number>): number =>
  Math.max(...moments.map((from) => moments.filter((at) => at >= from && at < from + 60_000).length))

describe("hosts that share one storage backend", () => {
  testInWorld(
    "together stay within a carrier's declared rate, but use the whole rate",
    Effect.gen(function* () {
      const rate_per_minute = 120
      const minutes = 10
      const asked = [1, 2, 3].map(() => slow("rationed", 100, offers(), { rate_per_minute }))
      for (const [place, client] of (yield* clients).entries()) {
        yield* Effect.forkScoped(insisting(client, callTo(asked[place] ?? assert.fail())))
      }
      for (let passed = 0; passed < minutes * 60 - 1; passed++) yield* pass(1_000)
      for (const own of asked) assert.isAbove(own.asks.length, 0)
      const moments = asked.flatMap(({ asks }) => asks.map(({ at }) => at))
      assert.isAtMost(moments.length, rate_per_minute * minutes * 1.05)
      assert.isAtLeast(moments.length, rate_per_minute * minutes * 0.95)
      assert.isAtMost(mostInAMinute(moments), rate_per_minute)
    })
  )

  testInWorld(
    "together make no more concurrent calls than a carrier allows",
    Effect.gen(function* () {
      let running = 0
      let most = 0
      const counted = Effect.acquireUseRelease(
        Effect.sync(() => {
          running++
          most = Math.max(most, running)
        }),
        () => Effect.as(Effect.sleep(2_000), offers()),
        () => Effect.sync(() => running--)
      )
      const asked = [1, 2, 3].map(() => carrier("narrow", () => counted, { max_concurrent: 4 }))
      const quick = prompt("quick")
      const hosts = yield* clients
      for (const [place, client] of hosts.entries()) {
        const asking = insisting(client, callTo(asked[place] ?? assert.fail()))
        yield* Effect.all([asking, asking, asking], { concurrency: "unbounded" }).pipe(Effect.forkScoped)
      }
      yield* pass(100)
      assert.strictEqual(running, 4)
      const others = yield* Effect.forEach(hosts, (client) =>
        client.ask(callTo(quick), Effect.succeed(true), Effect.succeed(true))
      )
      for (const other of others) assert.strictEqual(other._tag, "replied")
      for (let passed = 0; passed < 60; passed++) yield* pass(1_000)
      assert.strictEqual(most, 4)
      for (const own of asked) assert.isAbove(own.asks.length, 0)
      assert.isAbove(asked.flatMap(({ asks }) => asks).length, 90)
    })
  )

  testInWorld("do not ask a carrier whose circuit another host has opened", () => {
    const sick = prompt("sick", unavailable("maintenance"), { idempotent: false })
    const well = prompt("sick")
    return {
      ...carriers(sick),
      body: Effect.gen(function* () {
        const stop = yield* work
        for (let i = 0; i < 20; i++) {
          yield* start({}, live)
          yield* pass(10)
        }
        assert.lengthOf(sick.asks, 20)
        yield* stop
        yield* join(well)
        const { id } = yield* start({}, live)
        yield* pass(1_000)
        assert.lengthOf(well.asks, 0)
        assert.strictEqual((yield* read(id, live)).quote_request.status_details.reason, "no_carrier_available")
        yield* pass(60_000)
        for (let i = 0; i < 3; i++) {
          yield* start({}, live)
          yield* pass(1_000)
        }
        assert.lengthOf(well.asks, 3)
      })
    }
  })

  testInWorld("take over a dead host's concurrent-call slots", () => {
    const character: Character = { max_concurrent: 1 }
    const hangs = silent("narrow", character)
    const answers = prompt("narrow", offers(), character)
    let dead = false
    const dying = (storage: Storage["Service"]): Storage["Service"] => {
      const unlessDead = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, E | StorageUnavailable> =>
        Effect.suspend(
          (): Effect.Effect<A, E | StorageUnavailable> =>
            dead ? Effect.fail(new StorageUnavailable({ retry_after_seconds: 1 })) : call
        )
      return {
        ...storage,
        commit: (change) => unlessDead(storage.commit(change)),
        claim: (query) => unlessDead(storage.claim(query)),
        get: (key) => unlessDead(storage.get(key))
      }
    }
    return {
      ...carriers(answers),
      body: Effect.gen(function* () {
        const storage = yield* Storage
        yield* Effect.provideService(join(hangs), Storage, dying(storage))
        yield* start({}, live)
        yield* pass(1_000)
        assert.lengthOf(hangs.asks, 1)
        dead = true
        yield* work
        const { id } = yield* start({}, live)
        for (let passed = 0; passed < 28; passed++) yield* pass(1_000)
        assert.lengthOf(answers.asks, 0)
        for (let passed = 0; passed < 4; passed++) yield* pass(1_000)
        assert.deepStrictEqual(yield* outcomes(id), ["narrow quoted"])
      })
    }
  })
})

describe("a carrier's call count", () => {
  testInWorld("is kept per connection, so that organizations do not limit each other", () => {
    const rationed = appointing({}, { rate_per_minute: 1 })
    return {
      ...carriers(rationed),
      body: Effect.gen(function* () {
        yield* work
        const access = yield* Access
        const { id: organization_id } = yield* access.createOrganization("Another agency")
        const { key } = yield* access.createKey({ organization_id, environment: "live", kind: "server" })
        yield* set(given)
        yield* set(given, { organization_id })
        yield* Effect.forEach([live, { ...live, key }, live, { ...live, key }], (options) => start({}, options))
        yield* pass(10)
        assert.lengthOf(rationed.asks, 2)
      })
    }
  })

  testInWorld("is kept per environment if the carrier has no connections", () => {
    const rationed = prompt("rationed", offers(), { rate_per_minute: 1 })
    return {
      ...carriers(rationed),
      body: Effect.gen(function* () {
        yield* work
        yield* Effect.forEach([live, {}, live, {}], (options) => start({}, options))
        yield* pass(10)
        yield* pass(1_000)
        assert.sameMembers(
          rationed.asks.map(({ ask }) => ask.environment),
          ["live", "sandbox"]
        )
      })
    }
  })
})
