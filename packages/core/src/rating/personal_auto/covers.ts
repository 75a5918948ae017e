import type { CoverageItem } from "../../carriers/Carrier.ts"
import type { Assumption } from "../../lines/Application.ts"
import type { PersonalAutoFacts, VehicleFacts } from "../../lines/personal_auto/complete.ts"
import * as State from "../../lines/State.ts"
import { deductible, limited, plain } from "../CoverageItems.ts"

/** The limits of a bodily injury coverage, in whole US dollars. */
export interface InjuryLimits {
  readonly per_person: number
  readonly per_accident: number
}

/**
 * The damage coverages of one vehicle, with deductibles in whole US dollars; null for a coverage that is not bought.
 */
export interface DamageCovers {
  readonly comprehensive: number | null
  readonly collision: number | null
}

/** The coverages that have a base rate, by name. */
export const baseCovers = [
  "bodily_injury",
  "property_damage",
  "uninsured_motorist",
  "medical_payments",
  "personal_injury_protection",
  "property_protection",
  "comprehensive",
  "collision",
  "rental_and_roadside"
] as const
/** A coverage that has a base rate. */
export type BaseCover = (typeof baseCovers)[number]

/** The coverages of a car policy, with limits in whole US dollars. */
export interface AutoCovers {
  readonly bodily_injury: InjuryLimits
  readonly property_damage: number
  readonly uninsured_motorist: InjuryLimits | null
  readonly medical_payments: number
  readonly personal_injury_protection: boolean
  readonly property_protection: number | null
  /** Whether rental reimbursement and roadside assistance are included. */
  readonly extras: boolean
  readonly vehicles: ReadonlyArray<DamageCovers>
  readonly assumptions: ReadonlyArray<Assumption>
}

interface Limits {
  readonly injury: InjuryLimits
  readonly property_damage: number
}

const standard: Limits = { injury: { per_person: 50_000, per_accident: 100_000 }, property_damage: 50_000 }
const enhanced: Limits = { injury: { per_person: 100_000, per_accident: 300_000 }, property_damage: 100_000 }

const minimumOf = ({ liability_minimum: minimum }: State.State): Limits => ({
  injury: {
    per_person: minimum.bodily_injury_per_person_usd,
    per_accident: minimum.bodily_injury_per_accident_usd
  },
  property_damage: minimum.property_damage_usd
})

const michiganPropertyProtectionUsd = 1_000_000
const rentalUsd = { per_day: 40, maximum: 1_200 }

/** The limits that were sent, or the level's limits if none were sent. The two limits are always sent together. */
const injuryOf = ({ coverage }: PersonalAutoFacts, level: InjuryLimits): InjuryLimits => {
  const { bodily_injury_per_person_usd: per_person, bodily_injury_per_accident_usd: per_accident } = coverage
  return per_person === undefined || per_accident === undefined ? level : { per_person, per_accident }
}

/** The assumptions about a vehicle if neither the facts nor the VIN provide the details. */
const vehicleAssumptions = (vehicle: VehicleFacts, index: number): ReadonlyArray<Assumption> => {
  const unknown = (name: string, label: string): Assumption => ({
    path: `application.vehicles.${index}.${name}`,
    value: null,
    source: "carrier_default",
    label
  })
  return [
    ...(vehicle.make === undefined || vehicle.model === undefined ? [unknown("model", "Rated as a standard car")] : []),
    ...(vehicle.model_year === undefined ? [unknown("model_year", "Rated as a car of unknown age")] : [])
  ]
}

/** The coverages of a car policy. For a limit that was not sent, the level's limit applies. */
export const autoCovers = (facts: PersonalAutoFacts): AutoCovers => {
  const { coverage, vehicles } = facts
  const state = State.get(facts.garaging_address.state)
  const level = { state_minimum: minimumOf(state), standard, enhanced }[coverage.level]
  const injury = injuryOf(facts, level.injury)
  return {
    bodily_injury: injury,
    property_damage: coverage.property_damage_usd ?? level.property_damage,
    uninsured_motorist: coverage.uninsured_motorist ? notAbove(level.injury, injury) : null,
    medical_payments: coverage.medical_payments_usd ?? 0,
    personal_injury_protection: state.pip,
    property_protection: state.code === "MI" ? michiganPropertyProtectionUsd : null,
    extras: coverage.level === "enhanced",
    vehicles: vehicles.map((vehicle) => ({
      comprehensive: vehicle.comprehensive_deductible_usd,
      collision: vehicle.collision_deductible_usd
    })),
    assumptions: vehicles.flatMap(vehicleAssumptions)
  }
}

/** Caps the uninsured motorist limits at the policy's own injury limits. */
const notAbove = (limits: InjuryLimits, bound: InjuryLimits): InjuryLimits => ({
  per_person: Math.min(limits.per_person, bound.per_person),
  per_accident: Math.min(limits.per_accident, bound.per_accident)
})

const injuryItems = (prefix: string, limits: InjuryLimits): ReadonlyArray<CoverageItem> => [
  limited(`${prefix}_per_person`, limits.per_person),
  limited(`${prefix}_per_accident`, limits.per_accident)
]

const damageItem = (code: string, usd: number | null): CoverageItem =>
  usd === null ? plain(code, false) : deductible(code, usd)

/**
 * The coverages of one vehicle as an offer lists them. Coverages of the whole policy are repeated for every vehicle.
 */
export const autoCoverageItems = (covers: AutoCovers, damage: DamageCovers): ReadonlyArray<CoverageItem> => {
  const uninsured = "uninsured_motorist_bodily_injury"
  return [
    ...injuryItems("bodily_injury", covers.bodily_injury),
    limited("property_damage", covers.property_damage),
    ...(covers.uninsured_motorist === null
      ? [plain(`${uninsured}_per_person`, false), plain(`${uninsured}_per_accident`, false)]
      : injuryItems(uninsured, covers.uninsured_motorist)),
    covers.medical_payments === 0
      ? plain("medical_payments", false)
      : limited("medical_payments", covers.medical_payments),
    ...(covers.personal_injury_protection ? [plain("personal_injury_protection", true)] : []),
    ...(covers.property_protection === null ? [] : [limited("property_protection", covers.property_protection)]),
    damageItem("comprehensive", damage.comprehensive),
    damageItem("collision", damage.collision),
    ...(covers.extras
      ? [
          limited("rental_reimbursement_per_day", rentalUsd.per_day),
          limited("rental_reimbursement_maximum", rentalUsd.maximum)
        ]
      : [plain("rental_reimbursement_per_day", false), plain("rental_reimbursement_maximum", false)]),
    plain("roadside_assistance", covers.extras)
  ]
}

/** The coverages that are bought for one vehicle. */
export const boughtCovers = (covers: AutoCovers, damage: DamageCovers): ReadonlyArray<BaseCover> => {
  const bought: { readonly [C in BaseCover]: boolean } = {
    bodily_injury: true,
    property_damage: true,
    uninsured_motorist: covers.uninsured_motorist !== null,
    medical_payments: covers.medical_payments > 0,
    personal_injury_protection: covers.personal_injury_protection,
    property_protection: covers.property_protection !== null,
    comprehensive: damage.comprehensive !== null,
    collision: damage.collision !== null,
    rental_and_roadside: covers.extras
  }
  return baseCovers.filter((cover) => bought[cover])
}
