import { Schema } from "effect"
import * as Fact from "../Fact.ts"
import { Applicant, address, policyFacts } from "../SharedFacts.ts"
import { stateCodes } from "../State.ts"

const person = { "x-pii": "direct", "x-tier": "offer" } as const

/** The values of facts for which rate plans have factors. */
export const values = {
  incident_types: [
    "at_fault_accident",
    "not_at_fault_accident",
    "minor_violation",
    "major_violation",
    "comprehensive_claim",
    "glass_claim"
  ],
  license_statuses: ["valid", "permit", "expired", "suspended", "revoked", "foreign", "never_licensed"],
  marital_statuses: ["single", "married", "domestic_partner", "divorced", "widowed", "separated"],
  ownerships: ["owned", "financed", "leased"],
  primary_uses: ["commute", "pleasure", "business", "farm", "rideshare"],
  deductibles_usd: [250, 500, 1_000, 2_000],
  coverage_levels: ["state_minimum", "standard", "enhanced"]
} as const

const Incident = Schema.Struct({
  type: Fact.choice(values.incident_types, { title: "What kind of incident it was", label: "Kind of incident" }),
  month: Fact.month({
    label: "Month of the incident",
    title: "The month of the incident",
    description: "Month it happened; only the last 36 months count",
    examples: ["2025-03"]
  })
}).annotate({ "x-pii": "sensitive" })

const relationships = ["self", "spouse", "child", "parent", "other_household"] as const

/** The relationships to the applicant that an additional driver can have. */
export const otherRelationships = relationships.filter((relationship) => relationship !== "self")

const Driver = Schema.Struct({
  relationship: Fact.choice(relationships, {
    title: "The driver's relationship to the applicant; the first driver is the applicant",
    label: "The driver's relationship to the applicant (the first driver is the applicant)"
  }),
  first_name: Schema.optionalKey(Fact.personName({ title: "The driver's first name", examples: ["Ana"], ...person })),
  last_name: Schema.optionalKey(Fact.personName({ title: "The driver's last name", examples: ["Silva"], ...person })),
  date_of_birth: Fact.day({
    title: "The driver's date of birth",
    examples: ["1990-05-17"],
    label: "Date of birth of the driver",
    "x-pii": "direct",
    "x-tier": "price"
  }),
  license_status: Fact.choice(values.license_statuses, {
    title: "The status of the driver's license",
    label: "Status of the driver's license",
    "x-tier": "price"
  }),
  license_state: Schema.optionalKey(
    Fact.choice(stateCodes, {
      title: "The state that issued the license",
      "x-assume": { from: "garaging_address.state" }
    })
  ),
  years_licensed: Schema.optionalKey(
    Fact.wholeNumber(0, 84, {
      title: "How many years the driver has been licensed",
      "x-assume": { formula: "max(0, age - 16)" }
    })
  ),
  marital_status: Schema.optionalKey(
    Fact.choice(values.marital_statuses, { title: "The driver's marital status", "x-pii": "indirect" })
  ),
  good_student: Schema.optionalKey(Fact.yesNo({ title: "Whether the driver is a student with good grades" })),
  sr22_required: Schema.optionalKey(
    Fact.yesNo({ title: "Whether the driver must file an SR-22 with the state", "x-assume": { value: false } })
  ),
  incidents: Schema.optionalKey(
    Fact.listOf(
      Incident,
      { max: 10 },
      {
        title: "The driver's accidents, violations and claims; only the last 36 months count",
        "x-assume": { value: [] }
      }
    )
  )
})

const Vehicle = Schema.Struct({
  vin: Schema.optionalKey(
    Fact.textLike(/^[A-HJ-NPR-Z0-9]{17}$/u, "a VIN: 17 digits and capital letters without I, O and Q", {
      title: "The vehicle identification number, 17 characters",
      examples: ["1HGCM82633A004352"],
      label: "VIN of the vehicle",
      "x-pii": "indirect",
      "x-tier": "offer"
    })
  ),
  model_year: Schema.optionalKey(
    Fact.wholeNumber(1981, 2028, {
      title: "The model year",
      label: "Model year of the vehicle",
      "x-tier": "price"
    })
  ),
  make: Schema.optionalKey(
    Fact.text(
      { min: 2, max: 40 },
      { title: "The make, such as Toyota", examples: ["Toyota"], label: "Make of the vehicle", "x-tier": "price" }
    )
  ),
  model: Schema.optionalKey(
    Fact.text(
      { min: 1, max: 60 },
      { title: "The model, such as Camry", examples: ["Camry"], label: "Model of the vehicle", "x-tier": "price" }
    )
  ),
  trim: Schema.optionalKey(Fact.text({ max: 80 }, { title: "The trim level, such as LE", examples: ["LE"] })),
  ownership: Schema.optionalKey(
    Fact.choice(values.ownerships, {
      title: "Whether the vehicle is owned, financed or leased",
      "x-assume": { value: "owned" }
    })
  ),
  primary_use: Schema.optionalKey(
    Fact.choice(values.primary_uses, {
      title: "What the vehicle is mostly used for",
      "x-assume": { value: "commute" }
    })
  ),
  annual_miles: Schema.optionalKey(
    Fact.wholeNumber(0, 100_000, {
      title: "How many miles the vehicle is driven in a year",
      "x-assume": { value: 12_000 }
    })
  ),
  salvage_title: Schema.optionalKey(
    Fact.yesNo({ title: "Whether the vehicle has a salvage or rebuilt title", "x-assume": { value: false } })
  ),
  comprehensive_deductible_usd: Schema.optionalKey(
    Fact.choiceOrNull(values.deductibles_usd, {
      title: "The deductible for damage without a collision, such as by theft or hail",
      description: "US dollars; null means not wanted",
      "x-assume": { value: 500 }
    })
  ),
  collision_deductible_usd: Schema.optionalKey(
    Fact.choiceOrNull(values.deductibles_usd, {
      title: "The deductible for collision damage, in US dollars; null means not wanted",
      "x-assume": { value: 500 }
    })
  )
}).check(Fact.oneGroupOf(["vin"], ["model_year", "make", "model"]))

