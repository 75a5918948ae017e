import { Schema } from "effect"
import ratePlans from "./data/rate-plans.json" with { type: "json" }

const Factors = Schema.Record(Schema.String, Schema.Int)
/** Factors by the highest value they stand for, lowest first. */
const Steps = Schema.Array(Schema.Tuple([Schema.Int, Schema.Int]))
/** Factors of a vehicle segment: damage to the vehicle, then liability. */
const Segments = Schema.Record(Schema.String, Schema.Tuple([Schema.Int, Schema.Int]))

const AutoCarrier = Schema.Struct({
  name: Schema.String,
  base: Schema.Int,
  term: Schema.Literals([6, 12]),
  pif: Schema.Int,
  minimum: Schema.Int,
  latency: Schema.Int,
  age: Schema.optionalKey(Steps),
  mileage: Schema.optionalKey(Steps),
  seg: Schema.optionalKey(Segments)
})

const AutoPlan = Schema.Struct({
  base_cents: Schema.Struct({
    bi: Schema.Int,
    pd: Schema.Int,
    um: Schema.Int,
    coll: Schema.Int,
    comp: Schema.Int,
    pip: Schema.Int
  }),
  territory_bp: Schema.Array(Schema.Int),
  factors: Schema.Struct({
    biLimit: Factors,
    pdLimit: Factors,
    coll: Factors,
    comp: Factors,
    age: Steps,
    exp: Steps,
    incident: Factors,
    prior: Schema.Struct({
      continuous_12_months: Schema.Int,
      continuous_6_months: Schema.Int,
      lapse_under_30_days: Schema.Int,
      lapse_over_30_days: Schema.Int,
      never_insured: Schema.Int
    }),
    vehAge: Steps,
    seg: Segments,
    mileage: Steps,
    use: Factors
  }),
  carriers: Schema.Record(Schema.String, AutoCarrier)
})

const RentersCarrier = Schema.Struct({
  name: Schema.String,
  base: Schema.Int,
  minimum: Schema.Int,
  fee: Schema.Int,
  latency: Schema.Int
})

const RentersPlan = Schema.Struct({
  factors: Schema.Struct({
    contents: Steps,
    ded: Factors,
    dwelling: Factors,
    built: Steps,
    claims: Schema.Array(Schema.Int),
    liab: Factors,
    med: Factors
  }),
  territory_bp: Schema.Array(Schema.Int),
  carriers: Schema.Record(Schema.String, RentersCarrier)
})

const PetCarrier = Schema.Struct({
  name: Schema.String,
  base: Schema.Int,
  minimum: Schema.Int,
  wellness: Schema.Int,
  latency: Schema.Int
})

const PetPlan = Schema.Struct({
  factors: Schema.Struct({
    base: Factors,
    age: Steps,
    breed: Factors,
    ded: Factors,
    reimb: Factors,
    limit: Factors,
    plan: Factors
  }),
  band_bp: Factors,
  carriers: Schema.Record(Schema.String, PetCarrier)
})

const RatePlans = Schema.Struct({ auto: AutoPlan, renters: RentersPlan, pet: PetPlan })

/** What a fictional car insurer does its own way. */
export type AutoCarrierPlan = typeof AutoCarrier.Type
/** What a fictional renters insurer does its own way. */
export type RentersCarrierPlan = typeof RentersCarrier.Type
/** What a fictional pet insurer does its own way. */
export type PetCarrierPlan = typeof PetCarrier.Type

/** The rate plans of the fictional carriers: amounts in cents, factors in ten-thousandths. */
export const plans: typeof RatePlans.Type = Schema.decodeUnknownSync(RatePlans)(ratePlans)

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
