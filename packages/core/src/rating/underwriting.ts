import type { DeclineReason } from "../carriers/Carrier.ts"
import type { DriverFacts, PersonalAutoFacts, PetFacts, PetSubjectFacts, RentersFacts } from "../lines/Facts.ts"
import type { Line } from "../lines/Line.ts"
import { type StateCode, servedStates } from "../lines/State.ts"
import { addDays, ageInYears } from "../wire/CalendarDate.ts"
import { yearOf } from "./calendar.ts"
import { recentIncidents } from "./rateAuto.ts"
import { petAge } from "./ratePet.ts"

/*
 * The underwriting rules of the fictional carriers: what each of them does not insure, when no scenario is played.
 */

/** A rule: why the carrier does not insure this; null where the rule has nothing against it. */
type Rule<Facts> = (facts: Facts, today: string) => DeclineReason | null

const rule =
  <Facts>(reason: DeclineReason, applies: (facts: Facts, today: string) => boolean): Rule<Facts> =>
  (facts, today) =>
    applies(facts, today) ? reason : null

const first_start_days = 1
const last_start_days = 60

/** Cover starts tomorrow at the earliest and in sixty days at the latest. */
const startDate = rule<{ readonly effective_date: string }>(
  "start_date_out_of_range",
  ({ effective_date }, today) =>
    effective_date < addDays(today, first_start_days) || effective_date > addDays(today, last_start_days)
)

const selfOf = (facts: PersonalAutoFacts): DriverFacts | undefined =>
  facts.drivers.find((driver) => driver.relationship === "self")

const selfHas = (...statuses: ReadonlyArray<DriverFacts["license_status"]>) =>
  rule<PersonalAutoFacts>("license_status", (facts) => {
    const self = selfOf(facts)
    return self !== undefined && statuses.includes(self.license_status)
  })

const neverLicensed = selfHas("never_licensed")
const licenseTaken = selfHas("suspended", "revoked")

const incidents = (facts: PersonalAutoFacts, today: string) =>
  facts.drivers.flatMap((driver) => recentIncidents(driver, today))

const chargeable = ["at_fault_accident", "minor_violation", "major_violation"]
const harborline_incidents = 2
const harborline_age = 19
const pinecrest_vehicle_years = 25
const bluefern_miles = 25_000

const autoRules: { readonly [carrier_id: string]: ReadonlyArray<Rule<PersonalAutoFacts>> } = {
  sbx_harborline: [
    licenseTaken,
    rule("driving_record", (facts, today) => {
      const charged = incidents(facts, today).filter((incident) => chargeable.includes(incident.type))
      return charged.length > harborline_incidents || charged.some((incident) => incident.type === "major_violation")
    }),
    rule("vehicle_not_eligible", (facts) => facts.vehicles.some((vehicle) => vehicle.salvage_title)),
    rule("lapse_in_coverage", (facts) => facts.prior_insurance.status === "lapsed_over_30_days"),
    rule("risk_outside_guidelines", (facts, today) => {
      const self = selfOf(facts)
      return self !== undefined && ageInYears(self.date_of_birth, today) < harborline_age
    })
  ],
  sbx_pinecrest: [
    licenseTaken,
    rule("driving_record", (facts) => facts.drivers.some((driver) => driver.sr22_required)),
    rule("vehicle_not_eligible", (facts, today) =>
      facts.vehicles.some(
        ({ model_year }) => model_year !== undefined && yearOf(today) - model_year > pinecrest_vehicle_years
      )
    ),
    rule("vehicle_use_not_eligible", (facts) => facts.vehicles.some((vehicle) => vehicle.primary_use === "rideshare"))
  ],
  sbx_bluefern: [
    licenseTaken,
    rule("vehicle_use_not_eligible", (facts) =>
      facts.vehicles.some((vehicle) => vehicle.primary_use === "business" || vehicle.annual_miles > bluefern_miles)
    )
  ],
  // Copperline is the carrier for those whom the others turn away.
  sbx_copperline: [],
  sbx_meridian: [
    licenseTaken,
    rule("license_status", (facts) => facts.drivers.some((driver) => driver.license_status === "foreign"))
  ]
}

