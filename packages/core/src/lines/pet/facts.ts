import { Schema } from "effect"
import * as Fact from "../Fact.ts"
import { Applicant, address, policyFacts } from "../SharedFacts.ts"

/** The values of facts for which rate plans have factors. */
export const values = {
  species: ["dog", "cat"],
  sexes: ["female", "male", "unknown"],
  plans: ["accident_only", "accident_illness"],
  deductibles_usd: [100, 250, 500, 750, 1_000],
  reimbursement_percents: [70, 80, 90, 100],
  annual_limits_usd: [5_000, 10_000, 15_000, "unlimited"]
} as const

/** The sizes of a dog, smallest first. */
export const sizes = ["small", "medium", "large", "giant"] as const

/** The text with which a person is asked for the size. */
export const sizeLabel = "Size of a dog of mixed or unknown breed"

const Animal = Schema.Struct({
  name: Schema.optionalKey(
    Fact.text({ min: 1, max: 40 }, { title: "The pet's name", examples: ["Luna"], "x-pii": "indirect" })
  ),
  species: Fact.choice(values.species, {
    title: "Whether it is a dog or a cat",
    label: "Dog or cat",
    "x-tier": "price"
  }),
  breed: Fact.text(
    { min: 2, max: 60 },
    {
      title: "The pet's breed",
      label: "Breed of the pet",
      examples: ["Golden Retriever"],
      description: "Breed name or one of mixed, domestic_shorthair, domestic_longhair, unknown",
      "x-tier": "price"
    }
  ),
  size: Schema.optionalKey(
    Fact.choice(sizes, {
      title: "How big the dog is, or will be",
      label: sizeLabel,
      description: "Needed for a mixed or unknown dog"
    })
  ),
  birth_month: Schema.optionalKey(
    Fact.month({
      title: "The month the pet was born; an estimate will do",
      examples: ["2021-04"],
      label: "Month of birth of the pet",
      "x-tier": "price"
    })
  ),
  age_years: Schema.optionalKey(
    Fact.wholeNumber(0, 25, {
      title: "The pet's age in years",
      label: "Age of the pet in years",
      "x-tier": "price"
    })
  ),
  sex: Schema.optionalKey(Fact.choice(values.sexes, { title: "The pet's sex" })),
  spayed_neutered: Schema.optionalKey(Fact.yesNo({ title: "Whether the pet is spayed or neutered" })),
  microchipped: Schema.optionalKey(Fact.yesNo({ title: "Whether the pet has a microchip" })),
  prior_conditions: Schema.optionalKey(
    Fact.choice(["none_known", "some", "unknown"], {
      title: "Whether the pet has, or had, an illness or injury",
      description: "Never asked for a diagnosis",
      "x-assume": { value: "unknown" }
    })
  )
}).check(
  Fact.oneGroupOf(["birth_month"], ["age_years"]),
  Fact.requiredWhen({ species: ["dog"], breed: ["mixed", "unknown"] }, "size")
)

const Coverage = Schema.Struct({
  plan: Schema.optionalKey(
    Fact.choice(values.plans, {
      title: "What is covered: accidents only, or illnesses too",
      "x-assume": { value: "accident_illness" }
    })
  ),
  wellness: Schema.optionalKey(
    Fact.yesNo({
      title: "Whether routine care, such as vaccinations, is covered too",
      "x-assume": { value: false }
    })
  ),
  deductible_usd: Schema.optionalKey(
    Fact.choice(values.deductibles_usd, {
      title: "The yearly deductible, in US dollars",
      "x-assume": { value: 500 }
    })
  ),
  reimbursement_percent: Schema.optionalKey(
    Fact.choice(values.reimbursement_percents, {
      title: "The share of a bill that is reimbursed after the deductible, in percent",
      "x-assume": { value: 80 }
    })
  ),
  annual_limit_usd: Schema.optionalKey(
    Fact.choice(values.annual_limits_usd, {
      title: "The yearly limit, in US dollars, or `unlimited`",
      "x-assume": { value: 10_000 }
    })
  )
}).annotate({ title: "What should be covered, for each pet" })

/** The facts for pet insurance, as a caller sends them. */
export const Pet = Schema.Struct({
  applicant: Schema.optionalKey(Applicant),
  residence: address({
    of: "Where the pet lives",
    state: "State where the pet lives",
    zip: "ZIP code where the pet lives"
  }),
  pets: Fact.listOf(Animal, { min: 1, max: 5 }, { title: "The pets to insure" }),
  coverage: Schema.optionalKey(Coverage),
  ...policyFacts
})
export interface Pet extends Schema.Schema.Type<typeof Pet> {}
