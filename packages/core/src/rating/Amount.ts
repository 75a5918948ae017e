import { premiumCap } from "../carriers/Offer.ts"

/*
 * The arithmetic of rate plans. Amounts are whole cents. A factor is a whole number of ten-thousandths, because
 * products of decimal fractions are not exact.
 */

/** The factor 1, in ten-thousandths. */
export const neutral = 10_000

/** How an amount is rounded after each factor, always half up: to a whole cent, or to a whole dollar. */
export const roundings = ["cent", "dollar"] as const
export type Rounding = (typeof roundings)[number]

const units: { readonly [R in Rounding]: number } = { cent: 1, dollar: 100 }

/**
 * The highest amount in cents. Larger amounts are capped, so that every product stays exact. No offer may cost this
 * much.
 */
export const highestAmount = premiumCap

/**
 * Multiplies an amount by a factor in ten-thousandths, and rounds. Amounts must be multiplied only with this function.
 */
export const mul = (cents: number, factor: number, rounding: Rounding = "cent"): number => {
  const unit = units[rounding]
  const product = Math.floor((cents * factor + 5_000 * unit) / (neutral * unit)) * unit
  return Math.min(highestAmount, product)
}

/** The price of a number of months, from the price of twelve months. */
export const ofMonths = (year: number, months: number, rounding: Rounding = "cent"): number => {
  const unit = units[rounding]
  return Math.floor((year * months + 6 * unit) / (12 * unit)) * unit
}

/** A factor in ten-thousandths, from the form in which plans write it, such as 1.085. */
export const tenThousandths = (factor: number): number => Math.round(factor * neutral)
