import { Data, Result, Schema, SchemaTransformation } from "effect"

/** An amount of money in whole US cents (api.md, Money). */
export const Money = Schema.Struct({
  amount_minor: Schema.Int.annotate({ description: "US cents" }),
  currency: Schema.Literal("USD").annotateKey({ description: "The currency, as an ISO 4217 code" })
}).annotate({ identifier: "Money" })
/** An amount of money in whole US cents. */
export type Money = typeof Money.Type

/**
 * A value is not a valid amount of money. The message states the rule that the value breaks, and never repeats the
 * value.
 */
export class InvalidMoney extends Data.TaggedError("InvalidMoney")<{ readonly message: string }> {
  readonly code = "invalid_money"
}

/** The highest amount, in cents. Up to this amount, floating-point errors stay far below a cent. */
const maxCents = 1_000_000_000_000
const maxText = 64

/** How far floating-point arithmetic can move an amount away from a whole cent, in cents. */
const floatingError = (minor: number): number => Math.max(1e-6, minor * 2 ** -48)

const ok = Result.succeed
const refuse = Result.fail

/** Reads a number of cents as whole cents, or returns the rule that the number breaks. */
const readCents = (minor: number): Result.Result<number, string> => {
  if (!Number.isFinite(minor)) return refuse("Must be a finite number.")
  const whole = Math.round(minor)
  if (whole < 0) return refuse("Must be at least 0.")
  if (whole > maxCents) return refuse("Must be at most 10,000,000,000 dollars.")
  if (Math.abs(minor - whole) > floatingError(whole)) {
    return refuse("Must be whole cents. Round a computed amount first, such as with Money.rounded.")
  }
  // Adding 0 turns -0 into 0.
  return ok(whole + 0)
}

const readDollars = (amount: number): Result.Result<number, string> => readCents(amount * 100)

const marked = /^(?:USD)?\s*(?:(?:US)?\$)?\s*(\d[\d.,]*)\s*(?:USD)?$/i
const grouped = /^(\d+|[1-9]\d{0,2}(?:,\d{3})+)(?:\.(\d{1,2}))?$/

const readText = (text: string): Result.Result<number, string> => {
  if (typeof text !== "string") return refuse("Must be text.")
  const trimmed = text.length > maxText ? "" : text.trim()
  if (/^[^\d]*[-(\u2212]|-$/.test(trimmed)) return refuse("Must be at least 0.")
  const [, number = ""] = marked.exec(trimmed) ?? []
  if (number === "" && /\p{L}|\p{Sc}/u.test(trimmed))
    return refuse("Must be an amount in US dollars, without words or other currencies.")
  if (/^[\d,]+\.\d{3,}$/.test(number)) return refuse("Must have at most two decimals.")
  const [, dollars, cents = ""] = grouped.exec(number) ?? []
  if (dollars === undefined) return refuse("Must be US dollars in digits, such as 1171.10, 1,171.10 or $1,171.10.")
  return readCents(Number(dollars.replaceAll(",", "")) * 100 + Number(cents.padEnd(2, "0")))
}

const moneyOf = (amount_minor: number): Money => ({ amount_minor, currency: "USD" })

const orThrow = (maker: string, read: Result.Result<number, string>): Money =>
  moneyOf(
    Result.getOrThrowWith(read, (rule) => new InvalidMoney({ message: `${maker} needs an amount of money. ${rule}` }))
  )

/**
 * Makes money from whole US cents.
 *
 * A number that floating-point arithmetic has moved away from a whole cent, such as `0.29 * 100`, is treated as that
 * cent. Throws an `InvalidMoney` for any other fraction of a cent, and if the number is negative, not finite, or above
 * ten billion dollars.
 */
export const cents = (amountMinor: number): Money => orThrow("Money.cents", readCents(amountMinor))

/**
 * Makes money from US dollars, such as `180` or `1171.1`. The number must be exact to the cent.
 *
 * Throws an `InvalidMoney` as `cents` does, for example for `10 / 3`, which `rounded` accepts.
 */
export const dollars = (amount: number): Money => orThrow("Money.dollars", readDollars(amount))

/**
 * Makes money from a computed number of US dollars, such as `1200 * 0.0375`, rounded to the nearest cent. Half a cent
 * is rounded up, as in `1.005`.
 *
 * Throws an `InvalidMoney` if the number is negative, not finite, or above ten billion dollars.
 */
export const rounded = (amount: number): Money => {
  const minor = amount * 100
  // In binary, a half cent as in 1.005 is slightly too small.
  return orThrow("Money.rounded", readCents(Math.round(minor + floatingError(Math.abs(minor)))))
}

/**
 * Makes money from text as carriers send it: `1171`, `1171.1`, `1171.10`, `1,171.10`, `$1,171.10`, `USD 1,171.10`,
 * `1171.10 USD`.
 *
 * A period separates the cents, and commas separate thousands. Spaces around the amount and leading zeros are ignored.
 *
 * Throws an `InvalidMoney` for anything else: more than two decimals, `1.171,10`, `1,1711.10`, other currencies,
 * negative amounts, and amounts above ten billion dollars.
 */
export const parse = (text: string): Money => orThrow("Money.parse", readText(text))

/** Makes a check that fails with the rule that `read` returns. */
const readable = <A>(read: (value: A) => Result.Result<number, string>) =>
  Schema.makeFilter((value: A) => Result.match(read(value), { onSuccess: () => true, onFailure: (rule) => rule }))

/**
 * Decodes money from text in the forms that `parse` reads, for the schema of a carrier's response. Money is encoded as
 * `1171.10`.
 *
 * @example
 * const Rated = Schema.Struct({ premium: Money.FromText })
 * const { premium } = (await http.get("/quotes/1")).json(Rated)
 */
export const FromText = Schema.String.check(readable(readText)).pipe(
  Schema.decodeTo(
    Money,
    SchemaTransformation.transform({
      decode: parse,
      encode: ({ amount_minor }) => (amount_minor / 100).toFixed(2)
    })
  )
)

/** Decodes money from a number of US dollars, as `dollars` does, for the schema of a carrier's response. */
export const FromDollars = Schema.Number.check(readable(readDollars)).pipe(
  Schema.decodeTo(
    Money,
    SchemaTransformation.transform({ decode: dollars, encode: ({ amount_minor }) => amount_minor / 100 })
  )
)

/** Decodes money from a number of whole US cents, for the schema of a carrier's response. */
export const FromCents = Schema.Number.check(readable(readCents)).pipe(
  Schema.decodeTo(Money, SchemaTransformation.transform({ decode: cents, encode: ({ amount_minor }) => amount_minor }))
)
