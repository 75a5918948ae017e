import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { advance, live, outcomes, pass, read, start, testInWorld, work } from "../support/world.ts"
import { carrier, carriers, offers, prompt, unavailable } from "./carriers.ts"

describe("a carrier's circuit", () => {
  testInWorld("opens for a minute when half of 20 asks were errors", () => {
    const sick = carrier("sick", (_, nth) => Effect.succeed(nth % 2 === 0 ? unavailable("maintenance") : offers()))
    const well = prompt("well")
    return {
      ...carriers(sick, well),
      body: Effect.gen(function* () {
        yield* work
        for (let i = 0; i < 20; i++) {
          yield* start({}, live)
          yield* pass(10)
        }
        assert.lengthOf(sick.asks, 20)
        const during = yield* start({}, live)
        yield* pass(59_000)
        assert.deepStrictEqual(yield* outcomes(during.id), ["sick not_asked circuit_open", "well quoted"])
        yield* pass(1_000)
        const after = yield* start({}, live)
        yield* pass(10)
        assert.deepStrictEqual(yield* outcomes(after.id), ["sick quoted", "well quoted"])
      })
    }
  })

  testInWorld("closes only after a successful ask", () => {
    const sick = carrier("sick", (_, nth) => Effect.succeed(nth === 22 ? offers() : unavailable("maintenance")), {
      idempotent: false
    })
    return {
      ...carriers(sick),
      body: Effect.gen(function* () {
        yield* work
        const asksNext = Effect.gen(function* () {
          const before = sick.asks.length
          yield* start({}, live)
          yield* pass(10)
          return sick.asks.length > before
        })
        yield* Effect.repeat(asksNext, { times: 19 })
        assert.isFalse(yield* asksNext)
        yield* pass(60_000)
        assert.isTrue(yield* asksNext)
        assert.isFalse(yield* asksNext)
        yield* pass(60_000)
        assert.isTrue(yield* asksNext)
        assert.isTrue(yield* asksNext)
      })
    }
  })

  testInWorld("stays closed while fewer than half the asks are errors", () => {
    const mostly = carrier("mostly", (_, nth) => Effect.succeed(nth % 5 < 2 ? unavailable("maintenance") : offers()))
    return {
      ...carriers(mostly),
      body: Effect.gen(function* () {
        yield* work
        for (let i = 0; i < 45; i++) {
          yield* start({}, live)
          yield* pass(10)
        }
        assert.lengthOf(mostly.asks, 45)
      })
    }
  })

  testInWorld("uses real time, even in a sandbox whose clock is ahead", () => {
    const sick = prompt("sick", unavailable("maintenance"))
    return {
      ...carriers(sick),
      body: Effect.gen(function* () {
        yield* advance(3_600)
        yield* work
        for (let i = 0; i < 20; i++) {
          yield* start()
          yield* pass(1_010)
        }
        assert.lengthOf(sick.asks, 20)
        const { id } = yield* start()
        yield* pass(1_010)
        assert.strictEqual((yield* read(id)).quote_request.carriers[0]?.reason, "circuit_open")
      })
    }
  })

  testInWorld("is separate for each line", () => {
    const sick = prompt("sick", unavailable("maintenance"))
    return {
      ...carriers(sick),
      body: Effect.gen(function* () {
        yield* work
        for (let i = 0; i < 20; i++) {
          yield* start({ line: "renters" }, live)
          yield* pass(10)
        }
        const other = yield* start({ line: "pet" }, live)
        yield* pass(10)
        assert.deepStrictEqual(yield* outcomes(other.id), ["sick no_answer maintenance"])
        const same = yield* start({ line: "renters" }, live)
        yield* pass(10)
        assert.strictEqual((yield* read(same.id, live)).quote_request.status_details.reason, "no_carrier_available")
      })
    }
  })
})
