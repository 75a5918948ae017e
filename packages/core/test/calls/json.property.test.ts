import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Json from "../../src/wire/Json.ts"

/** Text with everything in it that JSON has a meaning for. */
const text = fc.oneof(
  fc.string({
    unit: fc.constantFrom('"', "\\", "{", "}", "[", "]", ",", ":", "\n", "\u0000", "a", "é", "漢", "\ud83d")
  }),
  fc.string({ unit: "binary" })
)
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    text,
    fc.constantFrom(null, true, 0, -1.5e-9, [], {}),
    fc.array(tie("value")),
    fc.dictionary(text, tie("value"))
  )
}))

/** Whether JSON writes a name as it is. */
const isPlain = (name: string): boolean => JSON.stringify(name) === `"${name}"`

const named = fc.tuple(fc.dictionary(text, value), fc.dictionary(fc.stringMatching(/^[a-c]{1,2}$/), value))

describe("members that are picked out of an encoded object", () => {
  it("are what a decoding of the whole gives, those that are not there left out", () => {
    let picked = 0
    fc.assert(
      fc.property(named, fc.array(fc.boolean()), ([others, members], isWanted) => {
        const whole: Record<string, unknown> = Json.decode(Json.encode({ ...others, ...members }))
        const wanted = [...Object.keys(whole).filter((name, at) => isWanted[at] === true && isPlain(name)), "not there"]
        const found = Json.pick(Json.encode(whole), wanted)
        assert.deepStrictEqual(
          found,
          Object.fromEntries(Object.entries(whole).filter(([name]) => wanted.includes(name)))
        )
        picked += Object.keys(found).length
      })
    )
    assert.isAbove(picked, 0)
  })

  it("are not taken for those of the same name inside others, nor for what stands in a text", () => {
    const json = Json.encode({ a: '","b":1,"\\', inner: { b: 2, list: [{ b: 3 }] }, '"b': 4, b: 5, c: 6 })
    assert.deepStrictEqual(Json.pick(json, ["b"]), { b: 5 })
    assert.deepStrictEqual(Json.pick(json, ["c", "a"]), { a: '","b":1,"\\', c: 6 })
    assert.deepStrictEqual(Json.pick(json, []), {})
  })

  it("come to an end with the text, also where it is cut off", () => {
    assert.deepStrictEqual(Json.pick(Json.fromText<{ readonly a?: number }>("{}"), ["a"]), {})
    for (const broken of ['{"a', '{"a"', '{"a":"1', '{"a":[1,2']) {
      assert.throws(() => Json.pick(Json.fromText<{ readonly a: unknown }>(broken), ["a"]), SyntaxError)
    }
  })
})

describe("an encoded value", () => {
  it("holds a member that an object in it has, and none that a text only speaks of", () => {
    const membersOf = (value: unknown): ReadonlyArray<string> => {
      if (typeof value !== "object" || value === null) return []
      const own = Array.isArray(value) ? [] : Object.entries(value).map((member) => JSON.stringify(member))
      return [...own, ...Object.values(value).flatMap(membersOf)]
    }
    const few = fc.constantFrom("a", "b", 'x"a', '{"a":"b"', '"a":"b"', "a\\")
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof({ depthSize: "small" }, few, fc.array(tie("value")), fc.dictionary(few, tie("value")))
    }))
    const seen = new Set<boolean>()
    fc.assert(
      fc.property(value, few, few, (value, name, text) => {
        const whole: unknown = Json.decode(Json.encode(value))
        const holds = membersOf(whole).includes(JSON.stringify([name, text]))
        assert.strictEqual(Json.holds(Json.encode(whole), name, text), holds)
        seen.add(holds)
      }),
      { numRuns: 2_000 }
    )
    assert.deepStrictEqual([...seen].sort(), [false, true])
  })
})

describe("encoded text as a string of JSON", () => {
  it("is what JSON itself would write, whatever stands in it", () => {
    fc.assert(
      fc.property(value, (value) => {
        const json = Json.encode(value)
        assert.strictEqual(Json.quoted(json), JSON.stringify(json.text))
      })
    )
  })

  it("is so at every length, also beyond the room that is kept for it", () => {
    for (const length of [0, 1, 32_765, 32_766, 32_767, 70_000]) {
      for (const letter of ["a", '"', "\\", "漢"]) {
        const json = Json.encode(letter.repeat(length))
        assert.strictEqual(Json.quoted(json), JSON.stringify(json.text))
      }
    }
  })
})
