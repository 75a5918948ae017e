import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Json from "../../src/wire/Json.ts"

/** The same value, with the members of every object in reverse order. */
const reversed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, reversed(member)])
  )
}

describe("a value's canonical text", () => {
  it("is the same for every member order, and contains all members", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = Json.canonical(value)
        assert.strictEqual(Json.canonical(reversed(value)), text)
        assert.deepStrictEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)))
      })
    )
  })

  it("sorts members by name, whether few or many", () => {
    for (const count of [0, 1, 2, 15, 16, 17, 200]) {
      const names = Array.from({ length: count }, (_, i) => `n${String((i * 7) % 211).padStart(3, "0")}`)
      const value = Object.fromEntries(names.map((name) => [name, 1]))
      assert.deepStrictEqual(Object.keys(JSON.parse(Json.canonical(value))), [...names].sort())
    }
  })

  it("includes members named __proto__ and constructor", () => {
    const sent: unknown = JSON.parse('{"b":1,"__proto__":{"a":2},"constructor":3}')
    assert.strictEqual(Json.canonical(sent), '{"__proto__":{"a":2},"b":1,"constructor":3}')
  })
})
