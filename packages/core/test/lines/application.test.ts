import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { type Application, missingOf } from "../../src/lines/Application.ts"
import { subjectsOf as vehiclesOf } from "../../src/lines/personal_auto/complete.ts"
import { PersonalAuto } from "../../src/lines/personal_auto/facts.ts"
import { lineNames, type StandardLineName, standardLines } from "../../src/lines/standard.ts"
import {
  accepted,
  allowedAt,
  auto,
  dog,
  driver,
  errorsOf,
  invalid,
  invalidPaths,
  lineNamed,
  missingPaths,
  pets,
  renters,
  vehicle,
  without,
  withPet,
  withVehicle
} from "./applications.ts"

const completed = ({ line, facts }: Application) => {
  const name = lineNames.find((name) => name === line) ?? assert.fail(line)
  return lineNamed(name).complete(facts, "2026-11-20") ?? assert.fail(line)
}
const subjectsOf = (application: Application) => completed(application).subjects

describe("valid applications", () => {
  it.each<readonly [StandardLineName, unknown]>([
    ["personal_auto", auto],
    ["renters", renters],
    ["pet", pets]
  ])("are accepted unchanged in their smallest form (%s)", (line, input) => {
    assert.deepStrictEqual<unknown>(accepted(line, input), { line, facts: input })
  })

  it.each(standardLines)("include the documented example for $name", ({ name, example }) => {
    assert.deepStrictEqual<unknown>(accepted(name, example), { line: name, facts: example })
  })
})

describe("the report of missing facts", () => {
  it("lists facts individually if whole objects are missing", () => {
    assert.deepStrictEqual(missingPaths("personal_auto", {}), [
      "application.garaging_address.state",
      "application.garaging_address.zip",
      "application.drivers.0.relationship",
      "application.drivers.0.date_of_birth",
      "application.drivers.0.license_status",
      "application.vehicles.0.vin",
      "application.vehicles.0.model_year",
      "application.vehicles.0.make",
      "application.vehicles.0.model"
    ])
    assert.deepStrictEqual(missingPaths("renters", {}), [
      "application.dwelling.address.state",
      "application.dwelling.address.zip",
      "application.dwelling.type"
    ])
    assert.deepStrictEqual(missingPaths("pet", {}), [
      "application.residence.state",
      "application.residence.zip",
      "application.pets.0.species",
      "application.pets.0.breed",
      "application.pets.0.birth_month",
      "application.pets.0.age_years"
    ])
  })

  it("tells the caller what to ask for and which values are allowed", () => {
    const [state, zip] = errorsOf("personal_auto", without(auto, "garaging_address"), "needs_information")
    assert.strictEqual(state?.message, "Required: State where the car is kept.")
    assert.strictEqual(state?.allowed_values?.length, 51)
    assert.deepStrictEqual(zip, {
      path: "application.garaging_address.zip",
      message: "Required: ZIP code where the car is kept."
    })
  })

  it("treats an empty list like a list whose first item is missing", () => {
    assert.deepStrictEqual(missingPaths("personal_auto", { ...auto, drivers: [] }), [
      "application.drivers.0.relationship",
      "application.drivers.0.date_of_birth",
      "application.drivers.0.license_status"
    ])
  })

  it("lists both ways to identify a vehicle, without the parts that were sent", () => {
    const input = { ...auto, vehicles: [vehicle, { model_year: 2019, make: "Honda" }] }
    const errors = errorsOf("personal_auto", input, "needs_information")
    assert.deepStrictEqual(
      errors.map((error) => error.path),
      ["application.vehicles.1.vin", "application.vehicles.1.model"]
    )
    assert.include(errors[0]?.message, "Send vin, or model_year, make and model.")
  })

  it("lists both ways to state a pet's age", () => {
    assert.deepStrictEqual(missingPaths("pet", { ...pets, pets: [without(dog, "age_years")] }), [
      "application.pets.0.birth_month",
      "application.pets.0.age_years"
    ])
  })

  it.each(["mixed", "unknown", "Mixed Breed", "lab mix"])(
    "asks only for the size of a dog whose breed is %j",
    (breed) => {
      assert.deepStrictEqual(missingPaths("pet", { ...pets, pets: [{ ...without(dog, "size"), breed }] }), [
        "application.pets.0.size"
      ])
      accepted("pet", withPet({ breed }))
    }
  )

  it("includes the limits that a sent limit requires", () => {
    const coverage = { bodily_injury_per_person_usd: 50_000 }
    assert.deepStrictEqual(missingPaths("personal_auto", { ...auto, coverage }), [
      "application.coverage.bodily_injury_per_accident_usd",
      "application.coverage.property_damage_usd"
    ])
    assert.deepStrictEqual(
      missingPaths("personal_auto", { ...auto, coverage: { bodily_injury_per_accident_usd: 100_000 } }),
      ["application.coverage.bodily_injury_per_person_usd"]
    )
  })

  it("includes an optional object's required facts once the object is sent", () => {
    assert.deepStrictEqual(missingPaths("personal_auto", { ...auto, prior_insurance: {} }), [
      "application.prior_insurance.status"
    ])
  })

  it("is omitted while any field is wrong", () => {
    assert.deepStrictEqual(invalidPaths("personal_auto", { vehicles: [{ vin: "short" }] }), [
      "application.vehicles.0.vin"
    ])
  })
})