/** The liability limits that callers can send, in whole US dollars. */
export const limits = {
  bodily_injury_per_person_usd: [
    15_000, 20_000, 25_000, 30_000, 35_000, 40_000, 50_000, 100_000, 250_000, 300_000, 500_000
  ],
  bodily_injury_per_accident_usd: [
    30_000, 40_000, 50_000, 60_000, 65_000, 70_000, 80_000, 100_000, 300_000, 500_000, 1_000_000
  ],
  property_damage_usd: [5_000, 10_000, 15_000, 20_000, 25_000, 30_000, 50_000, 100_000, 250_000]
} as const

const Coverage = Schema.Struct({
  level: Schema.optionalKey(
    Fact.choice(values.coverage_levels, {
      title: "The level of coverage; limits that are sent take precedence",
      "x-assume": { value: "standard" }
    })
  ),
  bodily_injury_per_person_usd: Schema.optionalKey(
    Fact.choice(limits.bodily_injury_per_person_usd, {
      title: "The limit for injuries to one person, in US dollars",
      label: "Bodily injury limit for each person"
    })
  ),
  bodily_injury_per_accident_usd: Schema.optionalKey(
    Fact.choice(limits.bodily_injury_per_accident_usd, {
      title: "The limit for injuries to all people in one accident, in US dollars",
      label: "Bodily injury limit for each accident"
    })
  ),
  property_damage_usd: Schema.optionalKey(
    Fact.choice(limits.property_damage_usd, {
      title: "The limit for property damage in one accident, in US dollars",
      label: "Property damage limit"
    })
  ),
  uninsured_motorist: Schema.optionalKey(
    Fact.yesNo({
      title: "Whether injuries by drivers without insurance are covered",
      "x-assume": { value: true }
    })
  ),
  medical_payments_usd: Schema.optionalKey(
    Fact.choice([0, 1_000, 2_000, 5_000, 10_000], {
      title: "The limit for medical treatment of each occupant, in US dollars; 0 means not wanted"
    })
  )
})
  .annotate({ title: "What should be covered, for all vehicles" })
  .check(
    Fact.requiresWith("bodily_injury_per_person_usd", "bodily_injury_per_accident_usd", "property_damage_usd"),
    Fact.requiresWith("bodily_injury_per_accident_usd", "bodily_injury_per_person_usd")
  )

const PriorInsurance = Schema.Struct({
  status: Fact.choice(["insured", "lapsed_under_30_days", "lapsed_over_30_days", "never_insured"], {
    title: "Whether the person has car insurance now",
    label: "Whether there is car insurance now"
  }),
  months_continuous: Schema.optionalKey(
    Fact.wholeNumber(0, 600, { title: "How many months of insurance without a gap" })
  ),
  current_carrier: Schema.optionalKey(
    Fact.text({ max: 60 }, { title: "The name of the current carrier", examples: ["Example Mutual"] })
  )
}).annotate({ title: "The current or previous car insurance" })

/** The facts for car insurance, as a caller sends them. */
export const PersonalAuto = Schema.Struct({
  applicant: Schema.optionalKey(Applicant),
  garaging_address: address({
    of: "Where the car is kept at night",
    state: "State where the car is kept",
    zip: "ZIP code where the car is kept"
  }),
  residence_ownership: Schema.optionalKey(
    Fact.choice(["own", "rent", "other"], { title: "Whether the person owns or rents the home" })
  ),
  drivers: Fact.listOf(Driver, { min: 1, max: 6 }, { title: "Everybody who drives the vehicles, the applicant first" }),
  vehicles: Fact.listOf(Vehicle, { min: 1, max: 6 }, { title: "The vehicles to insure" }),
  coverage: Schema.optionalKey(Coverage),
  prior_insurance: Schema.optionalKey(PriorInsurance),
  ...policyFacts
})
export interface PersonalAuto extends Schema.Schema.Type<typeof PersonalAuto> {}
