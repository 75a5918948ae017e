import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import { layer } from "./support/agents.ts"
import { measured } from "./support/journey.ts"

describe("what a model has to read, in tokens of four characters", () => {
  it.effect("is under 3,000 for the tools without a key and 6,000 with one, and under 8,000 for a journey", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(DateTime.toEpochMillis(DateTime.makeUnsafe("2026-11-20T12:00:00Z")))
      const { journey, lists } = yield* measured
      assert.isBelow(lists.keyless, 3_000)
      assert.isBelow(lists.server, 6_000)
      assert.isAtLeast(journey.length, 9)
      assert.isBelow(
        journey.reduce((sum, { structured }) => sum + structured, 0),
        8_000
      )
    }).pipe(Effect.provide(layer()))
  )
})
