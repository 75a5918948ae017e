import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as fc from "fast-check"
import * as Input from "../../src/wire/Input.ts"
import { cents, dollars, FromCents, FromDollars, FromText, InvalidMoney, parse, rounded } from "../../src/wire/Money.ts"

const maxCents = 1_000_000_000_000
/** Cents, mostly up to a million dollars, sometimes up to the highest amount. */
const anyCents = fc.oneof(fc.integer({ min: 0, max: 100_000_000 }), fc.integer({ min: 0, max: maxCents }))
/** Tenths of a cent that are not whole cents. */
const partOfCent = fc.integer({ min: 1, max: 9 }).map((tenth) => tenth / 10)

/** The message of the `InvalidMoney` that is thrown; anything else fails. */
const refusal = (make: () => unknown): string => {
  try {
    make()
  } catch (thrown) {
    assert.instanceOf(thrown, InvalidMoney)
    return thrown.message
  }
  return assert.fail("nothing was thrown")
}

describe("money from a number", () => {
  it("is exact for every cent, however it was written in dollars", () => {
    fc.assert(
      fc.property(anyCents, (minor) => {
        assert.strictEqual(dollars(minor / 100).amount_minor, minor)
        assert.strictEqual(dollars(Number((minor / 100).toFixed(2))).amount_minor, minor)
        assert.strictEqual(cents((minor / 100) * 100).amount_minor, minor)
      })
    )
  })

  it("is exact for sums of premiums", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 1_000_000 }), { maxLength: 50 }), (parts) => {
        const sum = parts.reduce((sum, minor) => sum + minor / 100, 0)
        const expected = parts.reduce((sum, minor) => sum + minor, 0)
        assert.strictEqual(dollars(sum).amount_minor, expected)
      })
    )
  })

  it("is rejected if it is a fraction of a cent, at any size", () => {
    fc.assert(
      fc.property(anyCents, partOfCent, (minor, part) => {
        assert.match(
          refusal(() => dollars((minor + part) / 100)),
          /Money\.dollars .* whole cents.*Money\.rounded/
        )
        assert.match(
          refusal(() => cents(minor + part)),
          /Money\.cents .* whole cents/
        )
      })
    )
  })

  it("is rejected if it is not finite, is negative or is too large", () => {
    for (const make of [dollars, cents, rounded]) {
      for (const odd of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
        assert.match(
          refusal(() => make(odd)),
          /finite/
        )
      }
      assert.match(
        refusal(() => make(-1)),
        /at least 0/
      )
      assert.match(
        refusal(() => make(1e15)),
        /at most 10,000,000,000 dollars/
      )
      assert.deepStrictEqual(make(-0), { amount_minor: 0, currency: "USD" })
    }
  })

  it("can be rounded to the nearest cent, with half a cent rounded up", () => {
    const computed = [
      [10 / 3, 333],
      [1.005, 101],
      [1.004999, 100],
      [1.1, 110],
      [2.675, 268],
      [0.004, 0]
    ] as const
    for (const [amount, minor] of computed) assert.strictEqual(rounded(amount).amount_minor, minor, `${amount}`)
    fc.assert(
      fc.property(anyCents, partOfCent, (minor, part) => {
        fc.pre(minor < maxCents)
        assert.strictEqual(rounded((minor + part) / 100).amount_minor, part < 0.5 ? minor : minor + 1)
        assert.strictEqual(rounded(minor / 100).amount_minor, minor)
      })
    )
  })
})

const grouped = (minor: number): string =>
  (minor / 100).toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })

