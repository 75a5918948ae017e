import { assert, describe } from "@effect/vitest"
import { Effect, Layer, Metric } from "effect"
import { Access } from "../../src/access/Access.ts"
import type { CarrierStatus } from "../../src/carriers/health/CarrierStatus.ts"
import { Circuits } from "../../src/carriers/health/Circuits.ts"
import { World } from "../../src/testing/World.ts"
import { Timelines } from "../../src/timeline/Timelines.ts"
import { measured } from "../measured.ts"
import { carrier, carriers, offers, prompt, unavailable } from "../quoting/carriers.ts"
import * as Log from "../quoting/log.ts"
import { live, outcomes, pass, start, testInWorld, work } from "../support/world.ts"
import { appointing, given, refusal, set } from "./support.ts"

/** Starts requests one after the other. */
const startMany = (count: number) =>
  Effect.gen(function* () {
    let id = ""
    for (let i = 0; i < count; i++) {
      id = (yield* start({}, live)).id
      yield* pass(10)
    }
    return id
  })

/** Fails 21 asks, and then answers. */
const ailing = () =>
  carrier(
    "ailing",
    (_, nth) => Effect.succeed(nth > 21 ? offers() : unavailable(nth % 4 === 0 ? "timeout" : "carrier_error")),
    { idempotent: false }
  )

/** The entries of a timeline about circuits. */
const told = (id: string) =>
  Effect.map(
    Effect.flatMap(Timelines, (timelines) => timelines.read(id)),
    ({ entries }) => entries.flatMap((entry) => (entry.what === "circuit" ? [entry.details] : []))
  )

const status = (options = {}) =>
  Effect.map(
    Effect.flatMap(Circuits, (circuits) => circuits.status(options)),
    ({ carriers }) => carriers
  )

describe("a circuit change", () => {
  testInWorld(
    "is logged once for all hosts, with the carrier, the line, the reason and the duration",
    Effect.gen(function* () {
      const lines = yield* Log.logOf(
        Effect.gen(function* () {
          yield* work
          yield* startMany(21)
          yield* pass(60_000)
          yield* startMany(2)
          yield* pass(60_000)
          yield* startMany(1)
        })
      )
      const of = { carrier_id: "ailing", line: "renters", environment: "live" }
      const opened = Log.single(lines, "A carrier's circuit opened; the carrier is not asked").annotations
      assert.include(opened, { ...of, open_for_seconds: 60, why: "20 of 20 asks failed: carrier_error 15, timeout 5" })
      const stays = Log.single(lines, "A carrier's circuit stays open; the carrier is not asked").annotations
      assert.include(stays, { ...of, open_for_seconds: 60, why: "The trial ask failed: carrier_error" })
      const closed = Log.single(lines, "A carrier's circuit closed; the carrier is asked again").annotations
      assert.include(closed, { ...of, was_open_seconds: 120, why: "The trial ask was answered" })
    }),
    carriers(ailing())
  )

  const registry = new Map()
  testInWorld(
    "is counted by carrier, line and environment",
    Effect.provideService(
      Effect.gen(function* () {
        const labels = "carrier=ailing line=renters environment=live"
        const circuits = Effect.map(measured, (all) => all.filter((one) => one.includes("circuit")))
        yield* work
        yield* startMany(20)
        assert.sameMembers(yield* circuits, [
          `quotewire_carrier_circuits_open ${labels}: 1`,
          `quotewire_carrier_circuit_changes_total ${labels} change=opened: 1`
        ])
        yield* pass(60_000)
        yield* startMany(1)
        yield* pass(60_000)
        yield* startMany(1)
        assert.sameMembers(yield* circuits, [
          `quotewire_carrier_circuits_open ${labels}: 0`,
          `quotewire_carrier_circuit_changes_total ${labels} change=opened: 1`,
          `quotewire_carrier_circuit_changes_total ${labels} change=stays_open: 1`,
          `quotewire_carrier_circuit_changes_total ${labels} change=closed: 1`
        ])
      }),
      Metric.MetricRegistry,
      registry
    ),
    { ...carriers(ailing()), surroundings: Layer.succeed(Metric.MetricRegistry, registry) }
  )

  testInWorld(
    "appears in the timelines of the requests that caused the change or were affected by it",
    Effect.gen(function* () {
      yield* work
      const harmless = yield* startMany(19)
      const opened = yield* startMany(1)
      const keptOut = yield* startMany(1)
      yield* pass(60_000)
      const tried = yield* startMany(1)
      yield* pass(60_000)
      const closed = yield* startMany(1)
      assert.deepStrictEqual(yield* told(harmless), [])
      const opening = (yield* told(opened))[0] ?? assert.fail()
      assert.include(opening, {
        carrier_id: "ailing",
        circuit: "opened",
        why: "20 of 20 asks failed: carrier_error 15, timeout 5"
      })
      assert.deepStrictEqual(yield* told(keptOut), [{ ...opening, circuit: "kept_out" }])
      assert.include((yield* told(tried))[0] ?? assert.fail(), { circuit: "stays_open", since: opening.since })
      assert.include((yield* told(closed))[0] ?? assert.fail(), {
        circuit: "closed",
        since: opening.since,
        until: null
      })
    }),
    carriers(ailing())
  )
})