const claims = (most: number) =>
  rule<RentersFacts>("prior_claims", (facts) => facts.household.claims_last_5_years > most)

const rentersRules: { readonly [carrier_id: string]: ReadonlyArray<Rule<RentersFacts>> } = {
  sbx_lanternway: [
    claims(2),
    rule("property_not_eligible", (facts) => facts.dwelling.type === "mobile_home"),
    rule("risk_outside_guidelines", (facts) => facts.household.dog_with_bite_history)
  ],
  sbx_harborline: [
    rule("property_not_eligible", (facts) => facts.dwelling.short_term_rental || facts.dwelling.student_housing)
  ],
  sbx_brightstoop: [claims(1)]
}

const weaned_days = 56

/** Whether a pet is under eight weeks old even if it was born on the first day of its month. */
const isTooYoung = (pet: PetSubjectFacts, today: string): boolean =>
  pet.birth_month !== undefined && addDays(`${pet.birth_month}-01`, weaned_days) > today

const tooYoung = rule<PetFacts>("pet_age_limit", (facts, today) => facts.pets.some((pet) => isTooYoung(pet, today)))

const illnessUpTo = (age: number) =>
  rule<PetFacts>(
    "pet_age_limit",
    (facts, today) => facts.coverage.plan === "accident_illness" && facts.pets.some((pet) => petAge(pet, today) > age)
  )

const petRules: { readonly [carrier_id: string]: ReadonlyArray<Rule<PetFacts>> } = {
  sbx_pawbridge: [tooYoung, illnessUpTo(13)],
  sbx_tailhaven: [tooYoung, illnessUpTo(10)],
  // Whiskerwell takes pets of any age: see accidentOnlyFrom.
  sbx_whiskerwell: [tooYoung]
}

const first = <Facts>(rules: ReadonlyArray<Rule<Facts>>, facts: Facts, today: string): DeclineReason | null => {
  for (const applies of rules) {
    const reason = applies(facts, today)
    if (reason !== null) return reason
  }
  return null
}

/** Why a carrier does not insure these cars and drivers; null where it does. */
export const declineAuto = (carrier_id: string, facts: PersonalAutoFacts, today: string): DeclineReason | null =>
  first([startDate, neverLicensed, ...(autoRules[carrier_id] ?? [])], facts, today)

/** Why a carrier does not insure this renter; null where it does. */
export const declineRenters = (carrier_id: string, facts: RentersFacts, today: string): DeclineReason | null =>
  first([startDate, ...(rentersRules[carrier_id] ?? [])], facts, today)

/** Why a carrier does not insure these pets; null where it does. */
export const declinePet = (carrier_id: string, facts: PetFacts, today: string): DeclineReason | null =>
  first([startDate, ...(petRules[carrier_id] ?? [])], facts, today)

/** The age from which a carrier insures a pet against accidents only. */
export const accidentOnlyFrom = (carrier_id: string): number =>
  carrier_id === "sbx_whiskerwell" ? 14 : Number.POSITIVE_INFINITY

const notServed: { readonly [carrier_and_line: string]: ReadonlyArray<StateCode> } = {
  "sbx_bluefern personal_auto": ["MA", "MI", "NY"],
  "sbx_copperline personal_auto": ["HI", "MA", "NC"],
  "sbx_brightstoop renters": ["AK", "HI", "LA"]
}

/** The states in which a carrier offers a line. */
export const statesOf = (carrier_id: string, line: Line): ReadonlyArray<StateCode> => {
  const left_out = notServed[`${carrier_id} ${line}`] ?? []
  return servedStates.filter((state) => !left_out.includes(state))
}
