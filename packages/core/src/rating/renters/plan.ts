import { Schema } from "effect"
import { Factors, Steps, written } from "../RatePlan.ts"

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

/** The part of the rate plan that each fictional renters insurer has for itself. */
export type RentersCarrierPlan = typeof RentersCarrier.Type

/** The rate plan of renters insurance: amounts in cents, factors in ten-thousandths. */
export const plan: typeof RentersPlan.Type = Schema.decodeUnknownSync(RentersPlan)(written.renters)
