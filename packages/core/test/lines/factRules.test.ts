import { assert, describe, it } from "@effect/vitest"
import {
  accepted,
  allowedAt,
  auto,
  driver,
  invalid,
  invalidPaths,
  pets,
  renters,
  withDriver,
  withPet
} from "./applications.ts"

describe("an address", () => {
  const at = (state: string, zip: string) => ({ ...auto, garaging_address: { state, zip } })

  it("must have a ZIP code in its state", () => {
    accepted("personal_auto", at("TX", "88510"))
    accepted("personal_auto", at("NY", "06390"))
    assert.deepStrictEqual(invalidPaths("personal_auto", at("TX", "10001")), ["application.garaging_address.zip"])
    const dwelling = { ...renters.dwelling, address: { state: "NJ", zip: "10001" } }
    assert.deepStrictEqual(invalidPaths("renters", { dwelling }), ["application.dwelling.address.zip"])
    const residence = { state: "NJ", zip: "10001" }
    assert.deepStrictEqual(invalidPaths("pet", { ...pets, residence }), ["application.residence.zip"])
  })

  it.each(["PR", "GU", "VI", "AS", "MP", "AE"])(
    "must not be in %s, and the error lists the 51 allowed states",
    (state) => {
      const codes = allowedAt("personal_auto", at(state, "75201"), "application.garaging_address.state")
      assert.strictEqual(codes?.length, 51)
    }
  )

  it.each(["00901", "96910", "09012", "96201", "34002"])("must not have the ZIP code %s", (zip) => {
    const codes = allowedAt("personal_auto", at("FL", zip), "application.garaging_address.zip")
    assert.strictEqual(codes?.length, 51)
  })
})

describe("a policy's drivers", () => {
  const path = "application.drivers.0"

  it("must start with the applicant, listed only once", () => {
    const spouse = { ...driver, relationship: "spouse" }
    accepted("personal_auto", { ...auto, drivers: [driver, spouse] })
    assert.deepStrictEqual(
      invalid("personal_auto", { ...auto, drivers: [spouse, driver] }).map(({ path, allowed_values }) => [
        path,
        allowed_values
      ]),
      [
        ["application.drivers.0.relationship", ["self"]],
        ["application.drivers.1.relationship", ["spouse", "child", "parent", "other_household"]]
      ]
    )
    assert.deepStrictEqual(invalidPaths("personal_auto", { ...auto, drivers: [driver, driver] }), [
      "application.drivers.1.relationship"
    ])
  })

  it.each(["2012-11-20", "1915-11-21"])("are accepted if a driver was born on %s", (date_of_birth) => {
    accepted("personal_auto", withDriver({ date_of_birth }))
  })

  it.each(["2012-11-21", "1915-11-20", "2026-11-21", "1991-02-29", "1991-13-01", "04/12/1991"])(
    "are rejected if a driver was born on %s",
    (date_of_birth) => {
      assert.deepStrictEqual(invalidPaths("personal_auto", withDriver({ date_of_birth })), [`${path}.date_of_birth`])
    }
  )

  it("must not have been licensed before age 13", () => {
    accepted("personal_auto", withDriver({ years_licensed: 22 }))
    assert.deepStrictEqual(invalidPaths("personal_auto", withDriver({ years_licensed: 23 })), [
      `${path}.years_licensed`
    ])
  })

  it("must have a license status that matches the years licensed", () => {
    accepted("personal_auto", withDriver({ license_status: "never_licensed", years_licensed: 0 }))
    accepted("personal_auto", withDriver({ license_status: "permit", date_of_birth: "2011-01-01" }))
    const input = withDriver({ license_status: "never_licensed", years_licensed: 3 })
    assert.deepStrictEqual(allowedAt("personal_auto", input, `${path}.years_licensed`), ["0"])
  })

  it("must have no incidents in the future", () => {
    const incident = (month: string) => withDriver({ incidents: [{ type: "minor_violation", month }] })
    accepted("personal_auto", incident("2026-11"))
    accepted("personal_auto", incident("2001-01"))
    assert.deepStrictEqual(invalidPaths("personal_auto", incident("2026-12")), [`${path}.incidents.0.month`])
  })
})

