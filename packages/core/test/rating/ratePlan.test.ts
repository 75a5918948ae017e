import { assert, describe, it } from "@effect/vitest"
import example from "../../../../examples/rate-plan.json" with { type: "json" }
import * as RatePlan from "../../src/rating/RatePlan.ts"
import { planOf } from "./fictional.ts"

const [contents, deductible, year_built, wind] = example.factors
const [smallest, house] = example.examples

/** A plan for cars with everything that only cars have. */
const auto = planOf("sbx_pinecrest", "personal_auto")

type Row = readonly [fault: string, plan: object, path: string, message: string]

const withFactor = (factor: object): object => ({ ...example, factors: [factor, ...example.factors.slice(1)] })
const withRule = (rule: object): object => ({ ...example, underwriting: [rule] })
const withExample = (changes: object): object => ({ ...example, examples: [{ ...smallest, ...changes }] })
const withAuto = (name: string, changes: object): object => ({
  ...auto,
  factors: auto.factors.map((factor) => (factor.name === name ? { ...factor, ...changes } : factor))
})

const shape: ReadonlyArray<Row> = [
  ["an unknown member", { ...example, comment: "x" }, "comment", "This field is not known."],
  ["an unknown format", { ...example, format: "2" }, "format", "Must be one of quotewire-rate-plan/1."],
  ["an unknown line", { ...example, line: "boat" }, "line", "Must be one of personal_auto, renters, pet."],
  ["an unknown rounding", { ...example, rounding: "up" }, "rounding", "Must be one of cent, dollar."],
  ["a state that does not exist", { ...example, states: ["ZZ"] }, "states.0", "Must be one of AL, "],
  ["a factor of zero", withFactor({ name: "zero", factor: 0 }), "factors.0.factor", "Must be a factor above 0"],
  ["a factor above the limit", withFactor({ name: "big", factor: 100.5 }), "factors.0.factor", "at most 100"],
  [
    "a number with five decimals",
    withFactor({ name: "fine", factor: 1.00001 }),
    "factors.0.factor",
    "with up to four decimals"
  ],
  ["a date that does not exist", { ...example, reviewed_on: "2026-02-30" }, "reviewed_on", "Must be a calendar date"],
  ["a reason that does not exist", withRule({ reason: "mood" }), "underwriting.0.reason", "Must be one of "]
]

