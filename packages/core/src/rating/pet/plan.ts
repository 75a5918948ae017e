import { Schema } from "effect"
import { Factors, Steps, written } from "../RatePlan.ts"

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

/** The part of the rate plan that each fictional pet insurer has for itself. */
export type PetCarrierPlan = typeof PetCarrier.Type

/** The rate plan of pet insurance: amounts in cents, factors in ten-thousandths. */
export const plan: typeof PetPlan.Type = Schema.decodeUnknownSync(PetPlan)(written.pet)
