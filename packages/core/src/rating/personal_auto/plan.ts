import { Schema } from "effect"
import { Factors, Steps, written } from "../RatePlan.ts"

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

/** The part of the rate plan that each fictional car insurer has for itself. */
export type AutoCarrierPlan = typeof AutoCarrier.Type

/** The rate plan of car insurance: amounts in cents, factors in ten-thousandths. */
export const plan: typeof AutoPlan.Type = Schema.decodeUnknownSync(AutoPlan)(written.auto)
