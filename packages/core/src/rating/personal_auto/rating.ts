import {
  type DriverFacts,
  type PersonalAutoFacts,
  subjectsOf,
  type VehicleFacts
} from "../../lines/personal_auto/complete.ts"
import { limits, values } from "../../lines/personal_auto/facts.ts"
import { personalAuto as line } from "../../lines/personal_auto/line.ts"
import * as State from "../../lines/State.ts"
import { ageInYears, monthsBetween, yearOf } from "../../wire/CalendarDay.ts"
import * as Rating from "../Rating.ts"
import {
  type Known,
  nearest,
  number,
  oneOf,
  sharedKnown,
  sharedVariables,
  type Variable,
  type Variables,
  yesNo
} from "../Variable.ts"
import {
  type AutoCovers,
  autoCoverageItems,
  autoCovers,
  type BaseCover,
  baseCovers,
  boughtCovers,
  type DamageCovers
} from "./covers.ts"
import { segmentOfVehicle, segments } from "./VehicleSegment.ts"

/** Incidents that are older than this many months are ignored. */
const incidentMonths = 36
const oldestVehicleYears = 99
const mostDrivers = 6
const mostIncidents = 60

/**
 * Makes the variable for a liability limit. Its values are the limits that callers can send, and the states' minimums.
 */
const limit = (fact: keyof State.LiabilityMinimum, cover: BaseCover): Variable => {
  const minimumOf = (state: State.StateCode) => State.get(state).liability_minimum[fact]
  const amounts = [...new Set([...limits[fact], ...State.servedStates.map(minimumOf)])].sort((a, b) => a - b)
  const inStates = (states: ReadonlyArray<State.StateCode>) => {
    const lowest = Math.min(...states.map(minimumOf))
    return amounts.filter((usd) => usd >= lowest)
  }
  return { domain: { kind: "values", all: amounts, inStates }, may_be_unknown: false, is_list: false, cover }
}

const policyVariables = {
  ...sharedVariables,
  vehicles: number(1, 6),
  drivers: number(1, mostDrivers),
  coverage_level: oneOf(values.coverage_levels),
  prior_insurance: oneOf([
    "continuous_12_months",
    "continuous_6_months",
    "lapse_under_30_days",
    "lapse_over_30_days",
    "never_insured"
  ]),
  residence_ownership: oneOf(["own", "rent", "other"], { may_be_unknown: true }),
  applicant_age: number(14, 110),
  applicant_license_status: oneOf(values.license_statuses),
  chargeable_incidents: number(0, mostIncidents),
  major_violations: number(0, mostIncidents),
  sr22_filings: number(0, mostDrivers)
} as const satisfies Variables["policy"]

const vehicleVariables = {
  vehicle_age: number(0, oldestVehicleYears, { may_be_unknown: true }),
  vehicle_segment: oneOf(segments),
  annual_miles: number(0, 100_000),
  primary_use: oneOf(values.primary_uses),
  ownership: oneOf(values.ownerships),
  salvage_title: yesNo(),
  bodily_injury_per_person_usd: limit("bodily_injury_per_person_usd", "bodily_injury"),
  bodily_injury_per_accident_usd: limit("bodily_injury_per_accident_usd", "bodily_injury"),
  property_damage_usd: limit("property_damage_usd", "property_damage"),
  uninsured_motorist_per_person_usd: limit("bodily_injury_per_person_usd", "uninsured_motorist"),
  uninsured_motorist_per_accident_usd: limit("bodily_injury_per_accident_usd", "uninsured_motorist"),
  medical_payments_usd: oneOf([1_000, 2_000, 5_000, 10_000], { cover: "medical_payments" }),
  comprehensive_deductible_usd: oneOf(values.deductibles_usd, { cover: "comprehensive" }),
  collision_deductible_usd: oneOf(values.deductibles_usd, { cover: "collision" })
} as const satisfies Variables["subject"]

const driverVariables = {
  driver_age: number(14, 110),
  years_licensed: number(0, 97),
  license_status: oneOf(values.license_statuses),
  marital_status: oneOf(values.marital_statuses, { may_be_unknown: true }),
  good_student: yesNo({ may_be_unknown: true }),
  sr22_required: yesNo(),
  incidents: oneOf(values.incident_types, { is_list: true })
} as const satisfies Variables["driver"]

/** The types of a driver's incidents that are recent enough to count. */
const recentIncidents = ({ incidents }: DriverFacts, today: string): ReadonlyArray<string> =>
  incidents.filter(({ month }) => monthsBetween(month, today) <= incidentMonths).map(({ type }) => type)

