import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { StandardLineName } from "../../src/lines/standard.ts"
import * as RatePlan from "../../src/rating/RatePlan.ts"
import { ratings } from "../../src/rating/ratings.ts"
import { assumed, monthsAgo, reference, today } from "../sandbox/support.ts"
import { priced } from "./fictional.ts"

/** The premium by a plan in which every coverage costs 100 dollars, with these changes. */
const premium = (line: StandardLineName, changes: object, application: object = reference[line]): number => {
  const covers = ratings.get(line)?.covers ?? []
  const plan = Schema.decodeUnknownSync(RatePlan.RatePlan)({
    format: "quotewire-rate-plan/1",
    carrier: { id: "naic:00000", name: "Example Mutual" },
    line,
    product: "Example",
    reviewed_on: today,
    states: ["NY", "TX"],
    rounding: "cent",
    base_cents: Object.fromEntries(covers.map((cover) => [cover, { cents: 10_000 }])),
    factors: [],
    minimum_cents: 1,
    terms: { months: 12, valid_days: 30, first_start_days: 1, last_start_days: 60 },
    underwriting: [],
    examples: [{ name: "none", on: today, application: {} }],
    ...changes
  })
  return priced(plan, assumed(line, application), today).premium
}

const terms = { months: 12, valid_days: 30, first_start_days: 1, last_start_days: 60 }
const third = { name: "third", factor: 0.3333 }
const half = { name: "half", factor: 0.5 }

describe("a premium", () => {
  it("is rounded half up after each factor, to the cent or to the dollar", () => {
    assert.strictEqual(premium("renters", { factors: [third, half] }), 1_667)
    assert.strictEqual(premium("renters", { factors: [third, half], rounding: "dollar" }), 1_700)
    assert.strictEqual(premium("renters", { factors: [half, half, half], rounding: "dollar" }), 1_300)
  })

  it("is prorated by the term", () => {
    assert.strictEqual(premium("renters", { terms: { ...terms, months: 6 } }), 5_000)
    assert.strictEqual(premium("renters", { terms: { ...terms, months: 1 } }), 833)
    assert.strictEqual(premium("renters", { terms: { ...terms, months: 1 }, rounding: "dollar" }), 800)
  })

  it("depends on the payment plan", () => {
    const changes = { terms: { ...terms, pay_in_full_factor: 0.9 } }
    assert.strictEqual(premium("renters", changes), 10_000)
    assert.strictEqual(premium("renters", changes, { ...reference.renters, billing_preference: "pay_in_full" }), 9_000)
  })

  it("uses the table entry for a listed ZIP code, and the default for any other", () => {
    const table = (by: string, values: object) => ({ factors: [{ name: "zip", by, values, otherwise: 2 }] })
    assert.strictEqual(premium("renters", table("zip", { "10001": 1.5 })), 15_000)
    assert.strictEqual(premium("renters", table("zip3", { "100": 1.25 })), 12_500)
    assert.strictEqual(premium("renters", table("zip", { "10002": 1.5 })), 20_000)
  })

  it("has a minimum per subject and per policy", () => {
    const pets = { ...reference.pet, pets: [reference.pet.pets[0], reference.pet.pets[0]] }
    assert.strictEqual(premium("pet", { minimum_each_cents: 12_000 }, pets), 24_000)
    assert.strictEqual(premium("pet", { minimum_cents: 25_000 }, pets), 25_000)
  })

  it("includes fees only in lines that count fees as premium", () => {
    const fees = [{ code: "policy_fee", cents: 700 }]
    assert.strictEqual(premium("renters", { fees }), 10_700)
    assert.strictEqual(premium("pet", { fees }), 10_000)
  })

  it("applies a factor only to the factor's coverages and states", () => {
    const plain = premium("personal_auto", {})
    const collision = { name: "collision", covers: ["collision"], factor: 2 }
    assert.strictEqual(premium("personal_auto", { factors: [collision] }), plain + 10_000)
    assert.strictEqual(premium("renters", { factors: [{ ...half, states: ["TX"] }] }), 10_000)
    assert.strictEqual(premium("renters", { factors: [{ ...half, except_states: ["TX"] }] }), 5_000)
  })

  it("uses the mean of the drivers' factors, each up to a limit", () => {
    const [self] = reference.personal_auto.drivers
    const accident = { type: "at_fault_accident", month: monthsAgo(6) }
    const application = {
      ...reference.personal_auto,
      drivers: [self, { ...self, relationship: "spouse", incidents: [accident, accident, accident] }]
    }
    const incidents = { name: "incidents", by: "incidents", values: { at_fault_accident: 2 } }
    const drivers = (mean: object) => ({
      factors: [{ name: "drivers", mean_of_drivers: { factors: [incidents], ...mean } }]
    })
    const plain = premium("personal_auto", {}, application)
    assert.strictEqual(premium("personal_auto", drivers({}), application), (plain * (1 + 8)) / 2)
    assert.strictEqual(premium("personal_auto", drivers({ at_most: 3 }), application), (plain * (1 + 3)) / 2)
  })
})
