import * as fc from "fast-check"
import zip3File from "../../src/lines/data/zip3.json" with { type: "json" }
import type { StandardLineName } from "../../src/lines/standard.ts"
import { ratings } from "../../src/rating/ratings.ts"
import type { Variable } from "../../src/rating/Variable.ts"
import { reference, today } from "../sandbox/support.ts"

/*
 * Generated rate plans and applications: every variable of a line can select a factor, by every kind of table.
 */

const ranges: { readonly [state: string]: ReadonlyArray<ReadonlyArray<string>> } = zip3File.states

/** A place in one of these states. */
export const place = (states: ReadonlyArray<string>) =>
  fc
    .constantFrom(...states.flatMap((state) => (ranges[state] ?? []).map(([from, to]) => ({ state, from, to }))))
    .chain(({ from, state, to }) =>
      fc
        .integer({ min: Number(from), max: Number(to) })
        .map((zip3) => ({ state, zip: `${String(zip3).padStart(3, "0")}01` }))
    )

/** A record whose members may all be absent, except those that are required. */
const some = (
  required: { readonly [name: string]: fc.Arbitrary<unknown> },
  optional: { readonly [name: string]: fc.Arbitrary<unknown> } = {}
) =>
  fc
    .tuple(fc.record(required), fc.record(optional, { requiredKeys: [] }))
    .map(([always, sometimes]): object => ({ ...always, ...sometimes }))

const of = <const Value>(...values: ReadonlyArray<Value>): fc.Arbitrary<Value> => fc.constantFrom(...values)

const common = { billing_preference: of("pay_in_full", "monthly") }

const incident = fc.record({
  type: of(
    "at_fault_accident",
    "not_at_fault_accident",
    "minor_violation",
    "major_violation",
    "comprehensive_claim",
    "glass_claim"
  ),
  month: fc.integer({ min: 2021, max: 2026 }).map((year) => `${year}-05`)
})

const driver = (relationship: string) =>
  some(
    {
      relationship: of(relationship),
      date_of_birth: fc.integer({ min: 1920, max: 2011 }).map((year) => `${year}-03-04`),
      license_status: of("valid", "permit", "expired", "suspended", "revoked", "foreign", "never_licensed")
    },
    {
      marital_status: of("single", "widowed"),
      good_student: fc.boolean(),
      sr22_required: fc.boolean(),
      incidents: fc.array(incident, { maxLength: 10 })
    }
  )

const vehicle = fc.oneof(
  of({ vin: "1HGCM82633A004352" }),
  some(
    { model_year: fc.integer({ min: 1981, max: 2028 }), make: of("Honda", "BMW", "Yugo"), model: of("Accord", "M3") },
    {
      primary_use: of("commute", "pleasure", "business", "farm", "rideshare"),
      annual_miles: fc.integer({ min: 0, max: 100_000 }),
      ownership: of("owned", "leased"),
      salvage_title: fc.boolean(),
      comprehensive_deductible_usd: of(250, 500, 1_000, 2_000, null),
      collision_deductible_usd: of(250, 500, 1_000, 2_000, null)
    }
  )
)

/** Applications of a line in these states. Some are refused by the rules between facts. */
export const applications = (line: StandardLineName, states: ReadonlyArray<string>): fc.Arbitrary<object> => {
  const where = place(states)
  if (line === "personal_auto") {
    return some(
      {
        garaging_address: where,
        drivers: fc
          .tuple(driver("self"), fc.array(driver("spouse"), { maxLength: 5 }))
          .map(([self, others]) => [self, ...others]),
        vehicles: fc.array(vehicle, { minLength: 1, maxLength: 6 })
      },
      {
        ...common,
        residence_ownership: of("own", "rent"),
        coverage: some(
          {},
          {
            level: of("state_minimum", "standard", "enhanced"),
            uninsured_motorist: fc.boolean(),
            medical_payments_usd: of(0, 1_000, 2_000, 5_000, 10_000)
          }
        ),
        prior_insurance: some(
          { status: of("insured", "lapsed_under_30_days", "lapsed_over_30_days", "never_insured") },
          { months_continuous: of(0, 5, 6, 11, 12, 600) }
        )
      }
    )
  }
  if (line === "renters") {
    return some(
      {
        dwelling: some(
          {
            address: where,
            type: of("apartment", "condo", "townhouse", "duplex", "single_family", "mobile_home", "other")
          },
          {
            year_built: fc.integer({ min: 1_700, max: 2_028 }),
            units_in_building: fc.integer({ min: 1, max: 2_000 }),
            automatic_sprinkler: fc.boolean(),
            short_term_rental: fc.boolean()
          }
        )
      },
      {
        ...common,
        coverage: some(
          {},
          {
            personal_property_usd: fc.integer({ min: 5, max: 150 }).map((thousands) => 1_000 * thousands),
            liability_usd: of(100_000, 300_000, 500_000),
            medical_payments_usd: of(1_000, 2_500, 5_000),
            deductible_usd: of(250, 500, 1_000, 2_500),
            replacement_cost: fc.boolean()
          }
        ),
        household: some(
          {},
          { residents: fc.integer({ min: 1, max: 12 }), claims_last_5_years: fc.integer({ min: 0, max: 10 }) }
        )
      }
    )
  }
  return some(
    {
      residence: where,
      pets: fc.array(
        some(
          {
            species: of("dog", "cat"),
            breed: of("unknown", "mixed"),
            size: of("small", "giant"),
            age_years: fc.integer({ min: 0, max: 25 })
          },
          {
            birth_month: of("1996-02", "2026-09", "2026-11"),
            sex: of("female", "unknown"),
            spayed_neutered: fc.boolean()
          }
        ),
        { minLength: 1, maxLength: 5 }
      )
    },
    {
      ...common,
      coverage: some(
        {},
        {
          plan: of("accident_only", "accident_illness"),
          wellness: fc.boolean(),
          deductible_usd: of(100, 250, 500, 750, 1_000),
          reimbursement_percent: of(70, 80, 90, 100),
          annual_limit_usd: of<number | string>(5_000, 10_000, 15_000, "unlimited")
        }
      )
    }
  )
}

