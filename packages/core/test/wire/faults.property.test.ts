import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import * as fc from "fast-check"
import * as Input from "../../src/wire/Input.ts"

const Price = Schema.Struct({ amount: Schema.Int, currency: Schema.Literal("USD") })
const Offer = Schema.Struct({ ref: Schema.String, price: Schema.NullOr(Price), fees: Schema.Array(Price) })

interface Tree {
  readonly name: string
  readonly inner: ReadonlyArray<Tree>
}
const Tree: Schema.Codec<Tree> = Schema.Struct({
  name: Schema.String,
  inner: Schema.Array(Schema.suspend(() => Tree))
})

const schemas: ReadonlyArray<Schema.Decoder<unknown>> = [
  Schema.Struct({ items: Schema.Array(Offer) }),
  Schema.Struct({ items: Schema.Union([Schema.Array(Offer), Schema.Array(Price)]) }),
  Schema.Struct({ items: Schema.Array(Schema.Union([Offer, Price, Schema.String])) }),
  Schema.Struct({ items: Schema.Record(Schema.String, Schema.Union([Offer, Schema.Array(Schema.NumberFromString)])) }),
  Schema.Struct({ items: Schema.Array(Tree), more: Schema.optionalKey(Schema.Tuple([Offer, Price])) })
]

/** Any mixture of valid and wrong parts, in lists that can be longer than a refusal reports. */
const price = fc.constantFrom({ amount: 1, currency: "USD" }, { amount: "1", currency: "USD" }, {}, null)
const offer = fc.record({ ref: fc.constantFrom("r", 1), price, fees: fc.array(price, { maxLength: 3 }) })
const tree = fc.constantFrom({ name: "n", inner: [] }, { name: "n", inner: [{ name: 1, inner: [] }] }, {})
const item = fc.oneof(price, offer, tree, fc.constantFrom("text", 7, ["1"], ["x"], []))
const items = fc.oneof(
  fc.array(item, { maxLength: 5 }),
  fc.tuple(item, fc.nat(300)).map(([one, count]) => Array.from({ length: count }, () => one)),
  fc.tuple(item, item).map(([one, last]) => [...Array.from({ length: 150 }, () => one), last]),
  fc.dictionary(fc.string(), item, { maxKeys: 5 }),
  item
)

describe("the faults in a value", () => {
  it("are reported exactly when the schema rejects the value", () => {
    for (const schema of schemas) {
      const isRight = Schema.decodeUnknownOption(schema)
      const isRightInput = Schema.decodeUnknownOption(schema, { onExcessProperty: "error" })
      const find = Input.findings(schema)
      const read = Input.decoder(schema)
      fc.assert(
        fc.property(fc.record({ items }), (value) => {
          assert.strictEqual(find(value).length === 0, Option.isSome(isRight(value)))
          assert.strictEqual(read(value)._tag === "Success", Option.isSome(isRightInput(value)))
        }),
        { numRuns: 200 }
      )
    }
  })

  it("stop being collected once enough faults are found, even in nested lists and records", () => {
    let looks = 0
    const Word = Schema.String.check(
      Schema.makeFilter((text: string) => {
        looks += 1
        return text.startsWith("right")
      })
    )
    const wrong = Array.from({ length: 9_000 }, (_, i) => `wrong ${i}`)
    const values = [
      [Schema.Array(Word), wrong],
      [Schema.Array(Schema.Array(Word)), Array.from({ length: 90 }, (_, i) => wrong.slice(i * 100, i * 100 + 100))],
      [Schema.Record(Schema.String, Word), Object.fromEntries(wrong.entries())],
      [Schema.NullOr(Schema.Array(Schema.Struct({ word: Word }))), wrong.map((word) => ({ word }))]
    ] as const
    for (const [schema, value] of values) {
      looks = 0
      const found = Input.findings(schema)(value)
      assert.isAtLeast(found.length, 100)
      assert.isAtMost(looks, 500)
    }
  })

  it("are limited to the first fault in a large value", () => {
    const wrong = Array.from({ length: 60_000 }, () => 1)
    const Either = Schema.Union([Schema.Array(Schema.Boolean), Schema.Array(Schema.Array(Schema.String))])
    const ways: ReadonlyArray<readonly [Schema.Decoder<unknown>, unknown]> = [
      [Schema.Struct({ words: Schema.Array(Schema.String) }), { words: wrong }],
      [Schema.Record(Schema.String, Schema.String), Object.fromEntries(wrong.entries())],
      [Schema.Array(Schema.Array(Schema.String)), Array.from({ length: 600 }, () => wrong.slice(0, 100))],
      [Schema.Struct({ words: Either }), { words: wrong }]
    ]
    for (const [schema, value] of ways) assert.strictEqual(Input.findings(schema)(value).length, 1)
  })

  it("are found in bounded time even if members of a recursive union share fields", () => {
    let looks = 0
    const Leaf = Schema.String.check(
      Schema.makeFilter(() => {
        looks += 1
        return true
      })
    )
    const Rule: Schema.Decoder<unknown> = Schema.Union([
      Schema.Struct({ not: Schema.suspend(() => Rule), by: Leaf }),
      Schema.Struct({ not: Schema.suspend(() => Rule), why: Schema.String }),
      Schema.Struct({ is: Schema.String })
    ])
    const read = Input.valueDecoder(Rule)
    fc.assert(
      fc.property(fc.integer({ min: 20, max: 60 }), (depth) => {
        looks = 0
        let rule: unknown = { is: 1 }
        for (let level = 0; level < depth; level++) rule = { by: "me", not: rule }
        assert.strictEqual(read(rule)._tag, "Failure")
        assert.isBelow(looks, 100_000)
      }),
      { numRuns: 10 }
    )
  })

  it("are an empty list if a recursive value is large and valid", () => {
    const grove = Array.from({ length: 5_000 }, () => ({ name: "n", inner: [{ name: "m", inner: [] }] }))
    assert.deepStrictEqual(Input.findings(Schema.Array(Tree))(grove), [])
  })
})
