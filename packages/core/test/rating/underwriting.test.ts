import { assert, describe, it } from "@effect/vitest"
import { servedStates } from "../../src/lines/State.ts"
import { addDays } from "../../src/wire/CalendarDay.ts"
import { autoFacts, monthsAgo, petFacts, reference, rentersFacts, servedBy, today } from "../sandbox/support.ts"
import { declined, planOf, plansOf, priced } from "./fictional.ts"

const [self] = reference.personal_auto.drivers
const [accord] = reference.personal_auto.vehicles
const driver = (changes: object) => ({ ...reference.personal_auto, drivers: [{ ...self, ...changes }] })
const vehicle = (changes: object) => ({ ...reference.personal_auto, vehicles: [{ ...accord, ...changes }] })
const incidents = (...types: ReadonlyArray<string>) =>
  driver({ incidents: types.map((type) => ({ type, month: monthsAgo(12) })) })
const prior = (status: string) => ({ ...reference.personal_auto, prior_insurance: { status } })

const autoIds = [...plansOf("personal_auto").keys()]
const rentersIds = [...plansOf("renters").keys()]
const petIds = [...plansOf("pet").keys()]

const decline = (line: string) => (id: string, facts: unknown, today: string) =>
  declined(planOf(id, line), { line, facts }, today)
const [declineAuto, declineRenters, declinePet] = [decline("personal_auto"), decline("renters"), decline("pet")]

const declines = (ids: ReadonlyArray<string>, of: (id: string) => string | null) =>
  Object.fromEntries(
    ids.flatMap((id) => {
      const reason = of(id)
      return reason === null ? [] : [[id.replace("sbx_", ""), reason]]
    })
  )

const everyone = (ids: ReadonlyArray<string>, reason: string) =>
  Object.fromEntries(ids.map((id) => [id.replace("sbx_", ""), reason]))

describe("a car insurer", () => {
  const rows: ReadonlyArray<readonly [string, unknown, { readonly [id: string]: string }]> = [
    ["accepts a driver with a clean record", reference.personal_auto, {}],
    [
      "declines a driver with a suspended license",
      driver({ license_status: "suspended" }),
      {
        harborline: "license_status",
        pinecrest: "license_status",
        bluefern: "license_status",
        meridian: "license_status"
      }
    ],
    [
      "declines a driver whose license was revoked",
      driver({ license_status: "revoked" }),
      {
        harborline: "license_status",
        pinecrest: "license_status",
        bluefern: "license_status",
        meridian: "license_status"
      }
    ],
    [
      "declines a driver who never had a license",
      driver({ license_status: "never_licensed", years_licensed: 0 }),
      everyone(autoIds, "license_status")
    ],
    ["declines a driver with a major violation", incidents("major_violation"), { harborline: "driving_record" }],
    ["accepts a driver with only two chargeable incidents", incidents("minor_violation", "at_fault_accident"), {}],
    [
      "declines a driver with three chargeable incidents",
      incidents("minor_violation", "minor_violation", "at_fault_accident"),
      { harborline: "driving_record" }
    ],
    [
      "accepts a driver with not-at-fault claims",
      incidents("glass_claim", "comprehensive_claim", "not_at_fault_accident"),
      {}
    ],
    [
      "accepts a driver with an incident more than three years ago",
      driver({ incidents: [{ type: "major_violation", month: monthsAgo(37) }] }),
      {}
    ],
    ["declines a car with a salvage title", vehicle({ salvage_title: true }), { harborline: "vehicle_not_eligible" }],
    [
      "declines a driver with a long lapse in coverage",
      prior("lapsed_over_30_days"),
      { harborline: "lapse_in_coverage" }
    ],
    ["accepts a driver with a short lapse in coverage", prior("lapsed_under_30_days"), {}],
    [
      "declines an 18-year-old driver",
      driver({ date_of_birth: "2008-06-15", years_licensed: 2 }),
      { harborline: "risk_outside_guidelines" }
    ],
    ["accepts a 19-year-old driver", driver({ date_of_birth: "2007-06-15", years_licensed: 3 }), {}],
    ["declines a driver who needs an SR-22", driver({ sr22_required: true }), { pinecrest: "driving_record" }],
    ["declines a 26-year-old car", vehicle({ model_year: 2000 }), { pinecrest: "vehicle_not_eligible" }],
    ["accepts a 25-year-old car", vehicle({ model_year: 2001 }), {}],
    [
      "declines a car used for ridesharing",
      vehicle({ primary_use: "rideshare" }),
      { pinecrest: "vehicle_use_not_eligible" }
    ],
    ["declines a car for business use", vehicle({ primary_use: "business" }), { bluefern: "vehicle_use_not_eligible" }],
    [
      "declines a car driven more than 25,000 miles a year",
      vehicle({ annual_miles: 25_001 }),
      { bluefern: "vehicle_use_not_eligible" }
    ],
    ["accepts a car driven 25,000 miles a year", vehicle({ annual_miles: 25_000 }), {}],
    ["declines a driver with a foreign license", driver({ license_status: "foreign" }), { meridian: "license_status" }]
  ]
  it.each(rows)("%s", (_, application, expected) => {
    const facts = autoFacts(application)
    assert.deepStrictEqual(
      declines(autoIds, (id) => declineAuto(id, facts, today)),
      expected
    )
  })
})