describe("vehicles", () => {
  it.each(["1HGCM82633A004352", "11111111111111111", "1M8GDM9AXKP042788"])("are accepted with the VIN %s", (vin) => {
    accepted("personal_auto", { ...auto, vehicles: [{ vin }] })
  })

  it.each(["1HGCM82643A004352", "1M8GDM9A1KP042788", "1HGCM82633A00435O", "1hgcm82633a004352"])(
    "are rejected with the VIN %s",
    (vin) => {
      assert.deepStrictEqual(invalidPaths("personal_auto", { ...auto, vehicles: [{ vin }] }), [
        "application.vehicles.0.vin"
      ])
    }
  )
})

describe("liability limits", () => {
  const limits = (
    person: number,
    accident: number,
    property: number,
    address: { readonly [name: string]: unknown } = auto.garaging_address
  ) => ({
    ...auto,
    garaging_address: address,
    coverage: {
      bodily_injury_per_person_usd: person,
      bodily_injury_per_accident_usd: accident,
      property_damage_usd: property
    }
  })

  it("must be at least the state's minimum", () => {
    accepted("personal_auto", limits(30_000, 60_000, 25_000))
    assert.deepStrictEqual(invalidPaths("personal_auto", limits(25_000, 50_000, 20_000)).sort(), [
      "application.coverage.bodily_injury_per_accident_usd",
      "application.coverage.bodily_injury_per_person_usd",
      "application.coverage.property_damage_usd"
    ])
    accepted("personal_auto", limits(15_000, 30_000, 5_000, { state: "PA", zip: "15001" }))
  })

  it("are rejected with a list of the allowed values that are high enough", () => {
    const path = "application.coverage.bodily_injury_per_accident_usd"
    const utah = { state: "UT", zip: "84101" }
    const allowed = ["65000", "70000", "80000", "100000", "300000", "500000", "1000000"]
    assert.deepStrictEqual(allowedAt("personal_auto", limits(30_000, 60_000, 25_000, utah), path), allowed)
  })

  it("must not be lower per accident than per person", () => {
    accepted("personal_auto", limits(100_000, 100_000, 50_000))
    const path = "application.coverage.bodily_injury_per_accident_usd"
    const allowed = ["300000", "500000", "1000000"]
    assert.deepStrictEqual(allowedAt("personal_auto", limits(250_000, 100_000, 50_000), path), allowed)
  })
})

describe("an application", () => {
  it.each(["2026-11-20", "2027-01-19"])("may have the effective date %s", (effective_date) => {
    for (const [line, input] of [
      ["personal_auto", auto],
      ["renters", renters],
      ["pet", pets]
    ] as const) {
      accepted(line, { ...input, effective_date })
    }
  })

  it.each(["2026-11-19", "2027-01-20", "2026-11-31", "tomorrow"])(
    "must not have the effective date %s",
    (effective_date) => {
      for (const [line, input] of [
        ["personal_auto", auto],
        ["renters", renters],
        ["pet", pets]
      ] as const) {
        assert.deepStrictEqual(invalidPaths(line, { ...input, effective_date }), ["application.effective_date"])
      }
    }
  )

  it("must not have a birth date in the future", () => {
    const born = (date_of_birth: string) => ({ ...renters, applicant: { date_of_birth } })
    accepted("renters", born("2000-02-29"))
    assert.deepStrictEqual(invalidPaths("renters", born("2026-11-21")), ["application.applicant.date_of_birth"])
    assert.deepStrictEqual(invalidPaths("renters", born("1900-02-29")), ["application.applicant.date_of_birth"])
  })
})

describe("pets", () => {
  it("must not be born in the future", () => {
    accepted("pet", withPet({ birth_month: "2026-11" }))
    assert.deepStrictEqual(invalidPaths("pet", withPet({ birth_month: "2026-12" })), ["application.pets.0.birth_month"])
  })

  it("must have a known breed, and the error lists similar breeds", () => {
    accepted("pet", withPet({ breed: "frenchie" }))
    const near = allowedAt("pet", withPet({ breed: "Frensh Buldog" }), "application.pets.0.breed")
    assert.strictEqual(near?.[0], "French Bulldog")
    assert.isAtMost(near?.length ?? 0, 10)
  })
})
