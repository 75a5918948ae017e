import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import type { CarrierRefresh, CarrierReply } from "../../src/carriers/Carrier.ts"
import { Quotes } from "../../src/quoting/Quotes.ts"
import { type Character, carrier, carriers, offer, offers, prompt } from "../quoting/carriers.ts"
import { beginning, live, outcomes, pass, read, runDue, start, testInWorld, work } from "../support/world.ts"

const seconds = Effect.map(Clock.currentTimeMillis, (now) => (now - beginning) / 1_000)

/** A carrier that accepts each ask immediately, answers the first poll, and records when it was called. */
const accepting = (character: Character) => {
  const polls: Array<number> = []
  const scripted = carrier(
    "accepts",
    (_, nth) => Effect.succeed<CarrierReply>({ kind: "pending", ref: `no. ${nth}`, poll_after_ms: 4_000 }),
    {
      ...character,
      mode: "poll",
      rest: {
        poll: () =>
          Effect.map(seconds, (at) => {
            polls.push(at)
            return offers()
          })
      }
    }
  )
  return { ...scripted, polls }
}

describe("a carrier's limits", () => {
  testInWorld(
    "end an ask as rate_limited once too little time is left, even before its first attempt",
    Effect.gen(function* () {
      const started = yield* Effect.forEach(["first", "second"], () => start({}, live))
      yield* runDue
      yield* runDue
      yield* pass(89_900)
      yield* runDue
      const found = yield* Effect.forEach(started, ({ id }) => outcomes(id))
      assert.sameMembers(found.flat(), ["rationed quoted", "rationed no_answer rate_limited"])
    }),
    carriers(prompt("rationed", offers(), { rate_per_minute: 1 }))
  )

  testInWorld("make a poll wait for the next minute if asks have used up the current minute's calls", () => {
    const rationed = accepting({ rate_per_minute: 3 })
    return {
      ...carriers(rationed),
      body: Effect.gen(function* () {
        yield* work
        const started = yield* Effect.forEach(["first", "second"], () => start({}, live))
        yield* pass(59_900)
        assert.lengthOf(rationed.asks, 2)
        assert.lengthOf(rationed.polls, 1)
        yield* pass(1_000)
        assert.lengthOf(rationed.polls, 2)
        for (const { id } of started) assert.deepStrictEqual(yield* outcomes(id), ["accepts quoted"])
      })
    }
  })

  testInWorld("count polls, so that a later ask must wait", () => {
    const rationed = accepting({ rate_per_minute: 2 })
    return {
      ...carriers(rationed),
      body: Effect.gen(function* () {
        yield* work
        yield* start({}, live)
        yield* pass(5_000)
        assert.lengthOf(rationed.polls, 1)
        yield* start({}, live)
        yield* pass(50_000)
        assert.lengthOf(rationed.asks, 1)
        yield* pass(6_000)
        assert.lengthOf(rationed.asks, 2)
      })
    }
  })

  testInWorld("make a refresh wait until the carrier has answered other calls", () => {
    const refreshed: Array<number> = []
    const withdrawn: CarrierRefresh = { kind: "withdrawn" }
    const narrow = carrier(
      "narrow",
      (_, nth) => Effect.delay(Effect.succeed(offers(offer({ refresh_after_ms: 60_000 }))), nth === 1 ? 0 : 10_000),
      {
        max_concurrent: 1,
        rest: {
          refresh: () =>
            Effect.map(seconds, (at) => {
              refreshed.push(at)
              return withdrawn
            })
        }
      }
    )
    return {
      ...carriers(narrow),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(56_000)
        yield* start({}, live)
        yield* pass(9_000)
        assert.lengthOf(narrow.asks, 2)
        assert.lengthOf(refreshed, 0)
        yield* Effect.repeat(pass(500), { times: 5 })
        assert.lengthOf(refreshed, 1)
        assert.strictEqual((yield* read(id, live)).quotes[0]?.status, "inactive")
      })
    }
  })

  testInWorld("never refuse a click, but count it, so that a later ask must wait", () => {
    const links: Array<number> = []
    const rationed = prompt("rationed", offers(offer({ expires_at: null })), {
      rate_per_minute: 2,
      rest: {
        handoff: () =>
          Effect.map(seconds, (at) => {
            links.push(at)
            return `https://carrier.example/resume/${links.length}`
          })
      }
    })
    return {
      ...carriers(rationed),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        const [quote] = (yield* read(id, live)).quotes
        const path = quote?.next_actions.find(({ type }) => type === "continue_on_carrier_site")?.redirect_path
        const quotes = yield* Quotes
        const click = quotes.go(String(path).replace("/go/", ""))
        for (const nth of [1, 2, 3]) {
          const clicked = yield* Effect.forkChild(click)
          yield* pass(10)
          const there = yield* Fiber.join(clicked)
          assert.deepStrictEqual(there, { _tag: "redirect", url: `https://carrier.example/resume/${nth}` })
        }
        yield* start({}, live)
        yield* pass(50_000)
        assert.lengthOf(rationed.asks, 1)
        yield* pass(11_000)
        assert.lengthOf(rationed.asks, 2)
      })
    }
  })
})
