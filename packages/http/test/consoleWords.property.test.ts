import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { count, duration, money, shortId, visible } from "../console/words/format.ts"

describe("the console's text", () => {
  it("never shows a hidden or bidirectional character from data, and keeps all other text", () => {
    const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        assert.notMatch(visible(text), hidden)
        if (!hidden.test(text)) assert.strictEqual(visible(text), text)
      })
    )
  })

  it("shows money to the cent, and never shows an unknown amount as zero", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 100_000_000 }), (cents) => {
        const [dollars = "", rest = "00"] = money({ amount_minor: cents }).replaceAll(/[$,]/g, "").split(".")
        assert.strictEqual(Number(dollars) * 100 + Number(rest), cents)
      })
    )
    assert.strictEqual(money(null), "unknown")
  })

  it("formats every duration and count, and shortens IDs only in the middle", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), (ms) => {
        assert.match(duration(ms), /^[\d.]+ (?:ms|s|min|h|days)$/)
        assert.match(count(ms, "event"), ms === 1 ? /^1 event$/ : /^[\d,]+ events$/)
      })
    )
    fc.assert(
      fc.property(fc.string({ minLength: 19 }), (id) => {
        const [head = "", tail = ""] = shortId(id).split("…")
        assert.isTrue(id.startsWith(head) && id.endsWith(tail))
      })
    )
  })
})
