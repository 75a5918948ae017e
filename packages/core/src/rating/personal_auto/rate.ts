import type {
  DriverFacts,
  PersonalAutoFacts,
  PriorInsuranceFacts,
  VehicleFacts
} from "../../lines/personal_auto/assume.ts"
import * as State from "../../lines/State.ts"
import { ageInYears } from "../../wire/Timestamp.ts"
import { monthsBetween, yearOf } from "../calendar.ts"
import type { Rated } from "../Rated.ts"
import { factor, mul, mulAll, neutral, step, territory } from "../RatePlan.ts"
import { type AutoCovers, autoCoverageItems, autoCovers, type DamageCovers } from "./covers.ts"
import { type AutoCarrierPlan, plan as autoPlan } from "./plan.ts"
import { segmentOfVehicle } from "./VehicleSegment.ts"

const { base_cents, factors, territory_bp } = autoPlan

/** Incidents older than this many months do not count. */
const incident_months = 36

const driver_cap = 35_000
const multi_car = 9_000
// For an unknown model year: an age whose factor is neutral.
const unknown_vehicle_age = 6

/** States that forbid rating by age. The years since the license are used instead. */
const rated_by_experience = ["CA", "HI", "MA"]

/** The incidents of a driver that are recent enough to count. */
export const recentIncidents = (driver: DriverFacts, today: string) =>
  driver.incidents.filter((incident) => monthsBetween(incident.month, today) <= incident_months)

const driverFactor = (driver: DriverFacts, state: string, plan: AutoCarrierPlan, today: string): number => {
  const start = rated_by_experience.includes(state)
    ? step(factors.exp, driver.years_licensed)
    : step(plan.age ?? factors.age, ageInYears(driver.date_of_birth, today))
  const incidents = recentIncidents(driver, today).map((incident) => factor(factors.incident, incident.type))
  return Math.min(driver_cap, mulAll(start, incidents))
}

/** The mean factor of all drivers, rounded half up. */
const policyDriverFactor = (facts: PersonalAutoFacts, plan: AutoCarrierPlan, today: string): number => {
  const count = facts.drivers.length
  const total = facts.drivers.reduce(
    (sum, driver) => sum + driverFactor(driver, facts.garaging_address.state, plan, today),
    0
  )
  return Math.floor((2 * total + count) / (2 * count))
}

const priorFactor = (prior: PriorInsuranceFacts, state: string): number => {
  // California forbids rating by insurance history.
  if (state === "CA") return neutral
  const { continuous_12_months, continuous_6_months, lapse_under_30_days, lapse_over_30_days, never_insured } =
    factors.prior
  if (prior.status === "lapsed_under_30_days") return lapse_under_30_days
  if (prior.status === "lapsed_over_30_days") return lapse_over_30_days
  if (prior.status === "never_insured") return never_insured
  const months = prior.months_continuous ?? 12
  if (months >= 12) return continuous_12_months
  // Less than six months of continuous insurance is rated like a short lapse.
  return months >= 6 ? continuous_6_months : lapse_under_30_days
}

interface VehicleRisk {
  readonly vehicle: VehicleFacts
  readonly damage: DamageCovers
  /** The factors that apply to all covers of the vehicle, in their order. */
  readonly shared: ReadonlyArray<number>
}

const thousands = (usd: number): number => usd / 1_000

/** The price of one vehicle for twelve months, in cents. */
const vehiclePrice = (risk: VehicleRisk, covers: AutoCovers, plan: AutoCarrierPlan, today: string): number => {
  const { vehicle, damage, shared } = risk
  const [segment_damage, segment_liability] = (plan.seg ?? factors.seg)[segmentOfVehicle(vehicle)] ?? [neutral, neutral]
  const age = vehicle.model_year === undefined ? unknown_vehicle_age : Math.max(0, yearOf(today) - vehicle.model_year)
  const cover = (base: number, ...own: ReadonlyArray<number>) => mulAll(base, [...shared, ...own])
  const bi = factor(factors.biLimit, thousands(covers.bodily_injury.per_person))
  const pd = factor(factors.pdLimit, thousands(covers.property_damage))
  const damages = (base: number, table: { readonly [usd: string]: number }, usd: number | null) =>
    usd === null ? 0 : cover(base, factor(table, usd), step(factors.vehAge, age), segment_damage)
  return (
    cover(base_cents.bi, bi, segment_liability) +
    cover(base_cents.pd, pd, segment_liability) +
    (covers.uninsured_motorist === null
      ? 0
      : cover(base_cents.um, factor(factors.biLimit, thousands(covers.uninsured_motorist.per_person)))) +
    damages(base_cents.coll, factors.coll, damage.collision) +
    damages(base_cents.comp, factors.comp, damage.comprehensive) +
    (covers.personal_injury_protection ? cover(base_cents.pip) : 0)
  )
}

/** The price of a car policy: each vehicle for twelve months, then the sum for the carrier's term. */
export const rateAuto = (
  facts: PersonalAutoFacts,
  plan: AutoCarrierPlan,
  today: string
): Omit<Rated, "fees" | "conditions"> => {
  const { state, zip } = facts.garaging_address
  const covers = autoCovers(facts)
  const drivers = policyDriverFactor(facts, plan, today)
  const prices = facts.vehicles.map((vehicle, index) => {
    const shared = [
      State.get(state).auto_index_bp,
      territory(territory_bp, zip),
      drivers,
      step(plan.mileage ?? factors.mileage, vehicle.annual_miles),
      factor(factors.use, vehicle.primary_use),
      priorFactor(facts.prior_insurance, state),
      ...(facts.vehicles.length > 1 ? [multi_car] : []),
      plan.base
    ]
    const damage = covers.vehicles[index] ?? { comprehensive: null, collision: null }
    return vehiclePrice({ vehicle, damage, shared }, covers, plan, today)
  })
  const year = prices.reduce((sum, price) => sum + price, 0)
  const paid = facts.billing_preference === "pay_in_full" ? mul(year, plan.pif) : year
  return {
    premium: Math.max(plan.minimum, Math.floor((paid * plan.term + 6) / 12)),
    term_months: plan.term,
    coverages: covers.vehicles.map((damage) => autoCoverageItems(covers, damage)),
    assumptions: covers.assumptions
  }
}
