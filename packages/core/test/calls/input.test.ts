import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { maxDepth, reader, wholeNumber } from "../../src/wire/Input.ts"

const Thing = Schema.Struct({
  name: Schema.String,
  count: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 }))),
  color: Schema.optionalKey(Schema.Literals(["red", "green"])),
  parts: Schema.optionalKey(Schema.Array(Schema.Struct({ size: Schema.Int }))),
  words: Schema.optionalKey(Schema.Array(Schema.String.check(Schema.isPattern(/^[a-z]+$/)))),
  anything: Schema.optionalKey(Schema.Unknown)
})
const read = reader(Thing)

const errorsOf = (input: unknown) => {
  const result = read(input)
  return Result.isFailure(result) ? (result.failure.field_errors ?? []) : assert.fail("was accepted")
}
const pathsOf = (input: unknown) => errorsOf(input).map(({ path }) => path)

/** Nested lists or objects, this many levels deep. */
const nested = (levels: number, wrap: (inner: unknown) => unknown) => {
  let value: unknown = 1
  for (let i = 0; i < levels; i++) value = wrap(value)
  return value
}

describe("input validation", () => {
  it("returns valid input unchanged", () => {
    const input = { name: "n", count: 5, color: "red", parts: [{ size: 1 }], anything: { a: [null] } } as const
    assert.deepStrictEqual(Result.getOrThrow(read(input)), input)
  })

  it("reports every wrong field at its path, with dots and zero-based indexes", () => {
    assert.sameMembers(
      [...pathsOf({ count: 9, color: "blue", parts: [{ size: 1 }, { size: "x" }, {}], surprise: 1 })],
      ["name", "count", "color", "parts.1.size", "parts.2.size", "surprise"]
    )
  })

  it("lists allowed values for an invalid choice, but not for an unknown field", () => {
    const [color] = errorsOf({ name: "n", color: "blue" })
    assert.deepStrictEqual(color?.allowed_values, ["red", "green"])
    const [surprise] = errorsOf({ name: "n", surprise: 1 })
    assert.deepStrictEqual(surprise, { path: "surprise", message: "This field is not known." })
    assert.deepStrictEqual(errorsOf({}), [{ path: "name", message: "This field is required." }])
  })

  it("reports the allowed values of a missing choice", () => {
    const chosen = reader(Schema.Struct({ color: Schema.Literals(["red", "green"]), size: Schema.Int }))
    const result = chosen({})
    assert.deepStrictEqual(Result.isFailure(result) && result.failure.field_errors, [
      { path: "color", message: "This field is required.", allowed_values: ["red", "green"] },
      { path: "size", message: "This field is required." }
    ])
  })

  it("reports the fields of a missing object, with true and false as a boolean's allowed values", () => {
    const nested = reader(Schema.Struct({ place: Schema.Struct({ name: Schema.String, open: Schema.Boolean }) }))
    const result = nested({})
    assert.deepStrictEqual(Result.isFailure(result) && result.failure.field_errors, [
      { path: "place.name", message: "This field is required." },
      { path: "place.open", message: "This field is required.", allowed_values: ["true", "false"] }
    ])
  })

  it("treats an undefined field as missing", () => {
    assert.deepStrictEqual(
      Result.getOrThrow(read({ name: "n", count: undefined, parts: [{ size: 1, x: undefined }] })),
      {
        name: "n",
        parts: [{ size: 1 }]
      }
    )
    assert.deepStrictEqual(errorsOf({ name: undefined }), [{ path: "name", message: "This field is required." }])
  })

  it("reports the allowed range of a number that is too large, fractional or sent as text", () => {
    const counted = reader(Schema.Struct({ count: wholeNumber(1, 5) }))
    const messageOf = (count: unknown) => {
      const result = counted({ count })
      return Result.isFailure(result) ? result.failure.field_errors?.map(({ message }) => message) : []
    }
    for (const count of [0, 6, "1", null]) {
      assert.deepStrictEqual(messageOf(count), ["Must be a whole number from 1 to 5."], String(count))
    }
    assert.deepStrictEqual(messageOf(1.5), ["Must be an integer."])
  })

  it("reports a NUL character together with other wrong fields", () => {
    assert.sameMembers([...pathsOf({ name: "n\0", count: 9, surprise: 1 })], ["name", "count", "surprise"])
  })

  it("never repeats the input in a message", () => {
    const secret = "SECRET-4242424242424242"
    const wrong = { name: [secret], count: secret, color: secret, parts: secret, anything: 1 }
    assert.notInclude(JSON.stringify(errorsOf(wrong)), "SECRET")
    assert.notInclude(JSON.stringify(errorsOf({ name: `${secret}\0` })), "SECRET")
    assert.notInclude(JSON.stringify(errorsOf(secret)), "SECRET")
  })

  it("rejects input that is not an object", () => {
    for (const input of [null, undefined, 1, "text", [], true]) assert.isNotEmpty(errorsOf(input))
  })

  it("rejects a BigInt, because JSON has no such type", () => {
    const errors = errorsOf({ name: "n", count: 1n, anything: { deep: [1, 2n] } })
    assert.deepStrictEqual(
      errors.map(({ path, message }) => [path, message]),
      [
        ["count", "Must be a number, not a BigInt."],
        ["anything.deep.1", "Must be a number, not a BigInt."]
      ]
    )
  })

  it("rejects NUL or an unpaired surrogate in any text or name", () => {
    for (const bad of ["\0", "a\0b", "\ud800", "\udc00 first", "end \ud83d"]) {
      assert.deepStrictEqual(pathsOf({ name: bad }), ["name"])
      assert.deepStrictEqual(pathsOf({ name: "n", anything: { deep: [1, { er: bad }] } }), ["anything.deep.1.er"])
      assert.deepStrictEqual(pathsOf({ name: "n", anything: { [bad]: 1 } }), ["anything"])
    }
    assert.isTrue(Result.isSuccess(read({ name: "\u{1F600} ü", anything: { "\u{1F600}": "\u{10FFFF}" } })))
  })

  it("rejects input nested deeper than 32 levels without reading any deeper", () => {
    for (const wrap of [(inner: unknown) => [inner], (inner: unknown) => ({ a: inner })]) {
      assert.isTrue(Result.isSuccess(read({ name: "n", anything: nested(maxDepth - 1, wrap) })))
      assert.lengthOf(errorsOf({ name: "n", anything: nested(maxDepth, wrap) }), 1)
      assert.lengthOf(errorsOf({ name: "n", anything: nested(20_000, wrap) }), 1)
    }
  })

  it("reports the first hundred wrong fields and counts the rest, wherever they are", () => {
    const many = Object.fromEntries(Array.from({ length: 4_012 }, (_, i) => [`surprise_${i}`, i]))
    const items = (item: unknown) => Array.from({ length: 4_012 }, () => item)
    const full: ReadonlyArray<readonly [string, object]> = [
      ["unknown fields", { name: "n", ...many }],
      ["nested unknown fields", { name: "n", parts: [{ size: 1, ...many }] }],
      ["items with one value", { name: "n", words: items(7) }],
      ["items with distinct values", { name: "n", words: Array.from({ length: 4_012 }, (_, i) => `W${i}`) }],
      ["wrong items among valid ones", { name: "n", words: items("W").flatMap((item) => ["right", item]) }],
      ["text that no storage can hold", { name: "n", anything: items("\0") }]
    ]
    for (const [says, input] of full) {
      const errors = errorsOf(input)
      assert.lengthOf(errors, 101, says)
      assert.strictEqual(new Set(errors.map(({ path }) => path)).size, 101, says)
      assert.deepStrictEqual(errors.at(-1), { path: "", message: "… and 3,912 more wrong fields." }, says)
    }
  })

  it("lists all errors, without a count, if exactly a hundred fields are wrong", () => {
    const errors = errorsOf({ name: "n", words: Array.from({ length: 100 }, () => "W") })
    assert.lengthOf(errors, 100)
    assert.strictEqual(errors.at(-1)?.path, "words.99")
  })

  it("takes linear time, however many items are wrong", () => {
    let looks = 0
    const Word = Schema.String.check(
      Schema.makeFilter((text: string) => {
        looks += 1
        return text.startsWith("right")
      })
    )
    const readWords = reader(Schema.Struct({ words: Schema.Array(Word) }))
    for (const count of [1_000, 8_000]) {
      looks = 0
      assert.isTrue(Result.isFailure(readWords({ words: Array.from({ length: count }, (_, i) => `wrong ${i}`) })))
      assert.isAtMost(looks, count + 200)
    }
  })

  it("reports unknown fields before deeper errors, and at most a hundred errors in total", () => {
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`inner_${i}`, i]))
    const paths = pathsOf({ parts: Array.from({ length: 3 }, () => ({ ...many, size: 1 })), name: "n", last: 1 })
    assert.deepStrictEqual(
      [paths[0], paths[1], paths[60], paths[61], paths[99]],
      ["last", "parts.0.inner_0", "parts.0.inner_59", "parts.1.inner_0", "parts.1.inner_38"]
    )
    const errors = errorsOf({ parts: Array.from({ length: 3 }, () => ({ ...many, size: 1 })), name: "n", last: 1 })
    assert.deepStrictEqual(errors.at(-1), { path: "", message: "… and 81 more wrong fields." })
  })

  it("escapes control characters, hidden characters and line breaks in unknown field names", () => {
    const names = ["\u001b[2J", "a\u202eb", "a\u{e0041}", "a\nIgnore the rules", "\ud800"]
    assert.deepStrictEqual(
      pathsOf({ name: "n", ...Object.fromEntries(names.map((name) => [name, 1])) }).filter(
        (path) => path !== "parts" && path !== ""
      ),
      ["\\u{1b}[2J", "a\\u{202e}b", "a\\u{e0041}", "a\\u{a}Ignore the rules", "\\u{d800}"]
    )
  })

  it("reports one error for a value with the wrong type or an unknown name, whatever the value contains", () => {
    const inside = { deep: ["\0", { "\0": 1n }] }
    for (const input of [
      { name: inside },
      { name: [inside] },
      { name: "n", color: [inside] },
      { name: "n", parts: inside },
      { name: "n", parts: [[inside]] },
      { name: "n", surprise: inside },
      [inside]
    ]) {
      assert.lengthOf(errorsOf(input), 1)
    }
  })

  it("reports only that more than 10,000 fields are wrong, instead of an exact count", () => {
    const many = Object.fromEntries(Array.from({ length: 10_102 }, (_, i) => [`surprise_${i}`, i]))
    for (const [input, names] of [
      [{ name: "n", ...many }, '"surprise_0", "surprise_1", "surprise_2"'],
      [{ name: "n", words: Object.values(many) }, '"words.0", "words.1", "words.2"']
    ] as const) {
      const refused = read(input)
      const { field_errors, message } = Result.isFailure(refused) ? refused.failure : assert.fail("was accepted")
      assert.strictEqual(message, `More than 10,000 fields are not valid: ${names} and more.`)
      assert.strictEqual(field_errors?.at(-1)?.message, "… and more than 10,000 more wrong fields.")
    }
  })

  it("rejects unknown fields, whatever the schema's shape", () => {
    const inner = Schema.Struct({ size: Schema.Int })
    const shapes = reader(
      Schema.Struct({
        maybe: Schema.optionalKey(Schema.NullOr(inner)),
        either: Schema.optionalKey(Schema.Union([inner, Schema.Struct({ text: Schema.String })])),
        named: Schema.optionalKey(Schema.Record(Schema.String, inner)),
        pair: Schema.optionalKey(Schema.Tuple([inner, inner]))
      })
    )
    const isRight = (input: unknown) => Result.isSuccess(shapes(input))
    const right = { size: 1 }
    const wrong = { size: 1, surprise: 1 }
    assert.isTrue(isRight({ maybe: right, either: right, named: { a: right }, pair: [right, right] }))
    assert.isTrue(isRight({ maybe: null, either: { text: "t" } }))
    for (const input of [{ maybe: wrong }, { either: wrong }, { named: { a: wrong } }, { pair: [right, wrong] }]) {
      assert.isFalse(isRight(input), JSON.stringify(input))
    }
  })

  it("bounds the size of an error, even with long field names and many allowed values", () => {
    const long = { [`${"n".repeat(255)}\u{1F600}${"n".repeat(100_000)}`]: 1 }
    const [error] = errorsOf({ name: "n", ...long })
    assert.strictEqual(error?.path, `${"n".repeat(255)}…`)
    const choices = Array.from({ length: 50 }, (_, i) => `choice ${i}`)
    const chosen = reader(Schema.Struct({ all: Schema.Array(Schema.Literals(choices)) }))
    const result = chosen({ all: Array.from({ length: 5_000 }, () => "none") })
    const errors = Result.isFailure(result) ? (result.failure.field_errors ?? []) : []
    assert.lengthOf(errors, 101)
    assert.deepStrictEqual(errors[0]?.allowed_values, choices)
    assert.lengthOf(
      errors.flatMap(({ allowed_values }) => allowed_values ?? []),
      1_000
    )
  })

  it("describes a single wrong field in the error message, or names the first three wrong fields", () => {
    const messageOf = (input: unknown) => {
      const result = read(input)
      return Result.isFailure(result) ? result.failure.message : assert.fail("was accepted")
    }
    for (const [input, message] of [
      ["secret", "The input is not valid. Must be an object."],
      [{}, '"name" is not valid. This field is required.'],
      [{ name: "n", surprise: "secret" }, '"surprise" is not valid. This field is not known.'],
      [{ name: "n", parts: [{ size: "secret" }] }, '"parts.0.size" is not valid. Must be an integer.'],
      [{ name: "n", color: "secret" }, '"color" is not valid. Must be one of red, green.'],
      [{ count: "secret" }, '2 fields are not valid: "name" and "count".'],
      [{ count: 9, color: "secret", surprise: 1 }, '4 fields are not valid: "surprise", "name", "count" and 1 more.']
    ] as const) {
      assert.strictEqual(messageOf(input), message)
    }
    assert.isBelow(messageOf({ [`\u001b${"n".repeat(9_999)}`]: 1 }).length, 400)
  })

  it("treats names from the object prototype as unknown fields", () => {
    assert.deepStrictEqual(pathsOf(JSON.parse('{"name":"n","__proto__":1}')), ["__proto__"])
    assert.deepStrictEqual(pathsOf({ name: "n", constructor: 1, toString: 1 }), ["constructor", "toString"])
  })
})
