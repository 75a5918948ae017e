import type { DeclineReason } from "../../carriers/Carrier.ts"
import type { PetFacts, PetSubjectFacts } from "../../lines/pet/assume.ts"
import { addDays } from "../../wire/Timestamp.ts"
import { type CarrierRules, firstReason, rule, startDate } from "../underwriting.ts"
import { petAge } from "./rate.ts"

const weaned_days = 56

/** Whether a pet is under eight weeks old, even if it was born on the first day of its birth month. */
const isTooYoung = (pet: PetSubjectFacts, today: string): boolean =>
  pet.birth_month !== undefined && addDays(`${pet.birth_month}-01`, weaned_days) > today

const tooYoung = rule<PetFacts>("pet_age_limit", (facts, today) => facts.pets.some((pet) => isTooYoung(pet, today)))

const illnessUpTo = (age: number) =>
  rule<PetFacts>(
    "pet_age_limit",
    (facts, today) => facts.coverage.plan === "accident_illness" && facts.pets.some((pet) => petAge(pet, today) > age)
  )

const petRules: CarrierRules<PetFacts> = {
  sbx_pawbridge: [tooYoung, illnessUpTo(13)],
  sbx_tailhaven: [tooYoung, illnessUpTo(10)],
  // Whiskerwell accepts pets of any age; see accidentOnlyFrom.
  sbx_whiskerwell: [tooYoung]
}

/** Why a carrier declines these pets; null if it accepts them. */
export const declinePet = (carrier_id: string, facts: PetFacts, today: string): DeclineReason | null =>
  firstReason([startDate, ...(petRules[carrier_id] ?? [])], facts, today)

/** The age from which a carrier covers a pet for accidents only. */
export const accidentOnlyFrom = (carrier_id: string): number =>
  carrier_id === "sbx_whiskerwell" ? 14 : Number.POSITIVE_INFINITY
