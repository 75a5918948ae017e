import { Schema } from "effect"

/** An amount of money: whole US cents (api.md, Quote, price rule 1). */
export const Money = Schema.Struct({
  amount_minor: Schema.Int.annotate({ description: "US cents" }),
  currency: Schema.Literal("USD")
}).annotate({ identifier: "Money" })
/** An amount of money: whole US cents. */
export type Money = typeof Money.Type

/** Money from whole US cents. */
export const cents = (amount_minor: number): Money => ({ amount_minor, currency: "USD" })

/** Money from whole US dollars, the unit of every `_usd` fact. */
export const dollars = (amount: number): Money => cents(amount * 100)
