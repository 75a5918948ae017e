import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { live, outcomes, pass, start, testInWorld, work } from "../support/world.ts"
import { carriers, prompt } from "./carriers.ts"
import { noting } from "./noting.ts"

describe("storage", () => {
  testInWorld("is changed once and not read during a start call", () => {
    const { around, count, since } = noting()
    return {
      ...carriers(prompt("acme")),
      around,
      body: Effect.gen(function* () {
        yield* start({}, live)
        const before = count()
        yield* start({}, live)
        assert.deepStrictEqual(since(before), {
          reads: [],
          changes: ["application consent quote_request request_key"]
        })
      })
    }
  })

  testInWorld("is changed three times for an ask, including two changes for the carrier's limits", () => {
    const { around, count, since } = noting()
    return {
      ...carriers(prompt("acme")),
      around,
      body: Effect.gen(function* () {
        const { id } = yield* start({}, live)
        const before = count()
        yield* work
        yield* pass(10)
        // The choice of carriers comes before the ask: it reads the same records, and is a change of its own.
        assert.deepStrictEqual(since(before), {
          reads: [
            ...["application", "application"],
            ...["carrier_health", "carrier_health", "carrier_health"],
            ...["quote_request", "quote_request"]
          ],
          changes: ["quote_request", "carrier_health", "carrier_health", "offer quote quote_request"]
        })
        assert.deepStrictEqual(yield* outcomes(id), ["acme quoted"])
      })
    }
  })
})