const priorInsurance = ({ prior_insurance: prior }: PersonalAutoFacts): string => {
  if (prior.status === "lapsed_under_30_days") return "lapse_under_30_days"
  if (prior.status === "lapsed_over_30_days") return "lapse_over_30_days"
  if (prior.status === "never_insured") return "never_insured"
  const months = prior.months_continuous ?? 12
  if (months >= 12) return "continuous_12_months"
  // Less than six continuous months of insurance are rated like a short lapse.
  return months >= 6 ? "continuous_6_months" : "lapse_under_30_days"
}

const chargeable = ["at_fault_accident", "minor_violation", "major_violation"]

const policyKnown = (facts: PersonalAutoFacts, today: string): Known<keyof typeof policyVariables> => {
  const incidents = facts.drivers.flatMap((driver) => recentIncidents(driver, today))
  const self = facts.drivers.find(({ relationship }) => relationship === "self")
  return {
    ...sharedKnown(facts.garaging_address, facts.billing_preference),
    vehicles: facts.vehicles.length,
    drivers: facts.drivers.length,
    coverage_level: facts.coverage.level,
    prior_insurance: priorInsurance(facts),
    residence_ownership: facts.residence_ownership,
    applicant_age: self === undefined ? undefined : ageOf(self, today),
    applicant_license_status: self?.license_status,
    chargeable_incidents: incidents.filter((type) => chargeable.includes(type)).length,
    major_violations: incidents.filter((type) => type === "major_violation").length,
    sr22_filings: facts.drivers.filter(({ sr22_required }) => sr22_required).length
  }
}

const ageOf = ({ date_of_birth }: DriverFacts, today: string): number =>
  nearest(ageInYears(date_of_birth, today), 14, 110)

const driverKnown = (facts: DriverFacts, today: string): Known<keyof typeof driverVariables> => ({
  driver_age: ageOf(facts, today),
  years_licensed: facts.years_licensed,
  license_status: facts.license_status,
  marital_status: facts.marital_status,
  good_student: facts.good_student,
  sr22_required: facts.sr22_required,
  incidents: recentIncidents(facts, today)
})

const vehicleKnown = (
  facts: VehicleFacts,
  covers: AutoCovers,
  damage: DamageCovers,
  today: string
): Known<keyof typeof vehicleVariables> => {
  const { model_year } = facts
  return {
    vehicle_age: model_year === undefined ? undefined : nearest(yearOf(today) - model_year, 0, oldestVehicleYears),
    vehicle_segment: segmentOfVehicle(facts),
    annual_miles: facts.annual_miles,
    primary_use: facts.primary_use,
    ownership: facts.ownership,
    salvage_title: facts.salvage_title,
    bodily_injury_per_person_usd: covers.bodily_injury.per_person,
    bodily_injury_per_accident_usd: covers.bodily_injury.per_accident,
    property_damage_usd: covers.property_damage,
    uninsured_motorist_per_person_usd: covers.uninsured_motorist?.per_person,
    uninsured_motorist_per_accident_usd: covers.uninsured_motorist?.per_accident,
    medical_payments_usd: covers.medical_payments === 0 ? undefined : covers.medical_payments,
    comprehensive_deductible_usd: damage.comprehensive ?? undefined,
    collision_deductible_usd: damage.collision ?? undefined
  }
}

/** The rating of the line for car insurance. */
export const personalAuto = Rating.make<PersonalAutoFacts>({
  line,
  covers: baseCovers,
  variables: { policy: policyVariables, subject: vehicleVariables, driver: driverVariables },
  settings: [],
  riskOf: (facts, _, today) => {
    const policy = policyKnown(facts, today)
    const covers = autoCovers(facts)
    const subjects = subjectsOf(facts)
    return {
      state: facts.garaging_address.state,
      effective_date: facts.effective_date,
      billing_preference: facts.billing_preference,
      policy,
      subjects: facts.vehicles.flatMap((vehicle, index) => {
        const [subject, damage] = [subjects[index], covers.vehicles[index]]
        if (subject === undefined || damage === undefined) return []
        return [
          {
            subject,
            known: { ...policy, ...vehicleKnown(vehicle, covers, damage, today) },
            covers: boughtCovers(covers, damage),
            coverages: autoCoverageItems(covers, damage)
          }
        ]
      }),
      drivers: facts.drivers.map((driver) => ({ ...policy, ...driverKnown(driver, today) })),
      conditions: [],
      assumptions: covers.assumptions
    }
  }
})
