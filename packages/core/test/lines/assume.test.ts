import { assert, describe, it } from "@effect/vitest"
import { type JsonSchema, Predicate, Result, Schema } from "effect"
import { Assumptions } from "../../src/lines/Application.ts"
import { assume as completeAuto } from "../../src/lines/personal_auto/complete.ts"
import { PersonalAuto } from "../../src/lines/personal_auto/facts.ts"
import type { StandardLineName } from "../../src/lines/standard.ts"
import { lineNamed } from "./applications.ts"

const today = "2026-11-20"

const driver = { relationship: "self", date_of_birth: "1991-04-12", license_status: "valid" }
const vehicle = { model_year: 2019, make: "Honda", model: "Civic" }
const auto = { garaging_address: { state: "TX", zip: "75201" }, drivers: [driver], vehicles: [vehicle] }
const smallest: { readonly [L in StandardLineName]: unknown } = {
  personal_auto: auto,
  renters: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } },
  pet: { residence: { state: "TX", zip: "78701" }, pets: [{ species: "cat", breed: "Persian", age_years: 2 }] }
}

const assume = (name: StandardLineName, input: unknown) => {
  const line = lineNamed(name)
  return line.complete(Result.getOrThrow(line.read(input, today)).facts, today) ?? assert.fail()
}

const assumeAuto = (input: unknown) => {
  const { assumptions } = assume("personal_auto", input)
  const facts = completeAuto(Schema.decodeUnknownSync(PersonalAuto)(input), today, new Assumptions())
  return { facts, assumptions }
}

const assumptionAt = (line: StandardLineName, input: unknown, path: string) =>
  assume(line, input).assumptions.find((assumption) => assumption.path === `application.${path}`)

/** The values that a schema lets the service assume, by path, with 0 for the first item of a list. */
const assumable = (schema: unknown, path: string): ReadonlyArray<readonly [string, unknown]> => {
  if (!isSchema(schema)) return []
  if (schema["x-assume"] !== undefined) return [[path, schema["x-assume"]]]
  if (schema.items !== undefined) return assumable(schema.items, `${path}.0`)
  return Object.entries(isSchema(schema.properties) ? schema.properties : {}).flatMap(([name, member]) =>
    assumable(member, path === "" ? name : `${path}.${name}`)
  )
}
const isSchema = (value: unknown): value is JsonSchema.JsonSchema => Predicate.isObject(value)

