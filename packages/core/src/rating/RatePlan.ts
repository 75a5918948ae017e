import { Schema } from "effect"
import ratePlans from "./data/rate-plans.json" with { type: "json" }

/** Factors by the name or limit that they stand for. */
export const Factors = Schema.Record(Schema.String, Schema.Int)
/** Factors by the highest value they stand for, lowest first. */
export const Steps = Schema.Array(Schema.Tuple([Schema.Int, Schema.Int]))

/** The rate plans of the fictional carriers as they are written, by line: amounts in cents, factors in ten-thousandths. */
export const written: Readonly<Record<string, unknown>> = ratePlans

/** The factor that changes nothing. */
export const neutral = 10_000

/** Multiplies cents by a factor in ten-thousandths, rounding half up: the only way a price is ever multiplied. */
export const mul = (cents: number, factor: number): number => Math.floor((cents * factor + 5_000) / 10_000)

/** Multiplies cents by one factor after another, rounded after each: the order of the factors is part of the price. */
export const mulAll = (cents: number, factors: ReadonlyArray<number>): number => factors.reduce(mul, cents)

/** The factor for a name or limit; what the plan does not name changes nothing. */
export const factor = (table: { readonly [name: string]: number }, name: string | number): number =>
  table[name] ?? neutral

/** The factor of the first step that reaches up to `value`; above all of them, that of the last. */
export const step = (steps: ReadonlyArray<readonly [number, number]>, value: number): number =>
  (steps.find(([highest]) => value <= highest) ?? steps.at(-1))?.[1] ?? neutral

/** The factor of a ZIP code: its first three digits pick one of five. */
export const territory = (factors: ReadonlyArray<number>, zip: string): number =>
  factors[(7 * Number(zip.slice(0, 3)) + 3) % 5] ?? neutral
