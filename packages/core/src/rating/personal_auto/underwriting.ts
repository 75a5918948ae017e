import type { DeclineReason } from "../../carriers/Carrier.ts"
import type { DriverFacts, PersonalAutoFacts } from "../../lines/personal_auto/assume.ts"
import { ageInYears } from "../../wire/Timestamp.ts"
import { yearOf } from "../calendar.ts"
import { type CarrierRules, firstReason, rule, startDate } from "../underwriting.ts"
import { recentIncidents } from "./rate.ts"

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

const autoRules: CarrierRules<PersonalAutoFacts> = {
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
  // Copperline insures drivers whom the others decline.
  sbx_copperline: [],
  sbx_meridian: [
    licenseTaken,
    rule("license_status", (facts) => facts.drivers.some((driver) => driver.license_status === "foreign"))
  ]
}

/** Why a carrier declines these cars and drivers; null if it accepts them. */
export const declineAuto = (carrier_id: string, facts: PersonalAutoFacts, today: string): DeclineReason | null =>
  firstReason([startDate, neverLicensed, ...(autoRules[carrier_id] ?? [])], facts, today)