describe("malformed facts", () => {
  it.each<readonly [string, unknown]>([
    ["null", null],
    ["a list", []],
    ["text", "application"],
    ["missing", undefined]
  ])("are reported at `application` if `application` is %s", (_, input) => {
    assert.deepStrictEqual(invalidPaths("renters", input), ["application"])
  })

  it("include unknown fields, each reported at its path without allowed values", () => {
    const input = { ...auto, drivers: [{ ...driver, ssn: "078-05-1120" }], note: 1 }
    assert.deepStrictEqual(invalid("personal_auto", input), [
      { path: "application.note", message: "This field is not known." },
      { path: "application.drivers.0.ssn", message: "This field is not known." }
    ])
    assert.deepStrictEqual(invalidPaths("renters", JSON.parse('{"__proto__":{"dwelling":1}}')), [
      "application.__proto__"
    ])
  })

  it("are reported with the field's allowed values as text", () => {
    const path = "application.vehicles.0.collision_deductible_usd"
    const allowed = ["250", "500", "1000", "2000", "null"]
    assert.deepStrictEqual(allowedAt("personal_auto", withVehicle({ collision_deductible_usd: 300 }), path), allowed)
    accepted("personal_auto", withVehicle({ collision_deductible_usd: null }))
    const salvage = "application.vehicles.0.salvage_title"
    assert.deepStrictEqual(allowedAt("personal_auto", withVehicle({ salvage_title: "no" }), salvage), ["true", "false"])
  })

  it.each([
    ["a NUL", "Au\0stin"],
    ["an unpaired surrogate", "Au\ud800stin"]
  ])("are reported if text has %s", (_, city) => {
    const address = { ...auto.garaging_address, city }
    assert.deepStrictEqual(invalidPaths("personal_auto", { ...auto, garaging_address: address }), [
      "application.garaging_address.city"
    ])
  })

  it("are all listed, whether the structure or the meaning is wrong", () => {
    const input = {
      applicant: { email: "nobody", phone: "555" },
      garaging_address: { state: "TX", zip: "10001" },
      drivers: [{ ...driver, relationship: "spouse", years_licensed: "many" }, 7],
      vehicles: [{ ...vehicle, annual_miles: 100_001 }],
      effective_date: "2027-02-30"
    }
    assert.deepStrictEqual(invalidPaths("personal_auto", input), [
      "application.applicant.email",
      "application.applicant.phone",
      "application.drivers.0.years_licensed",
      "application.drivers.1",
      "application.vehicles.0.annual_miles",
      "application.effective_date",
      "application.garaging_address.zip",
      "application.drivers.0.relationship"
    ])
  })

  it("are reported if a list has too many items", () => {
    const drivers = Array.from({ length: 7 }, (_, i) => ({ ...driver, relationship: i === 0 ? "self" : "child" }))
    assert.deepStrictEqual(invalidPaths("personal_auto", { ...auto, drivers }), ["application.drivers"])
    accepted("personal_auto", { ...auto, drivers: drivers.slice(1).toSpliced(0, 1, driver) })
  })

  it("are reported if text has too many characters rather than UTF-16 units", () => {
    accepted("pet", withPet({ name: "🐕".repeat(40) }))
    assert.deepStrictEqual(invalidPaths("pet", withPet({ name: "🐕".repeat(41) })), ["application.pets.0.name"])
  })

  it.each([4_000, 30_500, 151_000, 30_000.5])("include personal property of %d dollars", (personal_property_usd) => {
    const path = "application.coverage.personal_property_usd"
    assert.deepStrictEqual(invalidPaths("renters", { ...renters, coverage: { personal_property_usd } }), [path])
    accepted("renters", { ...renters, coverage: { personal_property_usd: 31_000 } })
  })

  it.each(["a@b", "a b@example.com", "@example.com", "a@example..com", "a@example.com\n"])(
    "include the e-mail address %j",
    (email) => {
      assert.deepStrictEqual(invalidPaths("renters", { ...renters, applicant: { email } }), [
        "application.applicant.email"
      ])
    }
  )

  it.each(["ann@example.com", "ann.o'neil+quotes@mail.example.co"])("do not include the e-mail address %j", (email) => {
    accepted("renters", { ...renters, applicant: { email } })
  })
})

