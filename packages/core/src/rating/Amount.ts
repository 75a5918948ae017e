import { premiumCap } from "../carriers/Offer.ts"

/*
 * The arithmetic of rate plans. Amounts are whole cents. A factor is a whole number of ten-thousandths, because a
 * decimal fraction cannot be multiplied exactly.
 */

/** The factor 1. */
export const neutral = 10_000

/** How the amount is rounded after each factor, always half up: to a whole cent, or to a whole dollar. */
export const roundings = ["cent", "dollar"] as const
export type Rounding = (typeof roundings)[number]

const units: { readonly [R in Rounding]: number } = { cent: 1, dollar: 100 }

/**
 * The highest amount in cents. Larger ones are capped, so that every product stays exact; no offer may cost as much.
 */
export const highestAmount = premiumCap

/** Multiplies an amount by a factor in ten-thousandths and rounds. Amounts are multiplied only with this function. */
export const mul = (cents: number, factor: number, rounding: Rounding = "cent"): number => {
  const unit = units[rounding]
  const product = Math.floor((cents * factor + 5_000 * unit) / (neutral * unit)) * unit
  return Math.min(highestAmount, product)
}

/** The price of a number of months, from that of twelve. */
export const ofMonths = (year: number, months: number, rounding: Rounding = "cent"): number => {
  const unit = units[rounding]
  return Math.floor((year * months + 6 * unit) / (12 * unit)) * unit
}

/** A factor as plans write it, such as 1.085, in ten-thousandths. */
export const tenThousandths = (factor: number): number => Math.round(factor * neutral)
