import { assert, describe } from "@effect/vitest"
import { Effect, Logger, Metric, References } from "effect"
import type { ParkedEvent } from "../../src/consuming/ParkedEvent.ts"
import { pass } from "../support/world.ts"
import { emit, host, organization, organizationId, placeOf, range, test } from "./support.ts"

/* What the operators of a consumer see: its log, its metrics, its hook, and the list of consumers. */

class Refused extends Error {
  override readonly name = "Refused"
}

/** Everything that is logged, as text. */
const logged = Effect.fnUntraced(function* <A, E, R>(body: Effect.Effect<A, E, R>) {
  const lines: Array<string> = []
  const logger = Logger.make(({ cause, fiber, message }) => {
    const said = cause.reasons.map((reason) => (reason._tag === "Die" ? textOf(reason.defect) : reason._tag))
    lines.push(`${message} ${said.join(" ")} ${JSON.stringify(fiber.getRef(References.CurrentLogAnnotations))}`)
  })
  yield* Effect.provide(body, Logger.layer([logger]))
  return lines.join("\n")
})
const textOf = (thrown: unknown): string =>
  thrown instanceof Error ? `${thrown.stack} ${thrown.cause === undefined ? "" : textOf(thrown.cause)}` : String(thrown)

const failing = () =>
  Effect.fail(new Refused("no account 4711", { cause: new Error("connection refused by the ledger") }))

const consumerMetrics = Effect.map(Metric.snapshot, (all) =>
  all.flatMap(({ attributes, id, state }) =>
    id.startsWith("quotewire_consumer_") ? [{ id, attributes, state: JSON.stringify(state) }] : []
  )
)

describe("an error from an event handler", () => {
  const failed = (options: object) =>
    logged(
      Effect.gen(function* () {
        yield* organization(1)
        const one = yield* host("one", [])
        const { ready } = yield* one.consume("billing", failing, options)
        yield* ready
        yield* emit(2, [1])
        yield* pass(0)
      })
    )

  test(
    "is logged with its message, cause and location",
    Effect.gen(function* () {
      const text = yield* failed({})
      for (const part of [
        "no account 4711",
        "connection refused by the ledger",
        "Refused",
        "watching.test.ts",
        "evt_"
      ]) {
        assert.include(text, part)
      }
    })
  )

  test(
    "is logged without the error's message if log_messages is false",
    Effect.gen(function* () {
      const text = yield* failed({ log_messages: false })
      assert.include(text, "Refused")
      assert.include(text, "watching.test.ts")
      for (const part of ["4711", "ledger"]) assert.notInclude(text, part)
    })
  )

  test(
    "is truncated in the log, whatever value was thrown",
    Effect.gen(function* () {
      const hostile = {
        get message() {
          throw new Error("again")
        }
      }
      yield* organization(1)
      const all = ["x".repeat(1_000_000), new Error("x".repeat(1_000_000)), hostile, null, Symbol("s"), 7n]
      for (const [place, thrown] of all.entries()) {
        const text = yield* logged(
          Effect.gen(function* () {
            const one = yield* host("one", [])
            const { ready, stop } = yield* one.consume(`billing-${place}`, () => Effect.fail(thrown))
            yield* ready
            yield* emit(2, [place])
            yield* pass(0)
            yield* stop
          })
        )
        assert.include(text, "An event handler failed")
        assert.isBelow(text.length, 10_000)
      }
    })
  )
})

describe("a parked event", () => {
  test(
    "is reported to the program, counted, and shown in the list of consumers",
    Effect.gen(function* () {
      yield* organization(1)
      yield* organization(2)
      const told: Array<ParkedEvent> = []
      const one = yield* host("one", [])
      const { ready } = yield* one.consume(
        "billing",
        (event) => (placeOf(event) === 2 ? Effect.fail("no") : Effect.void),
        { max_attempts: 2, on_parked: (parked) => void told.push(parked) }
      )
      yield* ready
      yield* emit(2, [1, 2, 3])
      yield* pass(10_000)
      assert.deepStrictEqual(
        told.map(({ attempts, environment, event, organization_id }) => [
          placeOf(event),
          attempts,
          organization_id,
          environment
        ]),
        [[2, 2, organizationId(1), "sandbox"]]
      )
      const [parked] = (yield* consumerMetrics).filter(({ id }) => id.endsWith("parked_events_total"))
      assert.deepInclude(parked?.attributes, { consumer: "billing" })
      assert.include(parked?.state, "1")
      const [status, ...others] = yield* one.consumers.list()
      assert.deepStrictEqual(others, [])
      assert.deepInclude(status, { name: "billing", behind: 0, parked: 1, workspaces: 4 })
      assert.deepStrictEqual(status?.places, [
        { organization_id: organizationId(1), environment: "sandbox", position: 3, behind: 0, parked: 1 }
      ])
      assert.deepStrictEqual((yield* one.consumers.list({ environment: "live" }))[0]?.parked, 0)
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  test(
    "stays parked if the on_parked hook fails, and the failure is logged",
    Effect.gen(function* () {
      yield* organization(1)
      const one = yield* host("one", [])
      const text = yield* logged(
        Effect.gen(function* () {
          const on_parked = () => Promise.reject(new Error("on_parked of a test"))
          const { ready } = yield* one.consume("billing", () => Effect.fail("no"), { max_attempts: 1, on_parked })
          yield* ready
          yield* emit(2, [1])
          yield* pass(1_000)
        })
      )
      assert.include(text, "on_parked failed")
      assert.lengthOf(yield* one.consumers.listParked("billing"), 1)
    })
  )
})

describe("a consumer that is behind", () => {
  test(
    "reports its lag as a metric and its number of waiting events in the consumer list",
    Effect.gen(function* () {
      yield* organization(1)
      const one = yield* host("one", [])
      let isWell = false
      const { ready } = yield* one.consume("billing", () => (isWell ? Effect.void : Effect.fail("no")), {
        max_attempts: 1_000,
        max_backoff_ms: 1_000
      })
      yield* ready
      const lag = Effect.map(consumerMetrics, (all) =>
        Number(/-?\d+(\.\d+)?/.exec(all.find(({ id }) => id.endsWith("lag_seconds"))?.state ?? "")?.[0])
      )
      yield* emit(2, range(1, 5))
      yield* emit(3, [6], { environment: "live" })
      yield* pass(120_000)
      assert.isAbove(yield* lag, 100)
      const [behind] = yield* one.consumers.list()
      assert.deepInclude(behind, { behind: 6, parked: 0 })
      assert.deepStrictEqual(
        behind?.places.map(({ behind, environment, position }) => [environment, position, behind]),
        [
          ["sandbox", 0, 5],
          ["live", 0, 1]
        ]
      )
      isWell = true
      yield* pass(10_000)
      assert.strictEqual(yield* lag, 0)
      assert.deepInclude((yield* one.consumers.list())[0], { behind: 0, places: [] })
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )
})
