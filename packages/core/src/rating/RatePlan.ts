import { Schema } from "effect"
import ratePlans from "./data/rate-plans.json" with { type: "json" }

/** Factors by name or limit. */
export const Factors = Schema.Record(Schema.String, Schema.Int)
/** Factors by the highest value that they apply to, lowest first. */
export const Steps = Schema.Array(Schema.Tuple([Schema.Int, Schema.Int]))

/** The unparsed rate plans of the fictional carriers, by line: amounts in cents, factors in ten-thousandths. */
export const written: Readonly<Record<string, unknown>> = ratePlans

/** The factor 1. */
export const neutral = 10_000

/** Multiplies cents by a factor in ten-thousandths, rounding half up. Prices are multiplied only with this function. */
export const mul = (cents: number, factor: number): number => Math.floor((cents * factor + 5_000) / 10_000)

/** Multiplies cents by one factor after another, rounding after each. So the order of the factors affects the price. */
export const mulAll = (cents: number, factors: ReadonlyArray<number>): number => factors.reduce(mul, cents)

/** The factor for a name or limit; neutral if the plan does not list it. */
export const factor = (table: { readonly [name: string]: number }, name: string | number): number =>
  table[name] ?? neutral

/** The factor of the first step that includes `value`; above all steps, that of the last. */
export const step = (steps: ReadonlyArray<readonly [number, number]>, value: number): number =>
  (steps.find(([highest]) => value <= highest) ?? steps.at(-1))?.[1] ?? neutral

/** The factor of a ZIP code. Its first three digits select one of five. */
export const territory = (factors: ReadonlyArray<number>, zip: string): number =>
  factors[(7 * Number(zip.slice(0, 3)) + 3) % 5] ?? neutral