describe("a renters insurer", () => {
  const dwelling = (changes: object) => ({ dwelling: { ...reference.renters.dwelling, ...changes } })
  const household = (changes: object) => ({ ...reference.renters, household: changes })
  const rows: ReadonlyArray<readonly [string, unknown, { readonly [id: string]: string }]> = [
    ["accepts an applicant in an ordinary apartment", reference.renters, {}],
    ["accepts an applicant with only one claim", household({ claims_last_5_years: 1 }), {}],
    ["declines an applicant with two claims", household({ claims_last_5_years: 2 }), { brightstoop: "prior_claims" }],
    [
      "declines an applicant with three claims",
      household({ claims_last_5_years: 3 }),
      { lanternway: "prior_claims", brightstoop: "prior_claims" }
    ],
    ["declines a mobile home", dwelling({ type: "mobile_home" }), { lanternway: "property_not_eligible" }],
    [
      "declines an applicant whose dog has bitten",
      household({ dog_with_bite_history: true }),
      { lanternway: "risk_outside_guidelines" }
    ],
    ["declines a short-term rental", dwelling({ short_term_rental: true }), { harborline: "property_not_eligible" }],
    ["declines student housing", dwelling({ student_housing: true }), { harborline: "property_not_eligible" }]
  ]
  it.each(rows)("%s", (_, application, expected) => {
    const facts = rentersFacts(application)
    assert.deepStrictEqual(
      declines(rentersIds, (id) => declineRenters(id, facts, today)),
      expected
    )
  })
})

describe("a pet insurer", () => {
  const pet = (changes: object, plan = "accident_illness") => ({
    ...reference.pet,
    pets: [{ species: "cat", breed: "domestic_shorthair", ...changes }],
    coverage: { plan }
  })
  const rows: ReadonlyArray<readonly [string, unknown, { readonly [id: string]: string }]> = [
    ["accepts a ten-year-old pet", pet({ age_years: 10 }), {}],
    ["declines an eleven-year-old pet", pet({ age_years: 11 }), { tailhaven: "pet_age_limit" }],
    [
      "declines a thirteen-year-old pet, if the insurer's age limit is lower",
      pet({ age_years: 13 }),
      { tailhaven: "pet_age_limit" }
    ],
    [
      "declines a fourteen-year-old pet",
      pet({ age_years: 14 }),
      { tailhaven: "pet_age_limit", pawbridge: "pet_age_limit" }
    ],
    ["accepts a fourteen-year-old pet under an accident-only policy", pet({ age_years: 14 }, "accident_only"), {}],
    ["declines a pet born this month", pet({ birth_month: "2026-11" }), everyone(petIds, "pet_age_limit")],
    [
      "declines a pet that is at most seven weeks old",
      pet({ birth_month: "2026-10" }),
      everyone(petIds, "pet_age_limit")
    ],
    ["accepts a pet that may be eight weeks old", pet({ birth_month: "2026-09" }), {}]
  ]
  it.each(rows)("%s", (_, application, expected) => {
    const facts = petFacts(application)
    assert.deepStrictEqual(
      declines(petIds, (id) => declinePet(id, facts, today)),
      expected
    )
  })

  it("may offer older pets an accident-only policy instead of declining them", () => {
    const plan = planOf("sbx_whiskerwell", "pet")
    const old = priced(plan, { line: "pet", facts: petFacts(pet({ age_years: 14 })) }, today)
    const accident = priced(plan, { line: "pet", facts: petFacts(pet({ age_years: 14 }, "accident_only")) }, today)
    assert.strictEqual(old.premium, accident.premium)
    assert.deepStrictEqual(old.coverages, accident.coverages)
    assert.strictEqual(old.assumptions[0]?.path, "application.coverage.plan")
    assert.deepStrictEqual(accident.assumptions, [])
  })
})

describe("every carrier", () => {
  // A policy start today is valid input that carriers decline. Other days out of range never reach them.
  it.each([
    ["declines", 0, "start_date_out_of_range"],
    ["accepts", 1, null],
    ["accepts", 60, null],
    ["declines", 61, "start_date_out_of_range"]
  ] as const)("%s a policy that starts in %i days", (_, days, expected) => {
    const effective_date = addDays(today, days)
    const auto = { ...autoFacts(reference.personal_auto), effective_date }
    const renters = { ...rentersFacts(reference.renters), effective_date }
    const pet = { ...petFacts(reference.pet), effective_date }
    for (const id of autoIds) assert.strictEqual(declineAuto(id, auto, today), expected)
    for (const id of rentersIds) assert.strictEqual(declineRenters(id, renters, today), expected)
    for (const id of petIds) assert.strictEqual(declinePet(id, pet, today), expected)
  })
})

describe("the states", () => {
  const without = (leftOut: ReadonlyArray<string>) => servedStates.filter((state) => !leftOut.includes(state))

  it("are served by every carrier unless the carrier's plan excludes the state", () => {
    assert.deepStrictEqual(servedBy("sbx_bluefern", "personal_auto"), without(["MA", "MI", "NY"]))
    assert.deepStrictEqual(servedBy("sbx_copperline", "personal_auto"), without(["HI", "MA", "NC"]))
    assert.deepStrictEqual(servedBy("sbx_brightstoop", "renters"), without(["AK", "HI", "LA"]))
    assert.lengthOf(servedBy("sbx_harborline", "renters"), 51)
  })

  it("each have at least two carriers that quote a clean risk without using credit information", () => {
    const clean = {
      personal_auto: autoIds.filter(
        (id) => id !== "sbx_meridian" && declineAuto(id, autoFacts(reference.personal_auto), today) === null
      ),
      renters: rentersIds.filter((id) => declineRenters(id, rentersFacts(reference.renters), today) === null),
      pet: petIds.filter((id) => declinePet(id, petFacts(reference.pet), today) === null)
    }
    for (const state of servedStates) {
      for (const line of ["personal_auto", "renters", "pet"] as const) {
        const serving = clean[line].filter((id) => servedBy(id, line).includes(state))
        assert.isAtLeast(serving.length, 2, `${line} ${state}`)
      }
    }
  })
})
