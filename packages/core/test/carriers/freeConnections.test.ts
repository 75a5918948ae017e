import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer, Ref, Semaphore } from "effect"
import { TestClock } from "effect/testing"
import { CarrierConnections } from "../../src/carriers/CarrierConnections.ts"
import { CarrierTransport } from "../../src/carriers/CarrierTransport.ts"
import { defineCarrier } from "../../src/carriers/defineCarrier.ts"
import * as Reply from "../../src/carriers/Reply.ts"
import { ExchangeRecording } from "../../src/carriers/recorder/CarrierExchange.ts"
import { logOf } from "../quoting/log.ts"
import { type InWorld, live, outcomes, pass, start, testInWorld, work } from "../support/world.ts"
import * as FakeCarrier from "./fakeCarrier.ts"
import { onRecord } from "./onRecord.ts"

/*
 * A host with a single connection to the carrier, which another request holds for a while.
 */

/** A single connection, which is busy for this long. */
const takenFor = (millis: number) => {
  const semaphore = Semaphore.makeUnsafe(1)
  return {
    connections: { take: () => semaphore.takeScoped(1) },
    hold: Effect.forkChild(semaphore.withPermit(Effect.sleep(millis)))
  }
}

/** Sends concurrent requests while the connection is busy. The carrier takes this long for each answer. */
const sent = (takenMs: number, answerMs: number, { count = 1, timeout_ms = 1_000 } = {}) =>
  FakeCarrier.withClient(
    () => Effect.as(Effect.sleep(answerMs), FakeCarrier.status(204)),
    (http, requests) =>
      Effect.gen(function* () {
        const { connections, hold } = takenFor(takenMs)
        yield* hold
        yield* Effect.yieldNow
        const began = yield* Clock.currentTimeMillis
        const ended = yield* Ref.make<ReadonlyArray<readonly [string | number, number]>>([])
        const call = http.effect.post("/q").pipe(
          Effect.match({ onSuccess: ({ status }) => status, onFailure: ({ code, reason }) => `${reason} ${code}` }),
          Effect.flatMap((outcome) =>
            Effect.flatMap(Clock.currentTimeMillis, (now) =>
              Ref.update(ended, (all) => [...all, [outcome, now - began] as const])
            )
          ),
          Effect.provideService(CarrierConnections, connections)
        )
        const fibers = yield* Effect.forkChild(
          Effect.all(
            Array.from({ length: count }, () => call),
            { concurrency: "unbounded" }
          )
        )
        yield* Effect.repeat(TestClock.adjust(10), { until: () => fibers.pollUnsafe() !== undefined })
        yield* Fiber.join(fibers)
        return { ended: yield* Ref.get(ended), requests: requests.length }
      }),
    {},
    { timeout_ms }
  )

describe("a request that waits for a free connection", () => {
  it.effect("is sent once a connection is free, and then has its full timeout", () =>
    Effect.gen(function* () {
      const { ended } = yield* sent(5_000, 990)
      assert.deepStrictEqual(ended, [[204, 5_990]])
    })
  )

  it.effect("times out as usual once it is sent", () =>
    Effect.gen(function* () {
      const { ended } = yield* sent(5_000, 2_000)
      assert.deepStrictEqual(ended, [["timeout TIMED_OUT", 6_000]])
    })
  )

  it.effect("fails after ten seconds without being sent, and explains why", () =>
    Effect.gen(function* () {
      const { ended, requests } = yield* sent(60_000, 10)
      assert.deepStrictEqual(ended, [["rate_limited NO_FREE_CONNECTION", 10_000]])
      assert.strictEqual(requests, 0)
    })
  )

  it.effect("waits its turn behind earlier requests", () =>
    Effect.gen(function* () {
      const { ended } = yield* sent(0, 900, { count: 4 })
      assert.deepStrictEqual(ended, [
        [204, 900],
        [204, 1_800],
        [204, 2_700],
        [204, 3_600]
      ])
    })
  )
})

/** An adapter that sends two requests for each ask. */
const acme = defineCarrier({
  id: "naic:12345",
  name: "Acme Mutual",
  lines: { renters: { states: ["NY"], attempt_timeout_ms: 2_000, typical_ms: 1_000 } },
  http: { base_url: "https://api.acme.example" },
  ask: async ({ http }) => {
    await http.post("/open")
    await http.post("/rate")
    return Reply.offers([{ offer_ref: "1", term_months: 12 }])
  }
})

/**
 * A service whose only connection to the carrier is busy for a time, and a carrier that takes a time for each
 * answer. Returns the outcome of an ask after some seconds, and what was logged.
 */
const inWorld = (
  name: string,
  { answer_ms, seconds, taken_ms }: { readonly taken_ms: number; readonly answer_ms: number; readonly seconds: number },
  check: (ended: ReadonlyArray<string>, log: Effect.Success<ReturnType<typeof logOf>>) => InWorld<unknown>
) => {
  const { connections, hold } = takenFor(taken_ms)
  const { client } = FakeCarrier.make(() => Effect.as(Effect.sleep(answer_ms), FakeCarrier.json({})))
  testInWorld(
    name,
    Effect.gen(function* () {
      let id = ""
      const log = yield* logOf(
        Effect.gen(function* () {
          yield* hold
          yield* work
          id = (yield* start({}, live)).id
          yield* Effect.repeat(pass(1_000), { times: seconds - 1 })
        })
      )
      yield* check(yield* outcomes(id), log)
    }),
    {
      carriers: [acme],
      surroundings: Layer.mergeAll(
        Layer.succeed(CarrierTransport, client),
        Layer.succeed(CarrierConnections, connections),
        Layer.succeed(ExchangeRecording, { sandbox: "all", live: "all" })
      )
    }
  )
}

const endsAs = (outcome: string) => (ended: ReadonlyArray<string>) =>
  Effect.sync(() => assert.deepStrictEqual(ended, [`naic:12345 ${outcome}`]))

describe("an ask that waits for a free connection", () => {
  inWorld(
    "keeps waiting after its attempt's timeout",
    { taken_ms: 8_000, answer_ms: 900, seconds: 8 },
    endsAs("pending")
  )
  inWorld(
    "has its full attempt timeout once a connection is free",
    { taken_ms: 8_000, answer_ms: 900, seconds: 11 },
    endsAs("quoted")
  )
  inWorld(
    "times out if its carrier takes too long once a connection is free",
    { taken_ms: 8_000, answer_ms: 1_100, seconds: 12 },
    endsAs("no_answer timeout")
  )
  inWorld(
    "ends as rate limited after ten seconds, and the log and the record explain why",
    { taken_ms: 60_000, answer_ms: 10, seconds: 12 },
    (ended, log) =>
      Effect.gen(function* () {
        yield* endsAs("no_answer rate_limited")(ended)
        const fault = "CarrierHttpError NO_FREE_CONNECTION"
        const [exchange] = yield* onRecord()
        assert.deepStrictEqual([exchange?.reason, exchange?.fault, exchange?.http], ["rate_limited", fault, []])
        assert.isTrue(log.some(({ annotations }) => annotations.fault === fault))
      })
  )
})
