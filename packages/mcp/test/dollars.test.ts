import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Dollars from "../src/answers/Dollars.ts"

const intl = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" })

describe("a price in a tool result", () => {
  it("is formatted in US dollars", () => {
    fc.assert(
      fc.property(fc.integer({ min: -99, max: 10_000_000_000 }), (cents) => {
        assert.strictEqual(Dollars.format(cents), intl.format(cents / 100))
      }),
      { examples: [[0], [5], [99], [100], [99_999], [100_000], [123_456_789]] }
    )
  })
})
