import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import example from "../../../../examples/rate-plan.json" with { type: "json" }
import { servedStates } from "../../src/lines/State.ts"
import { lineNames, type StandardLineName } from "../../src/lines/standard.ts"
import { fictionalPlanFiles, fictionalPlans } from "../../src/rating/fictionalPlans.ts"
import { ratePlanSchema } from "../../src/rating/PlanFormat.ts"
import * as RatePlan from "../../src/rating/RatePlan.ts"
import { ratings } from "../../src/rating/ratings.ts"
import { assumed, reference, today } from "../sandbox/support.ts"

describe("the shipped plans", () => {
  it.each([...fictionalPlanFiles.map((file, index) => [fictionalPlans()[index]?.product, file]), ["example", example]])(
    "pass the check: %s",
    (_, file) => {
      assert.deepStrictEqual(RatePlan.check(file, { today: "2026-11-20" }), [])
    }
  )

  it("list every state in every table, because scenarios ask in all states", () => {
    for (const plan of fictionalPlans()) {
      const faults = RatePlan.check({ ...plan, states: servedStates })
      assert.deepStrictEqual(faults, [], plan.product)
    }
  })
})

describe("the rate plan JSON Schema", () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  ajv.addFormat("date", true)
  const fits = ajv.compile(ratePlanSchema)

  it("accepts the shipped plans", () => {
    for (const file of [...fictionalPlanFiles, example]) assert.isTrue(fits(file), JSON.stringify(fits.errors))
  })

  const wrong: ReadonlyArray<readonly [string, object]> = [
    ["an unknown member", { ...example, comment: "x" }],
    ["an unknown format", { ...example, format: "2" }],
    ["an unknown line", { ...example, line: "boat" }],
    ["a factor of zero", { ...example, factors: [{ name: "zero", factor: 0 }] }],
    ["a plan without examples", { ...example, examples: [] }]
  ]
  it.each(wrong)("refuses %s", (_, plan) => {
    assert.isFalse(fits(plan))
  })
})

describe("a line's rating variables", () => {
  const applications: { readonly [L in StandardLineName]: unknown } = reference

  it.each(lineNames)("match the line's application (%s)", (line) => {
    const rating = ratings.get(line)
    const risk = rating?.riskOf(assumed(line, applications[line]), {}, today)
    const names = (...scopes: ReadonlyArray<object>) => scopes.flatMap((scope) => Object.keys(scope)).sort()
    const { driver = {}, policy = {}, subject = {} } = rating?.variables ?? {}
    assert.deepStrictEqual(Object.keys(risk?.policy ?? {}).sort(), names(policy))
    assert.deepStrictEqual(Object.keys(risk?.subjects[0]?.known ?? {}).sort(), names(policy, subject))
    assert.deepStrictEqual(Object.keys(risk?.drivers[0] ?? policy).sort(), names(policy, driver))
  })

  it("are all documented in the rate plans guide", () => {
    const guide = readFileSync(new URL("../../../../docs/guides/rate-plans.md", import.meta.url), "utf8")
    for (const { covers, settings, variables } of ratings.values()) {
      const names = Object.values(variables).flatMap((scope) => Object.keys(scope))
      for (const name of [...names, ...covers, ...settings]) assert.include(guide, `\`${name}\``)
    }
  })
})