describe("money from text", () => {
  it("is read in every form that carriers send", () => {
    fc.assert(
      fc.property(anyCents, (minor) => {
        const plain = (minor / 100).toFixed(2)
        const forms = [
          plain,
          grouped(minor),
          `$${grouped(minor)}`,
          `USD ${plain}`,
          `${grouped(minor)} USD`,
          `\n ${plain}\t`
        ]
        for (const text of [...forms, `00${plain}`, `US$ ${plain}`, `usd${plain}`, `$${plain} USD`]) {
          assert.deepStrictEqual(parse(text), { amount_minor: minor, currency: "USD" }, text)
        }
      })
    )
    const short = [
      ["1171", 117_100],
      ["1171.1", 117_110],
      ["1,171", 117_100],
      ["0", 0],
      ["\u00a0$5\u00a0", 500]
    ] as const
    for (const [text, minor] of short) assert.strictEqual(parse(text).amount_minor, minor, text)
  })

  const refused = [
    ["1171.100", /at most two decimals/],
    ["1.171", /at most two decimals/],
    ["1,171.105", /at most two decimals/],
    ["1.171,10", /in digits/],
    ["1171,10", /in digits/],
    ["1,1711.10", /in digits/],
    ["11,71.10", /in digits/],
    ["0,171.10", /in digits/],
    ["1 171.10", /in digits/],
    ["1'171.10", /in digits/],
    ["1171.", /in digits/],
    [".50", /in digits/],
    ["", /in digits/],
    ["$", /US dollars/],
    ["9".repeat(100), /in digits/],
    ["1e3", /US dollars/],
    ["NaN", /US dollars/],
    ["Infinity", /US dollars/],
    ["EUR 5", /US dollars/],
    ["5 CAD", /US dollars/],
    ["\u20ac5", /US dollars/],
    ["C$5", /US dollars/],
    ["5.00 per month", /US dollars/],
    ["-5", /at least 0/],
    ["$-5.00", /at least 0/],
    ["-$5.00", /at least 0/],
    ["($5.00)", /at least 0/],
    ["5.00-", /at least 0/],
    ["10,000,000,000.01", /at most 10,000,000,000 dollars/]
  ] as const
  for (const [text, why] of refused) {
    it(`is rejected for ${JSON.stringify(text.slice(0, 20))}`, () =>
      assert.match(
        refusal(() => parse(text)),
        why
      ))
  }

  it("never differs from the amount in the text", () => {
    const character = fc.constantFrom(..."0123456789.,$ -USDe'")
    fc.assert(
      fc.property(fc.string({ unit: character, maxLength: 14 }), (text) => {
        let minor: number
        try {
          minor = parse(text).amount_minor
        } catch (thrown) {
          assert.instanceOf(thrown, InvalidMoney)
          return
        }
        const digits = text.replaceAll(/[^\d.]/g, "")
        assert.strictEqual(minor, Math.round(Number(digits) * 100))
        assert.deepStrictEqual(parse((minor / 100).toFixed(2)), parse(text))
      }),
      { numRuns: 2_000 }
    )
  })
})

describe("money in a carrier's answer", () => {
  it("is decoded from text, dollars and cents, and encoded again", () => {
    const money = { amount_minor: 117_110, currency: "USD" }
    assert.deepStrictEqual(Schema.decodeUnknownSync(FromText)("$1,171.10"), money)
    assert.deepStrictEqual(Schema.decodeUnknownSync(FromDollars)(1171.1), money)
    assert.deepStrictEqual(Schema.decodeUnknownSync(FromCents)(117_110), money)
    assert.strictEqual(Schema.encodeSync(FromText)(cents(117_110)), "1171.10")
    assert.strictEqual(Schema.encodeSync(FromDollars)(cents(117_110)), 1171.1)
    assert.strictEqual(Schema.encodeSync(FromCents)(cents(117_110)), 117_110)
  })

  it("is rejected at its path, with the broken rule and without the value", () => {
    const Answer = Schema.Struct({ text: FromText, dollars: FromDollars, cents: FromCents, kind: FromText })
    assert.deepStrictEqual(Input.findings(Answer)({ text: "1.171,10", dollars: 10 / 3, cents: -1, kind: 5 }), [
      { path: "text", message: "Must be US dollars in digits, such as 1171.10, 1,171.10 or $1,171.10." },
      { path: "dollars", message: "Must be whole cents. Round a computed amount first, such as with Money.rounded." },
      { path: "cents", message: "Must be at least 0." },
      { path: "kind", message: "Must be text." }
    ])
  })
})
