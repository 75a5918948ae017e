import { assert, describe } from "@effect/vitest"
import { Clock, Effect } from "effect"
import type { MaintenanceWindow } from "../../src/carriers/Carrier.ts"
import { fromMillis } from "../../src/wire/Timestamp.ts"
import { carriers, offer, offers, prompt } from "../quoting/carriers.ts"
import { beginning, getQuote, live, outcomes, pass, read, start, testInWorld, work } from "../support/world.ts"

/** A maintenance window, in seconds after the beginning of the test. */
const window = (from: number, until: number): MaintenanceWindow => ({
  from: fromMillis(beginning + from * 1_000),
  until: fromMillis(beginning + until * 1_000)
})

describe("a carrier in maintenance", () => {
  testInWorld("is not asked if it reopens too late for the request, and the result has the reason maintenance", () => {
    const closed = prompt("closed", offers(), { maintenance: [window(-60, 3_600)] })
    const later = prompt("later", offers(), { maintenance: [window(60, 3_600)] })
    return {
      ...carriers(closed, later),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        assert.lengthOf(closed.asks, 0)
        assert.sameMembers(yield* outcomes(id), ["closed no_answer maintenance", "later quoted"])
      })
    }
  })

  testInWorld("is asked as soon as it reopens if enough time is left, even after two adjacent windows", () => {
    const opening = prompt("opening", offers(), {
      maintenance: [window(20, 40), window(-60, 20), window(600, 900)],
      typical_ms: 50_000
    })
    return {
      ...carriers(opening),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(39_900)
        assert.deepStrictEqual([yield* outcomes(id), opening.asks.length], [["opening pending"], 0])
        yield* pass(100)
        assert.deepStrictEqual(
          opening.asks.map(({ at }) => at),
          [beginning + 40_000]
        )
        assert.deepStrictEqual(yield* outcomes(id), ["opening quoted"])
      })
    }
  })

  testInWorld("is not asked if less than its usual response time is left when it reopens", () => {
    const slow = prompt("slow", offers(), { maintenance: [window(-60, 41)], typical_ms: 50_000 })
    return {
      ...carriers(slow),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        assert.deepStrictEqual(yield* outcomes(id), ["slow no_answer maintenance"])
      })
    }
  })

  testInWorld("is not polled for an accepted ask until it reopens", () => {
    const polls: Array<number> = []
    const closing = prompt(
      "polled",
      { kind: "pending", ref: "no. 1", poll_after_ms: 4_000 },
      {
        mode: "poll",
        maintenance: [window(3, 30)],
        rest: {
          poll: () =>
            Effect.map(Clock.currentTimeMillis, (at) => {
              polls.push(at)
              return offers()
            })
        }
      }
    )
    return {
      ...carriers(closing),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(29_900)
        assert.deepStrictEqual([polls, yield* outcomes(id)], [[], ["polled pending"]])
        yield* pass(10_000)
        assert.deepStrictEqual(yield* outcomes(id), ["polled quoted"])
      })
    }
  })

  testInWorld("is not asked to refresh an offer, and the quote stays active", () => {
    let refreshes = 0
    const lasting = prompt("lasting", offers(offer({ refresh_after_ms: 60_000 })), {
      maintenance: [window(30, 3_600)],
      rest: {
        refresh: () =>
          Effect.sync(() => {
            refreshes++
            return { kind: "withdrawn" }
          })
      }
    })
    return {
      ...carriers(lasting),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(120_000)
        const [quote] = (yield* read(id, live)).quotes
        assert.strictEqual(refreshes, 0)
        assert.strictEqual((yield* getQuote(quote?.id ?? "", undefined, live)).status, "active")
      })
    }
  })
})
