import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import { beginning, pass, read, start, work, world } from "../support/world.ts"
import { advanceInRealTime, connected, kinds } from "./realTime.ts"

const story = fc.record({
  /** How long each kind of carrier takes. */
  times: fc.array(fc.integer({ min: 0, max: 9_000 }), {
    minLength: Object.keys(kinds).length,
    maxLength: Object.keys(kinds).length
  }),
  steps: fc.array(
    fc.oneof(
      { weight: 2, arbitrary: fc.constant({ starts: true } as const) },
      { weight: 1, arbitrary: fc.record({ passes_ms: fc.integer({ min: 1, max: 2_500 }) }) },
      { weight: 4, arbitrary: fc.record({ advances: fc.integer({ min: 1, max: 60 }) }) }
    ),
    { minLength: 3, maxLength: 10 }
  ),
  /** How far the last advance goes: far enough for everything to end. */
  leap: fc.integer({ min: 60, max: 3_600 })
})
type Story = typeof story extends fc.Arbitrary<infer S> ? S : never

const play = ({ leap, steps, times }: Story) => {
  const carriers = Object.entries(kinds).map(([name, make], place) => make(name, times[place] ?? 0))
  return Effect.gen(function* () {
    yield* TestClock.setTime(beginning)
    yield* work
    yield* connected(carriers)
    const ids: Array<string> = []
    const begin = Effect.map(start(), ({ id }) => ids.push(id))
    yield* begin
    for (const step of steps) {
      if ("starts" in step) yield* begin
      else if ("passes_ms" in step) yield* pass(step.passes_ms)
      else yield* advanceInRealTime(step.advances)
    }
    yield* advanceInRealTime(leap)
    const reads = yield* Effect.forEach(ids, (id) => read(id))
    const results = reads.flatMap(({ quote_request }) => quote_request.carriers)
    return carriers.map((carrier) => {
      const own = results.filter((result) => result.carrier.id === carrier.adapter.carrier.id)
      const tries = carrier.asks.map(({ ask }) => `${ask.idempotency_key} ${ask.attempt}`)
      const isHedged = Object.values(carrier.adapter.lines).some(({ hedge_after_ms }) => hedge_after_ms !== null)
      return {
        carrier: carrier.adapter.carrier.id,
        open: own.filter(({ outcome }) => outcome === "pending").length,
        lost_offers: carrier.offered() - own.filter(({ outcome }) => outcome === "quoted").length,
        asked_twice: isHedged ? 0 : tries.length - new Set(tries).size,
        not_asked:
          own.filter(({ asked_at }) => asked_at !== null).length -
          new Set(carrier.asks.map(({ ask }) => ask.idempotency_key)).size,
        early: carrier.early
      }
    })
  }).pipe(Effect.provide(world({ carriers: carriers.map(({ adapter }) => adapter) })), Effect.scoped)
}

describe("an advance with real carriers", () => {
  it.effect("loses no offer, and asks no carrier twice or too early", () =>
    Effect.gen(function* () {
      for (const told of fc.sample(story, { numRuns: 12, seed: 28 })) {
        for (const found of yield* play(told)) {
          const fine = { carrier: found.carrier, open: 0, lost_offers: 0, asked_twice: 0, not_asked: 0, early: [] }
          assert.deepStrictEqual(found, fine, JSON.stringify(told))
        }
      }
    })
  )
})
