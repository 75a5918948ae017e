import { assert, describe, it } from "@effect/vitest"
import { type Carrier, Reply, Storage } from "@quotewire/core"
import { Clock, Context, Effect, Fiber, Latch, Layer } from "effect"
import { TestClock } from "effect/testing"
import { until } from "../../../test/support/eventually.ts"
import { scopedDatabase } from "../../../test/support/TestDatabase.ts"
import { CarrierClient } from "../../core/src/carriers/CarrierClient.ts"
import type { CallToCarrier } from "../../core/src/carriers/health/CarrierLimits.ts"
import { open } from "./support/hosts.ts"

const ratePerMinute = 40

const line: Carrier.CarrierLine = {
  states: ["TX"],
  needs: [],
  uses_credit: false,
  mode: "sync",
  idempotent: true,
  attempt_timeout_ms: 15_000,
  typical_ms: 1_000,
  hedge_after_ms: null,
  rate_per_minute: ratePerMinute,
  max_concurrent: 1_000
}

const callTo = (ask: Carrier.CarrierAdapter["ask"], terms: Partial<Carrier.CarrierLine> = {}): CallToCarrier => {
  const candidate = { line: { ...line, ...terms } }
  const adapter: Carrier.CarrierAdapter = {
    carrier: { id: "naic:12345", name: "Acme Mutual", registry_ids: [] },
    environments: ["live"],
    lines: { renters: candidate.line },
    handoff_hosts: [],
    ask
  }
  return {
    workspace_id: Storage.directoryWorkspace,
    candidate: { ...candidate, adapter },
    ask: {
      line: "renters",
      environment: "live",
      facts: {},
      assumptions: [],
      credit_disclosed: false,
      idempotency_key: "key",
      attempt: 1,
      scenario: null,
      requested_at: 0,
      asked_at: 0,
      now: 0,
      deadline: 3_600_000
    }
  }
}

/** The clients of three hosts on one database. */
const three = Effect.gen(function* () {
  const { options } = yield* scopedDatabase
  return yield* Effect.forEach([1, 2, 3], () =>
    Effect.gen(function* () {
      const storage = yield* open(options)
      const layer = Layer.fresh(CarrierClient.layer).pipe(Layer.provide(Layer.succeed(Storage.Storage, storage)))
      return Context.get(yield* Layer.build(layer), CarrierClient)
    })
  )
})

describe("three hosts on one database", () => {
  it.effect("jointly use a carrier's whole declared rate, but never exceed it", () =>
    Effect.gen(function* () {
      const hosts = yield* three
      const asked: Array<number> = []
      const of = callTo(() =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          asked.push(at)
          return Reply.decline("prior_claims")
        })
      )
      const minutes = 3
      for (let minute = 0; minute < minutes; minute++) {
        const asks = hosts.flatMap((client) =>
          Array.from({ length: ratePerMinute }, () => client.ask(of, Effect.succeed(true), Effect.succeed(true)))
        )
        yield* Effect.all(asks, { concurrency: "unbounded" })
        yield* TestClock.adjust("61 seconds")
      }
      assert.lengthOf(asked, minutes * ratePerMinute)
    })
  )

  it.effect("jointly stay within a carrier's limit on concurrent calls", () =>
    Effect.gen(function* () {
      const hosts = yield* three
      const answers = yield* Latch.make()
      let running = 0
      let refused = 0
      const waiting = Effect.andThen(
        Effect.sync(() => running++),
        Effect.as(answers.await, Reply.decline("prior_claims"))
      )
      const of = callTo(() => waiting, { max_concurrent: 2 })
      const asking = Effect.forEach(
        hosts.flatMap((client) =>
          Array.from({ length: 10 }, () => client.ask(of, Effect.succeed(true), Effect.succeed(true)))
        ),
        (ask) =>
          Effect.map(ask, ({ _tag }) => {
            if (_tag === "no_room") refused++
          }),
        { concurrency: "unbounded" }
      )
      const fiber = yield* Effect.forkChild(asking)
      yield* until(() => running + refused === 30)
      assert.strictEqual(running, 2)
      yield* answers.open
      yield* Fiber.join(fiber)
      const [one] = hosts
      const freed = yield* one?.ask(of, Effect.succeed(true), Effect.succeed(true)) ?? assert.fail()
      assert.strictEqual(freed._tag, "replied")
    })
  )

  it.effect("do not ask a carrier whose circuit another host has opened", () =>
    Effect.gen(function* () {
      const [one, two, three_] = yield* three
      const of = callTo(() => Effect.succeed(Reply.unavailable("carrier_error")))
      const place = { ...of, ...of.ask }
      assert.isNull(yield* two?.openCircuit(place) ?? assert.fail())
      yield* Effect.forEach(
        Array.from({ length: 20 }),
        () => one?.ask(of, Effect.succeed(true), Effect.succeed(true)) ?? assert.fail()
      )
      assert.isNotNull(yield* two?.openCircuit(place) ?? assert.fail())
      yield* TestClock.adjust("1 minute")
      assert.isNull(yield* three_?.openCircuit(place) ?? assert.fail())
    })
  )
})