describe("the carriers' status", () => {
  testInWorld(
    "shows each line's circuit, latest outcomes and remaining limits per environment",
    Effect.gen(function* () {
      yield* work
      yield* startMany(3)
      const all = yield* status()
      assert.lengthOf(all, 6)
      const known = { carrier_id: "ailing", line: "renters", environment: "live", organization_id: null } as const
      const expected: CarrierStatus = {
        ...known,
        circuit: "closed",
        since: null,
        until: null,
        why: null,
        outcomes: ["carrier_error", "carrier_error", "carrier_error"],
        in_flight: 0,
        max_concurrent: 1_000,
        rate_left: 997,
        rate_per_minute: 1_000
      }
      assert.deepInclude(all, expected)
      yield* startMany(17)
      const [open, ...others] = (yield* status()).filter(({ circuit }) => circuit === "open")
      assert.lengthOf(others, 0)
      assert.include(open ?? assert.fail(), { ...known, why: "20 of 20 asks failed: carrier_error 15, timeout 5" })
      assert.strictEqual(Date.parse(open?.until ?? "") - Date.parse(open?.since ?? ""), 60_000)
      yield* pass(60_000)
      assert.deepStrictEqual(
        (yield* status({ carrier_id: "ailing" })).flatMap(({ circuit }) => (circuit === "closed" ? [] : [circuit])),
        ["half_open"]
      )
      assert.strictEqual((yield* refusal(status({ carrier_id: "nobody" }))).field_errors?.[0]?.path, "carrier_id")
    }),
    carriers(ailing())
  )

  testInWorld("has one entry per connection, and can be limited to one organization", () => {
    const failing = appointing({}, { idempotent: false })
    return {
      ...carriers(failing),
      body: Effect.gen(function* () {
        const { organization } = yield* World
        const other = yield* Effect.flatMap(Access, (access) => access.createOrganization("Another agency"))
        yield* set(given)
        yield* set(given, { organization_id: other.id })
        const whose = (options = {}) =>
          Effect.map(status(options), (all) => new Set(all.map(({ organization_id }) => organization_id)))
        assert.deepStrictEqual(yield* whose(), new Set([organization.id, other.id]))
        assert.deepStrictEqual(yield* whose({ organization_id: other.id }), new Set([other.id]))
      })
    }
  })
})

describe("an operator", () => {
  const sick = prompt("sick", unavailable("carrier_error"), { idempotent: false })
  testInWorld(
    "can close a carrier's circuit, and the carrier is asked immediately",
    Effect.gen(function* () {
      yield* work
      yield* startMany(20)
      const reset = Effect.flatMap(Circuits, (circuits) => circuits.reset({ carrier_id: "sick", line: "renters" }))
      const lines = yield* Log.logOf(
        Effect.gen(function* () {
          const closed = yield* reset
          assert.deepStrictEqual(
            closed.map(({ circuit, environment, outcomes }) => [circuit, environment, outcomes]),
            [["closed", "live", []]]
          )
          assert.deepStrictEqual(yield* reset, [])
        })
      )
      const { annotations } = Log.single(lines, "A carrier's circuit closed; the carrier is asked again")
      assert.include(annotations, { carrier_id: "sick", line: "renters", why: "Closed by an operator" })
      assert.deepStrictEqual(yield* outcomes(yield* startMany(1)), ["sick no_answer carrier_error"])
      const wrong = (which: object) =>
        Effect.map(
          refusal(Effect.flatMap(Circuits, (circuits) => circuits.reset({ carrier_id: "sick", ...which }))),
          ({ field_errors }) => field_errors?.[0]?.path
        )
      assert.strictEqual(yield* wrong({ line: "boats" }), "line")
      assert.strictEqual(yield* wrong({ organization_id: (yield* World).organization.id }), "organization_id")
    }),
    carriers(sick)
  )
})