const tables: ReadonlyArray<Row> = [
  [
    "a value missing from a state's table",
    { ...example, base_cents: { policy: { by: "state", values: { NY: 14_200 } } } },
    "base_cents.policy.values.TX",
    "Is missing."
  ],
  ["a coverage without a base rate", { ...example, base_cents: {} }, "base_cents.policy", "Is missing."],
  [
    "a coverage that the line does not have",
    { ...example, base_cents: { ...example.base_cents, hail: { cents: 1 } } },
    "base_cents.hail",
    "Must be one of policy."
  ],
  [
    "an offered choice without a factor",
    { ...example, coverage: { loss_of_use_percent: 20 } },
    "factors.1.values.250",
    "Is missing."
  ],
  [
    "a value that cannot occur",
    withFactor({ ...deductible, values: { "500": 1, "750": 1, "1000": 1 } }),
    "factors.0.values.750",
    "Must be a value of deductible_usd: 250, 500, 1000, 2500."
  ],
  [
    "a gap between bands",
    withFactor({
      ...year_built,
      bands: [
        { from: 1_700, to: 1_899, value: 1 },
        { from: 1_910, value: 1 }
      ]
    }),
    "factors.0.bands.1.from",
    "Has a gap: 1900 to 1909 has no value."
  ],
  [
    "bands that overlap",
    withFactor({
      ...year_built,
      bands: [
        { from: 1_700, to: 1_900, value: 1 },
        { from: 1_900, value: 1 }
      ]
    }),
    "factors.0.bands.1.from",
    "Overlaps the previous band."
  ],
  [
    "a band after an unbounded band",
    withFactor({
      ...year_built,
      bands: [
        { from: 1_700, value: 1 },
        { from: 1_900, value: 1 }
      ]
    }),
    "factors.0.bands.1.from",
    "Overlaps the previous band."
  ],
  [
    "bands that begin too late",
    withFactor({ ...year_built, bands: [{ from: 1_701, value: 1 }] }),
    "factors.0.bands.0.from",
    "Has a gap: 1700 has no value."
  ],
  [
    "bands that end too early",
    withFactor({ ...year_built, bands: [{ from: 1_700, to: 2_000, value: 1 }] }),
    "factors.0.bands.0.to",
    "Has a gap: 2001 to 2028 has no value."
  ],
  [
    "points that are not in ascending order",
    withFactor({
      ...contents,
      points: [
        { at: 30_000, value: 1 },
        { at: 20_000, value: 1 }
      ]
    }),
    "factors.0.points.1.at",
    "Must be greater than the previous point."
  ],
  [
    "no unknown value for a fact that may be unknown",
    withFactor({ ...year_built, unknown: undefined }),
    "factors.0.unknown",
    "Is required, because the fact can be unknown."
  ],
  [
    "an unknown value for a fact that is always known",
    withFactor({ ...deductible, unknown: 1 }),
    "factors.0.unknown",
    "Must be absent: the fact is always known."
  ],
  [
    "ZIP codes without a default",
    withFactor({ name: "zip", by: "zip", values: { "10001": 1 } }),
    "factors.0.otherwise",
    "Is missing."
  ],
  [
    "a malformed ZIP code",
    withFactor({ name: "zip", by: "zip3", values: { "10001": 1 }, otherwise: 1 }),
    "factors.0.values.10001",
    "Must be three digits."
  ],
  [
    "two kinds of table in one factor",
    withFactor({ ...deductible, points: contents?.points }),
    "factors.0",
    "Must have exactly one of values, bands and points."
  ],
  [
    "a variable that the line does not have",
    withFactor({ ...deductible, by: "driver_age" }),
    "factors.0.by",
    "Must be one of the renters variables: state, "
  ],
  [
    "a duplicate name",
    { ...example, factors: [...example.factors, wind] },
    "factors.4.name",
    "Must differ from all earlier names"
  ],
  [
    "a part that never applies",
    withFactor({ name: "quake", states: ["CA"], factor: 1 }),
    "factors.0",
    "Applies in none of the plan's states."
  ],
  [
    "a mean of drivers in a line without drivers",
    withFactor({ name: "drivers", mean_of_drivers: { factors: [{ name: "one", factor: 1 }] } }),
    "factors.0.mean_of_drivers",
    "Must be absent: renters has no drivers."
  ],
  [
    "a driver's fact outside mean_of_drivers",
    withAuto("use", { by: "license_status" }),
    "factors.4.by",
    "Must be inside mean_of_drivers, because the variable is about a driver."
  ],
  [
    "a coverage-specific fact in a factor for all coverages",
    withAuto("collision_deductible", { covers: ["collision", "bodily_injury"] }),
    "factors.11",
    'The variable is only about collision: set covers to ["collision"].'
  ],
  [
    "a table without a limit that the state's law requires",
    withAuto("property_damage_limit", { values: { "50000": 1 } }),
    "factors.9.values.100000",
    "Is missing."
  ]
]

const rules: ReadonlyArray<Row> = [
  [
    "a value that the variable cannot have",
    withRule({ reason: "property_not_eligible", when: [{ by: "dwelling_type", is: ["castle"] }] }),
    "underwriting.0.when.0.is.0",
    "Must be a value of dwelling_type"
  ],
  [
    "a condition without a test",
    withRule({ reason: "prior_claims", when: [{ by: "claims_last_5_years" }] }),
    "underwriting.0.when.0",
    "Must have at least one of `is`, `above` and `below`."
  ],
  [
    "a numeric comparison of text",
    withRule({ reason: "prior_claims", when: [{ by: "dwelling_type", above: 1 }] }),
    "underwriting.0.when.0",
    "Must use `is`, not `above` or `below`: dwelling_type is not a number."
  ],
  [
    "a period that ends before it begins",
    withRule({ reason: "binding_moratorium", from: "2026-09-02", until: "2026-09-01" }),
    "underwriting.0.until",
    "Must not be before from."
  ],
  [
    "a fee code that the line does not have",
    { ...example, fees: [{ code: "smile_fee", cents: 1 }] },
    "fees.0.code",
    "Must be one of policy_fee, "
  ],
  [
    "a setting that belongs to a different line",
    { ...example, coverage: { ...example.coverage, accident_only_from_age: 9 } },
    "coverage.accident_only_from_age",
    "Must be absent: this setting does not apply to renters."
  ],
  [
    "an offered choice that does not exist",
    { ...example, coverage: { offered: { deductible_usd: [500, 750] } } },
    "coverage.offered.deductible_usd.1",
    "Must be a value of deductible_usd"
  ],
  [
    "a page on a host that is not declared",
    { ...example, handoff: { hosts: ["example.com"], url: "https://example.org/{offer_ref}" } },
    "handoff.url",
    "Must be an https URL on one of the hosts"
  ],
  [
    "a page whose URL would contain a fact",
    { ...example, handoff: { hosts: ["example.com"], url: "https://example.com/{zip}" } },
    "handoff.url",
    "with no placeholder other than {offer_ref}."
  ],
  [
    "a latest start before the earliest",
    { ...example, terms: { ...example.terms, first_start_days: 30, last_start_days: 20 } },
    "terms.last_start_days",
    "Must not be below first_start_days."
  ],
  ["a maximum below the minimum", { ...example, maximum_cents: 7_499 }, "maximum_cents", "Must not be below"]
]