describe("a line", () => {
  it("lists its required facts with labels", () => {
    assert.deepStrictEqual(lineNamed("personal_auto").required_facts[1], {
      path: "garaging_address.zip",
      label: "ZIP code where the car is kept",
      tier: "price",
      pii: "indirect"
    })
    assert.deepStrictEqual(
      lineNamed("renters").required_facts.map((fact) => fact.path),
      ["dwelling.address.state", "dwelling.address.zip", "dwelling.type"]
    )
    for (const line of ["personal_auto", "renters", "pet"] as const) {
      for (const fact of lineNamed(line).required_facts) assert.notStrictEqual(fact.label, fact.path)
    }
  })

  it("lists the facts that a price requires", () => {
    assert.deepStrictEqual(lineNamed("personal_auto").price_paths, [
      "application.garaging_address.state",
      "application.garaging_address.zip",
      "application.drivers.0.date_of_birth",
      "application.drivers.0.license_status",
      "application.vehicles.0.model_year",
      "application.vehicles.0.make",
      "application.vehicles.0.model",
      "application.effective_date"
    ])
  })

  it("lists the facts that a carrier needs but the caller did not send", () => {
    const applicant = { email: "ann@example.com" }
    const application = accepted("personal_auto", {
      ...auto,
      applicant,
      drivers: [driver, { ...driver, relationship: "spouse", first_name: "Bo" }]
    })
    const needs = [
      "applicant.email",
      "applicant.phone",
      "vehicles.*.vin",
      "drivers.*.first_name",
      "prior_insurance.status"
    ]
    assert.deepStrictEqual(missingOf(application, needs), [
      "application.applicant.phone",
      "application.vehicles.0.vin",
      "application.drivers.0.first_name",
      "application.prior_insurance.status"
    ])
  })

  it("derives the state of a completed application", () => {
    const places = [accepted("personal_auto", auto), accepted("renters", renters), accepted("pet", pets)]
    assert.deepStrictEqual(
      places.map((place) => completed(place).state),
      ["TX", "NY", "TX"]
    )
  })

  it("lists the insured subjects without street or VIN", () => {
    const cars = { ...auto, vehicles: [vehicle, { vin: "1HGCM82633A004352" }] }
    assert.deepStrictEqual(vehiclesOf(Schema.decodeUnknownSync(PersonalAuto)(cars)), [
      { subject_id: "vehicle-1", kind: "vehicle", label: "2019 Honda Civic" },
      { subject_id: "vehicle-2", kind: "vehicle", label: null }
    ])
    // The model year in a VIN is known once the facts are completed.
    assert.strictEqual(subjectsOf(accepted("personal_auto", cars))[1]?.label, "2003")
    const address = { line1: "12 Main Street", city: "New York", ...renters.dwelling.address }
    const home = accepted("renters", { dwelling: { ...renters.dwelling, address } })
    assert.deepStrictEqual(subjectsOf(home), [
      { subject_id: "dwelling-1", kind: "dwelling", label: "Rented apartment in New York, NY" }
    ])
    assert.strictEqual(subjectsOf(accepted("renters", renters))[0]?.label, "Rented apartment in NY")
    const animals = accepted("pet", { ...pets, pets: [...pets.pets, { ...dog, name: "Rex" }] })
    assert.deepStrictEqual(
      subjectsOf(animals).map(({ subject_id, label }) => [subject_id, label]),
      [
        ["pet-1", "Dog, mixed, 3 years"],
        ["pet-2", "Cat, domestic shorthair, born 2024-05"],
        ["pet-3", "Rex"]
      ]
    )
  })
})