const factor = fc.oneof(
  { weight: 1, arbitrary: of(0.0001, 3, 100) },
  { weight: 30, arbitrary: fc.integer({ min: 7_000, max: 13_000 }).map((value) => value / 10_000) }
)
const amount = fc.oneof(
  { weight: 1, arbitrary: of(0, 10_000_000) },
  { weight: 20, arbitrary: fc.integer({ min: 0, max: 50_000 }) }
)
/** Whether a value of a table is missing. */
const forgotten = fc.integer({ min: 0, max: 49 }).map((number) => number === 0)

/** Tables, which occasionally lack a value. */
const table = (
  name: string,
  { domain, may_be_unknown }: Variable,
  value: fc.Arbitrary<number>
): fc.Arbitrary<object> => {
  const shape = (): fc.Arbitrary<object> => {
    if (domain.kind === "text") return fc.record({ values: of({}), otherwise: value })
    if (domain.kind === "values") {
      const values = fc.array(value, { minLength: domain.all.length, maxLength: domain.all.length })
      return fc.tuple(values, forgotten).map(([drawn, isForgotten]) => ({
        values: Object.fromEntries(
          domain.all.map((key, index) => [String(key), drawn[index]]).slice(isForgotten ? 1 : 0)
        )
      }))
    }
    const { maximum, minimum } = domain
    const middle = Math.floor((minimum + maximum) / 2)
    return fc.oneof(
      fc.tuple(value, value).map(([low, high]) => ({
        bands: [
          { from: minimum, to: middle, value: low },
          { from: middle + 1, value: high }
        ]
      })),
      fc.tuple(value, value).map(([low, high]) => ({
        points: [
          { at: minimum, value: low },
          { at: maximum, value: high }
        ]
      }))
    )
  }
  return fc.tuple(shape(), value).map(([made, unknown]) => ({ by: name, ...made, ...(may_be_unknown && { unknown }) }))
}

/** Plans of a line, without an example. Not all are valid. */
export const plans = (line: StandardLineName): fc.Arbitrary<object> => {
  const rating = ratings.get(line)
  if (rating === undefined) throw new Error(`${line} has no rating`)
  const { driver: driverVariables, policy, subject } = rating.variables
  const selected = Object.entries({ ...policy, ...subject })
  const factors = fc.tuple(
    ...selected.map(([name, variable], index) =>
      table(name, variable, factor).map((made) => ({
        name: `factor_${index}`,
        ...made,
        ...(variable.cover !== undefined && { covers: [variable.cover] })
      }))
    )
  )
  const means = fc
    .tuple(...Object.entries(driverVariables).map(([name, variable]) => table(name, variable, factor)))
    .map((tables) => ({
      name: "drivers",
      mean_of_drivers: { factors: tables.map((made, index) => ({ name: `factor_${index}`, ...made })) }
    }))
  return fc
    .record({
      states: of(["NY"], ["CA", "TX"], ["AK", "FL", "MI", "VA"]),
      rounding: of("cent", "dollar"),
      bases: fc.array(amount, { minLength: rating.covers.length, maxLength: rating.covers.length }),
      factors: factors.chain((all) => fc.shuffledSubarray(all)),
      mean: means,
      minimum_cents: fc.integer({ min: 1, max: 20_000 }),
      maximum_cents: of(undefined, 20_000, 1_000_000),
      months: of(1, 6, 12),
      in_full: of(undefined, 0.93),
      underwriting: of([], [{ reason: "carrier_notice", when: [{ by: "billing_preference", is: ["pay_in_full"] }] }])
    })
    .map(
      ({
        bases,
        factors: drawnFactors,
        in_full,
        maximum_cents,
        mean,
        minimum_cents,
        months,
        rounding,
        states,
        underwriting
      }) => ({
        format: "quotewire-rate-plan/1",
        carrier: { id: "naic:00000", name: "Made Up" },
        line,
        product: "Made up",
        reviewed_on: today,
        states,
        rounding,
        base_cents: Object.fromEntries(rating.covers.map((cover, index) => [cover, { cents: bases[index] }])),
        factors: Object.keys(driverVariables).length === 0 ? drawnFactors : [mean, ...drawnFactors],
        minimum_cents,
        ...(maximum_cents !== undefined && { maximum_cents }),
        terms: {
          months,
          valid_days: 30,
          first_start_days: 1,
          last_start_days: 60,
          ...(in_full !== undefined && { pay_in_full_factor: in_full })
        },
        underwriting,
        conditions: ["Made up."]
      })
    )
}

/** An application of each line in a state, for examples. */
export const exampleIn = (line: StandardLineName, state: string): object => {
  const [from = "000"] = ranges[state]?.[0] ?? []
  const address = { state, zip: `${from}01` }
  if (line === "personal_auto") return { ...reference.personal_auto, garaging_address: address }
  if (line === "renters") return { dwelling: { ...reference.renters.dwelling, address } }
  return { ...reference.pet, residence: address }
}
