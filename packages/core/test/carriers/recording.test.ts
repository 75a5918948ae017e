import { assert, describe } from "@effect/vitest"
import { Cause, Effect, Fiber, Layer, Logger, Metric, References, Tracer } from "effect"
import { HttpClientRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { type CarrierExchange, ExchangeRecording } from "../../src/carriers/recorder/CarrierExchange.ts"
import * as StoredExchange from "../../src/carriers/recorder/StoredExchange.ts"
import { Retention } from "../../src/runner/Retention.ts"
import { World } from "../../src/testing/World.ts"
import { dayMs, minuteMs, secondMs } from "../../src/wire/Timestamp.ts"
import { carrier, carriers, declined, offer, offers, polled, prompt, silent, unavailable } from "../quoting/carriers.ts"
import { advance, live, outcomes, pass, reset, runDue, start, testInWorld, work } from "../support/world.ts"

import { all, ask, onRecord, send, testRecorded, testRecordedBy } from "./onRecord.ts"

describe("the recording setting", () => {
  const declining = prompt("declining", declined)
  const failing = prompt("failing", unavailable("maintenance"))
  for (const [what, recording, kept] of [
    ["keeps only exchanges without an answer if it is `failures`", { sandbox: "all", live: "failures" }, ["failing"]],
    ["keeps nothing if it is `none`", { sandbox: "all", live: "none" }, []],
    ["keeps everything if it is `all`", { sandbox: "none", live: "all" }, ["declining", "failing"]]
  ] as const) {
    testRecorded(
      what,
      Effect.gen(function* () {
        yield* ask()
        assert.sameMembers(
          (yield* onRecord()).map(({ carrier_id }) => carrier_id),
          [...kept]
        )
      }),
      [declining, failing],
      { recording }
    )
  }

  testInWorld(
    "is `failures` in live and `all` in the sandbox by default",
    Effect.gen(function* () {
      yield* ask()
      yield* start({})
      yield* pass(2 * secondMs)
      assert.lengthOf(yield* onRecord("live"), 0)
      assert.lengthOf(yield* onRecord("sandbox"), 1)
    }),
    carriers(declining)
  )

  testInWorld(
    "does not apply to fictional carriers, which are never recorded",
    Effect.gen(function* () {
      yield* work
      yield* start({})
      yield* pass(minuteMs)
      assert.lengthOf(yield* onRecord("sandbox"), 0)
    })
  )
})

describe("recordings", () => {
  testRecorded(
    "are erased after a week",
    Effect.gen(function* () {
      yield* start({}, live)
      yield* runDue
      const { organization } = yield* World
      const retention = yield* Retention
      yield* pass(6 * dayMs)
      yield* retention.sweep(organization.workspaces.live)
      assert.lengthOf(yield* onRecord(), 1)
      yield* pass(2 * dayMs)
      yield* retention.sweep(organization.workspaces.live)
      assert.lengthOf(yield* onRecord(), 0)
    }),
    prompt("acme")
  )

  testRecorded(
    "are erased no later than their request's facts",
    Effect.gen(function* () {
      yield* start({}, live)
      yield* runDue
      yield* pass(30 * dayMs)
      yield* runDue
      const { organization } = yield* World
      const retention = yield* Retention
      const workspaceId = organization.workspaces.live
      assert.isTrue((yield* onRecord()).some(({ exchange }) => exchange === "refresh"))
      yield* pass(3 * dayMs)
      yield* retention.sweep(workspaceId)
      assert.lengthOf(yield* onRecord(), 0)
    }),
    prompt("acme", offers(offer({ expires_at: "2027-11-01T00:00:00.000Z", refresh_after_ms: 29 * dayMs })), {
      rest: {
        refresh: () =>
          Effect.succeed({
            kind: "offer",
            reason: "rechecked",
            offer: offer({ expires_at: "2027-11-01T00:00:00.000Z" })
          })
      }
    })
  )

  testRecorded(
    "are erased by a reset of the sandbox",
    Effect.gen(function* () {
      yield* work
      yield* start({})
      yield* pass(2 * secondMs)
      assert.lengthOf(yield* onRecord("sandbox"), 1)
      yield* reset()
      assert.lengthOf(yield* onRecord("sandbox"), 0)
    }),
    prompt("acme")
  )
})

describe("the OnCarrierExchange hook", () => {
  const posting = carrier("acme", () =>
    send(
      HttpClientRequest.post("https://api.acme.example/quotes?name=Ada").pipe(
        HttpClientRequest.bodyJsonUnsafe({ name: "Ada" })
      ),
      offers(offer({ term_months: 7 }))
    )
  )
  testRecordedBy("receives each exchange's outcome without bodies, even if exchanges are not recorded", () => {
    const seen: Array<CarrierExchange> = []

    return {
      recording: { sandbox: "none", live: "none" },
      onExchange: (exchange) => seen.push(exchange),
      scripted: posting,
      body: Effect.gen(function* () {
        const id = yield* ask()
        assert.deepStrictEqual(
          seen.map(({ quote_request_id }) => `${quote_request_id}`),
          [id]
        )
        assert.deepInclude(seen[0], {
          exchange: "ask",
          carrier_id: "acme",
          outcome: "unavailable",
          reason: "unreadable_answer"
        })
        assert.deepStrictEqual(
          seen[0]?.broken_rules.map(({ path }) => path),
          ["offers.0.term_months"]
        )
        assert.deepInclude(seen[0]?.http[0], { host: "api.acme.example", path: "/quotes?name", status: 200 })
        assert.notInclude(JSON.stringify(seen), "Ada")
        assert.lengthOf(yield* onRecord(), 0)
      })
    }
  })

  const hidden = () => new EvalError("hidden")
  const failing: ReadonlyArray<readonly [how: string, onExchange: () => void]> = [
    [
      "throws",
      () => {
        throw hidden()
      }
    ],
    ["returns a promise that rejects", () => Promise.reject(hidden())]
  ]
  for (const [how, onExchange] of failing) {
    testRecorded(
      `does not affect the carrier's answer if it ${how}, and the log omits the error's message`,
      Effect.gen(function* () {
        const lines: Array<string> = []
        const logger = Logger.make(({ cause, fiber, message }) => {
          lines.push(
            `${String(message)} ${Cause.pretty(cause)} ${JSON.stringify(fiber.getRef(References.CurrentLogAnnotations))}`
          )
        })
        const id = yield* Effect.provideService(ask(), References.CurrentLoggers, new Set([logger]))
        const line = lines.find((one) => one.includes("OnCarrierExchange failed")) ?? assert.fail(lines.join())
        assert.include(line, "EvalError")
        assert.include(line, '"carrier_id":"acme"')
        assert.notInclude(line, "hidden")
        assert.deepStrictEqual(yield* outcomes(id), ["acme quoted"])
      }),
      prompt("acme"),
      { onExchange }
    )
  }
})

describe("an exchange whose record cannot be stored", () => {
  testInWorld(
    "does not prevent the carrier's answer from being used",
    Effect.gen(function* () {
      const id = yield* ask(30 * secondMs)
      assert.deepStrictEqual(yield* outcomes(id), ["acme quoted"])
    }),
    {
      ...carriers(polled("acme", 2)),
      surroundings: Layer.succeed(ExchangeRecording, all),
      around: (storage) => ({
        ...storage,
        page: (query) => (query.kind === StoredExchange.kind.name ? Effect.die("no pages") : storage.page(query))
      })
    }
  )
})

const measured = Effect.map(Metric.snapshot, (metrics) =>
  metrics
    .filter(({ id }) => id.startsWith("quotewire_carrier"))
    .map(({ attributes, id, state, type }) => {
      const count = type === "Counter" ? Number(state.count) : type === "Histogram" ? state.count : null
      const value = type === "Gauge" ? Number(state.value) : count
      return `${id} ${Object.values(attributes ?? {}).join(" ")}: ${value}`
    })
)
const metrics: Metric.MetricRegistry = new Map()
const apart = <A, E, R>(body: Effect.Effect<A, E, R>) => Effect.provideService(body, Metric.MetricRegistry, metrics)

describe("the carrier metrics", () => {
  testRecorded(
    "count and time exchanges by carrier, line, environment, outcome and reason",
    apart(
      Effect.gen(function* () {
        yield* ask(10 * secondMs)
        assert.includeMembers(yield* measured, [
          "quotewire_carrier_exchanges_total ask acme renters live unavailable timeout: 1",
          "quotewire_carrier_exchanges_total ask other renters live declined prior_claims: 1",
          "quotewire_carrier_exchange_duration_seconds ask acme renters: 1"
        ])
      })
    ),
    [silent("acme", { attempt_timeout_ms: secondMs, idempotent: false }), prompt("other", declined)]
  )
})

describe("an adapter call's span", () => {
  testRecordedBy("names the carrier, line, attempt and outcome, but contains no query values", () => {
    const spans: Array<{ readonly name: string; readonly attributes: ReadonlyMap<string, unknown> }> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })

    return {
      scripted: carrier("acme", () => send(HttpClientRequest.get("https://api.acme.example/quotes?name=Ada"))),
      body: Effect.gen(function* () {
        yield* Effect.withTracer(ask(), tracer)
        const span = spans.find(({ name }) => name === "carrier ask") ?? assert.fail()
        assert.deepInclude(Object.fromEntries(span.attributes), {
          carrier: "acme",
          line: "renters",
          attempt: 1,
          outcome: "offers"
        })
        assert.notInclude(JSON.stringify(spans.map(({ attributes, name }) => [name, ...attributes])), "Ada")
      })
    }
  })
})

describe("the HTTP client that a host has set", () => {
  testRecorded(
    "is used even by jobs that run in other fibers",
    Effect.gen(function* () {
      yield* start({})
      // The request waits for the carrier, which is asked as soon as jobs run.
      const advancing = yield* Effect.forkChild(advance(2))
      yield* TestClock.adjust(0)
      yield* runDue
      yield* Fiber.join(advancing)
      const [exchange] = yield* onRecord("sandbox")
      assert.strictEqual(exchange?.http[0]?.status, 200)
    }),
    carrier("acme", () => send(HttpClientRequest.get("https://api.acme.example/")))
  )
})
