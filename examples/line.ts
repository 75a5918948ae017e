import {
  Application,
  CoverageItems,
  defineCarrier,
  defineConfig,
  defineLine,
  Fact,
  Money,
  Rating,
  Reply,
  ratePlanCarrier,
  SharedFacts,
  standardLines,
  Variable
} from "@quotewire/core"
import { Schema } from "effect"

const Facts = Schema.Struct({
  applicant: Schema.optionalKey(SharedFacts.Applicant),
  home: SharedFacts.address({
    state: "State where the bicycle is kept",
    zip: "ZIP code where the bicycle is kept"
  }),
  bicycle: Schema.Struct({
    value_usd: Fact.wholeNumber(100, 20_000, { label: "Price of the bicycle when it was new", "x-tier": "price" }),
    electric: Schema.optionalKey(Fact.yesNo({ "x-assume": { value: false } }))
  }),
  deductible_usd: Schema.optionalKey(Fact.choice([50, 100, 250], { "x-assume": { value: 100 } })),
  ...SharedFacts.policyFacts
})

const subjectIn = (state: string) => Application.subject("bicycle", 0, `Bicycle in ${state}`)

/** Insurance for bicycles. */
export const bicycle = defineLine({
  name: "bicycle",
  insures: "bicycles",
  facts_version: "2026-11-20",
  facts: Facts,
  example: { home: { state: "NY", zip: "10001" }, bicycle: { value_usd: 1_200 } },
  rules: (draft, today, problems) => {
    SharedFacts.checkCommon(draft, today, problems)
    SharedFacts.checkAddress(draft.home, "application.home", problems)
  },
  assume: (facts, today, assumptions) => ({
    ...facts,
    ...SharedFacts.completePolicy(facts, today, assumptions),
    bicycle: {
      ...facts.bicycle,
      electric: assumptions.fill(facts.bicycle.electric, "bicycle.electric", false, "Without a motor")
    },
    deductible_usd: assumptions.fill(facts.deductible_usd, "deductible_usd", 100, "$100 deductible")
  }),
  stateOf: ({ home }) => home.state,
  subjectsOf: ({ home }) => [subjectIn(home.state)],
  disclosures: ["bicycle_not_racing"],
  codes: {
    coverage_codes: ["theft", "deductible"],
    subject_kinds: ["bicycle"],
    billing_cycles: SharedFacts.billing_cycles,
    fee_codes: ["policy_fee"]
  }
})

/** The coverages and variables that rate plans for bicycle insurance can use. */
export const rating = Rating.make({
  line: bicycle,
  covers: ["theft"],
  variables: {
    policy: {
      ...Variable.sharedVariables,
      value_usd: Variable.number(100, 20_000),
      electric: Variable.yesNo(),
      deductible_usd: Variable.oneOf([50, 100, 250])
    },
    subject: {},
    driver: {}
  },
  riskOf: ({ billing_preference, bicycle: { electric, value_usd }, deductible_usd, effective_date, home }) => {
    const known = { ...Variable.sharedKnown(home, billing_preference), value_usd, electric, deductible_usd }
    const subject = subjectIn(home.state)
    const coverages = [
      CoverageItems.limited("theft", value_usd),
      CoverageItems.deductible("deductible", deductible_usd)
    ]
    return {
      state: home.state,
      effective_date,
      billing_preference,
      policy: known,
      subjects: [{ subject, known, covers: ["theft"], coverages }],
      drivers: [],
      conditions: [],
      assumptions: []
    }
  }
})

/** A fictional carrier's rates. Amounts of money are in cents. */
export const plan = {
  format: "quotewire-rate-plan/1",
  carrier: { id: "mga:spoke", name: "Spoke Mutual" },
  line: "bicycle",
  product: "12-month bicycle",
  reviewed_on: "2026-11-20",
  states: ["NY", "TX"],
  rounding: "cent",
  base_cents: {
    theft: {
      by: "value_usd",
      points: [
        { at: 100, value: 1_500 },
        { at: 20_000, value: 120_000 }
      ]
    }
  },
  factors: [
    { name: "electric", by: "electric", values: { true: 1.4, false: 1 } },
    { name: "deductible", by: "deductible_usd", values: { 50: 1.1, 100: 1, 250: 0.85 } }
  ],
  minimum_cents: 2_500,
  terms: { months: 12, valid_days: 30, first_start_days: 0, last_start_days: 60 },
  underwriting: [{ reason: "property_not_eligible", when: [{ by: "value_usd", above: 15_000 }] }],
  handoff: { hosts: ["spoke.example"], url: "https://spoke.example/quotes/{offer_ref}" },
  examples: [{ name: "The smallest application", on: "2026-11-20", application: bicycle.example, premium_cents: 8_050 }]
}

/** Insures bicycles in the sandbox with the rate plan above. */
const spoke = ratePlanCarrier(plan, { ratings: [rating], environments: ["sandbox"] })

/** Insures bicycles in New York for a tenth of the bicycle's price. */
const wheelhouse = defineCarrier({
  id: "mga:wheelhouse",
  name: "Wheelhouse",
  environments: ["live"],
  lines: { bicycle: { states: ["NY"], idempotent: true } },
  handoff_hosts: ["wheelhouse.example"],
  ask: (call) => {
    const { bicycle: insured } = bicycle.factsOf(call)
    const premium = Money.dollars(insured.value_usd / 10)
    const handoff_url = `https://wheelhouse.example/quotes/${call.idempotency_key}`
    return Reply.offers([{ offer_ref: call.idempotency_key, premium, term_months: 12, handoff_url }])
  }
})

/** The configuration of a service that offers bicycle insurance in addition to the standard lines. */
export const config = defineConfig({ lines: [...standardLines, bicycle], carriers: [spoke, wheelhouse] })
