import { premiumCap } from "../carriers/Offer.ts"

/*
 * The arithmetic of rate plans. Amounts are whole cents. A factor is a whole number of ten-thousandths, because
 * products of decimal fractions would not be exact.
 */

/** The factor 1, in ten-thousandths. */
export const neutral = 10_000

/** How an amount is rounded after each factor: to a whole cent or a whole dollar, always half up. */
export const roundings = ["cent", "dollar"] as const
export type Rounding = (typeof roundings)[number]

const units: { readonly [R in Rounding]: number } = { cent: 1, dollar: 100 }

/**
 * The highest amount in cents. Larger amounts are capped at this amount, so that every product stays exact. An offer at
 * this price is refused.
 */
export const highestAmount = premiumCap

/** Multiplies an amount by a factor in ten-thousandths, and rounds. Use only this function to multiply amounts. */
export const mul = (cents: number, factor: number, rounding: Rounding = "cent"): number => {
  const unit = units[rounding]
  const product = Math.floor((cents * factor + 5_000 * unit) / (neutral * unit)) * unit
  return Math.min(highestAmount, product)
}

/** Computes the price for a number of months from the price for twelve months. */
export const ofMonths = (year: number, months: number, rounding: Rounding = "cent"): number => {
  const unit = units[rounding]
  return Math.floor((year * months + 6 * unit) / (12 * unit)) * unit
}

/** Converts a factor to ten-thousandths. Plans write factors as decimals, such as 1.085. */
export const tenThousandths = (factor: number): number => Math.round(factor * neutral)