describe("assume", () => {
  it.each<StandardLineName>(["personal_auto", "renters", "pet"])(
    "fills in every fact for which the %s schema has an assumption",
    (line) => {
      const { assumptions } = assume(line, smallest[line])
      const values = new Map(assumptions.map(({ path, value }) => [path, value]))
      const rules = assumable(lineNamed(line).facts_schema, "")
      assert.isNotEmpty(rules)
      for (const [path, rule] of rules) {
        const value = values.get(`application.${path}`)
        const said = isSchema(rule) ? rule : {}
        if (said.value === "tomorrow") assert.strictEqual(value, "2026-11-21", path)
        else if (Array.isArray(said.value)) assert.strictEqual(value, "none", path)
        else if (said.from === "garaging_address.state") assert.strictEqual(value, "TX", path)
        else if (said.formula === "max(0, age - 16)") assert.strictEqual(value, 19, path)
        else assert.strictEqual<unknown>(value, said.value, path)
      }
    }
  )

  it("reports assumptions sorted by path, each with a source and a label", () => {
    const { assumptions } = assume("personal_auto", {
      ...auto,
      drivers: [driver, { ...driver, relationship: "spouse" }]
    })
    const paths = assumptions.map((assumption) => assumption.path)
    assert.deepStrictEqual(paths, [...paths].sort())
    assert.strictEqual(new Set(paths).size, paths.length)
    for (const { label, source } of assumptions) {
      assert.isDefined(label)
      assert.include(["service_default", "derived"], source)
    }
  })

  it("reports assumptions in the format that the specification defines", () => {
    assert.deepStrictEqual(assumptionAt("personal_auto", auto, "vehicles.0.annual_miles"), {
      path: "application.vehicles.0.annual_miles",
      value: 12_000,
      source: "service_default",
      label: "12,000 miles a year"
    })
    assert.deepStrictEqual(assumptionAt("personal_auto", auto, "drivers.0.incidents"), {
      path: "application.drivers.0.incidents",
      value: "none",
      source: "service_default",
      label: "No accidents or tickets in the last 3 years"
    })
    assert.deepStrictEqual(assumptionAt("personal_auto", auto, "drivers.0.years_licensed"), {
      path: "application.drivers.0.years_licensed",
      value: 19,
      source: "derived",
      label: "Licensed since age 16"
    })
  })

  it("neither changes nor reports facts that were sent", () => {
    const sent = {
      ...auto,
      drivers: [{ ...driver, license_state: "OK", years_licensed: 5, sr22_required: true, incidents: [] }],
      vehicles: [
        {
          ...vehicle,
          ownership: "leased",
          primary_use: "farm",
          annual_miles: 0,
          salvage_title: true,
          comprehensive_deductible_usd: null,
          collision_deductible_usd: null
        }
      ],
      coverage: { level: "standard", uninsured_motorist: false },
      prior_insurance: { status: "never_insured" },
      billing_preference: "pay_in_full",
      effective_date: "2026-12-01"
    }
    const { facts, assumptions } = assume("personal_auto", sent)
    assert.deepStrictEqual<unknown>(facts, sent)
    assert.deepStrictEqual(assumptions, [])
  })

  it("treats missing prior insurance as twelve continuous months", () => {
    const { facts, assumptions } = assumeAuto(auto)
    assert.deepStrictEqual(facts.prior_insurance, { status: "insured", months_continuous: 12 })
    const prior = assumptions.filter(({ path }) => path.startsWith("application.prior_insurance"))
    assert.deepStrictEqual(
      prior.map(({ path, value, source }) => [path, value, source]),
      [["application.prior_insurance.status", "insured", "service_default"]]
    )
    const sent = assumptionAt(
      "personal_auto",
      { ...auto, prior_insurance: { status: "insured" } },
      "prior_insurance.months_continuous"
    )
    assert.strictEqual(sent?.value, 12)
  })

  it.each([
    ["state_minimum", null, false],
    ["enhanced", 500, true]
  ] as const)("sets the coverages of the %s level without reporting assumptions", (level, deductible, uninsured) => {
    const { facts, assumptions } = assumeAuto({ ...auto, coverage: { level } })
    assert.strictEqual(facts.coverage.uninsured_motorist, uninsured)
    assert.strictEqual(facts.vehicles[0]?.collision_deductible_usd, deductible)
    assert.strictEqual(facts.vehicles[0]?.comprehensive_deductible_usd, deductible)
    assert.isEmpty(assumptions.filter(({ path }) => path.includes("coverage") || path.includes("deductible")))
  })

  it("keeps coverage that the state requires and values that were sent, whatever the level", () => {
    const illinois = assumeAuto({
      ...auto,
      garaging_address: { state: "IL", zip: "60601" },
      coverage: { level: "state_minimum" }
    })
    assert.isTrue(illinois.facts.coverage.uninsured_motorist)
    const sent = assumeAuto({
      ...auto,
      vehicles: [{ ...vehicle, collision_deductible_usd: 1_000 }],
      coverage: { level: "state_minimum" }
    })
    assert.strictEqual(sent.facts.vehicles[0]?.collision_deductible_usd, 1_000)
  })

  it.each(["never_licensed", "permit"])(
    "assumes zero licensed years for a driver whose status is %s",
    (license_status) => {
      const input = { ...auto, drivers: [{ ...driver, license_status }] }
      assert.strictEqual(assumptionAt("personal_auto", input, "drivers.0.years_licensed")?.value, 0)
    }
  )

  it.each([
    ["1HGCM82633A004352", 2003],
    ["1M8GDM9AXKP042788", 1989],
    ["5YJ3E1EA2KF317000", 2019]
  ])("reads the model year from the VIN %s", (vin, year) => {
    const { facts, assumptions } = assumeAuto({ ...auto, vehicles: [{ vin }] })
    assert.strictEqual(facts.vehicles[0]?.model_year, year)
    const made = assumptions.find(({ path }) => path === "application.vehicles.0.model_year")
    assert.strictEqual(made?.source, "derived")
  })

  it("reads no model year from the VIN if the year was sent", () => {
    const sent = assumeAuto({ ...auto, vehicles: [{ vin: "1HGCM82633A004352", model_year: 2004 }] })
    assert.strictEqual(sent.facts.vehicles[0]?.model_year, 2004)
    assert.isUndefined(sent.assumptions.find(({ path }) => path.endsWith("model_year")))
  })
})