const worked: ReadonlyArray<Row> = [
  [
    "an example's price that is off by a cent, and lists the steps",
    withExample({ premium_cents: 14_769 }),
    "examples.0.premium_cents",
    "The plan gives 14768, by these steps: dwelling-1.policy.base 14200, dwelling-1.policy.contents 14200, " +
      "dwelling-1.policy.deductible 14200, dwelling-1.policy.year_built 14768, dwelling-1.liability 0, " +
      "dwelling-1.total 14768, sum 14768, term 14768, minimum 14768, fees 14768."
  ],
  [
    "the first wrong step in an example",
    {
      ...example,
      examples: [
        {
          ...house,
          steps: { "dwelling-1.policy.contents": 23_435, "dwelling-1.policy.wind": 1, "dwelling-1.total": 2 }
        }
      ]
    },
    "examples.0.steps.dwelling-1.policy.wind",
    "The plan gives 24771."
  ],
  [
    "a step in an example that does not exist in the plan",
    withExample({ steps: { "dwelling-2.total": 1 } }),
    "examples.0.steps.dwelling-2.total",
    "There is no such step."
  ],
  [
    "an example with a price that the plan declines",
    withExample({ application: { dwelling: { ...smallest?.application.dwelling, type: "mobile_home" } } }),
    "examples.0",
    "The plan declines this example: property_not_eligible."
  ],
  [
    "an example with a decline that the plan prices",
    {
      ...example,
      examples: [smallest, { ...smallest, premium_cents: undefined, declined: "prior_claims" }]
    },
    "examples.1.declined",
    "The plan gives a premium of 14768."
  ],
  [
    "an example with facts that no caller could send",
    withExample({ application: { dwelling: { address: { state: "NY", zip: "78701" }, type: "tent" } } }),
    "examples.0.application.dwelling.type",
    "Must be one of apartment, condo, townhouse, duplex, single_family, mobile_home, other."
  ],
  [
    "examples without any price",
    { ...example, examples: example.examples.slice(2) },
    "examples",
    "Must have an example with a premium_cents."
  ]
]

describe("the rate plan check", () => {
  it.each([...shape, ...tables, ...rules, ...worked])("finds %s", (_, plan, path, message) => {
    const faults = RatePlan.check(plan)
    const found = faults.find((fault) => fault.path === path)
    assert.include(found?.message, message, JSON.stringify(faults))
  })

  it("finds a review date that is later than the given date", () => {
    assert.deepStrictEqual(RatePlan.check(example, { today: "2026-11-19" }), [
      { path: "reviewed_on", message: "Must not be in the future." }
    ])
    assert.deepStrictEqual(RatePlan.check(example, { today: "2026-11-20" }), [])
  })

  it.each<readonly [string, unknown]>([
    ["null", null],
    ["a number", 7],
    ["text", "plan"],
    ["an empty list", []],
    ["a list of plans", [example]]
  ])("finds that %s is not a rate plan", (_, input) => {
    assert.isNotEmpty(RatePlan.check(input))
  })

  it("lists at most a hundred faults, and counts the rest", () => {
    const rule = { reason: "prior_claims", when: [{ by: "none", above: 1 }] }
    const faults = RatePlan.check({ ...example, underwriting: Array.from({ length: 150 }, () => rule) })
    assert.lengthOf(faults, 101)
    assert.deepStrictEqual(faults.at(-1), { path: "", message: "There are 50 more errors." })
  })
})
