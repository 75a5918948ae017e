import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as Applications from "../../src/lines/Application.ts"
import { subject } from "../../src/lines/Application.ts"
import { defineLine } from "../../src/lines/defineLine.ts"
import * as Fact from "../../src/lines/Fact.ts"
import { disclosed } from "../../src/lines/Line.ts"
import { address, checkAddress, policyFacts } from "../../src/lines/SharedFacts.ts"

const today = "2026-11-20"

describe("a whole-number fact", () => {
  it("must have a positive whole number as its step", () => {
    for (const step of [0.1, 0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => Fact.wholeNumber(0, 100, { step }), /Fact\.wholeNumber .*step: Must be a whole number/)
    }
  })
})

const Bicycle = Schema.Struct({
  home: address({ state: "State where the bicycle is kept", zip: "ZIP code where the bicycle is kept" }),
  bicycles: Fact.listOf(
    Schema.Struct({
      brand: Fact.text({ min: 1, max: 40 }, { label: "Brand of the bicycle", "x-tier": "price" }),
      frame_number: Schema.optionalKey(
        Fact.text({ max: 30 }, { label: "Frame number", "x-pii": "direct", "x-tier": "offer" })
      ),
      price_usd: Schema.optionalKey(Fact.wholeNumber(50, 20_000, { "x-assume": { value: 800 } })),
      electric: Schema.optionalKey(Fact.yesNo())
    }).check(Fact.oneGroupOf(["price_usd"], ["electric"])),
    { min: 1, max: 2 }
  ),
  ...policyFacts
})

const bicycle = defineLine({
  name: "bicycle",
  insures: "bicycles",
  facts_version: "2026-11-20",
  facts: Bicycle,
  example: { home: { state: "TX", zip: "75201" }, bicycles: [{ brand: "Wheel", frame_number: "F-1", electric: true }] },
  rules: (draft, _today, problems) => checkAddress(draft.home, "application.home", problems),
  assume: (facts, _today, made) => ({
    ...facts,
    bicycles: facts.bicycles.map((one, i) => ({
      ...one,
      price_usd: made.fill(one.price_usd, `bicycles.${i}.price_usd`, 800, "Worth $800")
    }))
  }),
  stateOf: (facts) => facts.home.state,
  subjectsOf: (facts) => facts.bicycles.map(({ brand }, i) => subject("bicycle", i, brand)),
  stateLaw: () => ({}),
  disclosures: [],
  has_credit_disclosure: false,
  premium_includes_fees: false,
  has_quote_events: true,
  codes: { coverage_codes: ["theft"], subject_kinds: ["bicycle"], billing_cycles: ["annual"], fee_codes: [] }
})

const home = { state: "TX", zip: "75201" }
const mine = { home, bicycles: [{ brand: "Wheel", frame_number: "F-1", electric: true }] }

const refusalOf = (input: unknown) => {
  const result = Result.mapError(bicycle.read(input, today), Applications.refusalOf)
  if (Result.isSuccess(result)) return assert.fail("was accepted")
  return [result.failure._tag, (result.failure.field_errors ?? []).map(({ path, message }) => [path, message])]
}

describe("a custom line", () => {
  it("checks structure and rules together, and reports wrong facts before missing facts", () => {
    assert.deepStrictEqual<unknown>(Result.getOrThrow(bicycle.read(mine, today)), { line: "bicycle", facts: mine })
    assert.deepStrictEqual(refusalOf({ home: { state: "TX", zip: "10001" }, bicycles: [{ price_usd: 1 }, 7] }), [
      "invalid_input",
      [
        ["application.bicycles.0.price_usd", "Must be a whole number from 50 to 20000."],
        ["application.bicycles.1", "Must be an object."],
        ["application.home.zip", "Must be a ZIP code in the state that was sent."]
      ]
    ])
    assert.deepStrictEqual(refusalOf({ bicycles: [] }), [
      "needs_information",
      [
        ["application.home.state", "Required: State where the bicycle is kept."],
        ["application.home.zip", "Required: ZIP code where the bicycle is kept."],
        ["application.bicycles.0.brand", "Required: Brand of the bicycle."],
        ["application.bicycles.0.price_usd", "This field is required. Send price_usd, or electric."],
        ["application.bicycles.0.electric", "This field is required. Send price_usd, or electric."]
      ]
    ])
  })

  it("reports a list that is too long, and checks no items beyond the limit", () => {
    const bicycles = [mine.bicycles[0], mine.bicycles[0], { brand: 1 }]
    assert.deepStrictEqual(refusalOf({ home, bicycles }), [
      "invalid_input",
      [["application.bicycles", "Must have at most 2 items."]]
    ])
    assert.deepStrictEqual(refusalOf({ home, bicycles: Array.from({ length: 5_000 }, () => 0) }), [
      "invalid_input",
      [
        ["application.bicycles.0", "Must be an object."],
        ["application.bicycles.1", "Must be an object."],
        ["application.bicycles", "Must have at most 2 items."]
      ]
    ])
  })

  it("adds assumed facts, and derives the state and the insured subjects", () => {
    const assumed = bicycle.complete(mine, today)
    assert.deepStrictEqual(assumed?.assumptions, [
      { path: "application.bicycles.0.price_usd", value: 800, source: "service_default", label: "Worth $800" }
    ])
    assert.strictEqual(assumed?.state, "TX")
    assert.deepStrictEqual(assumed?.subjects, [{ subject_id: "bicycle-1", kind: "bicycle", label: "Wheel" }])
    assert.isNull(bicycle.complete({ home }, today))
  })

  it("shows identifying facts to a carrier only if the carrier has declared that it needs them", () => {
    const assumed = bicycle.complete(mine, today) ?? assert.fail()
    assert.notInclude(JSON.stringify(disclosed(bicycle, assumed, [])), "F-1")
    assert.include(JSON.stringify(disclosed(bicycle, assumed, ["bicycles.*.frame_number"])), "F-1")
  })

  it("lists the facts that a price requires, and serves a schema of the line's facts", () => {
    assert.deepStrictEqual(
      bicycle.required_facts.map(({ path }) => path),
      ["home.state", "home.zip", "bicycles.0.brand", "bicycles.0.price_usd", "bicycles.0.electric"]
    )
    assert.deepStrictEqual(bicycle.neededFact("bicycles.*.frame_number"), {
      path: "bicycles.0.frame_number",
      label: "Frame number",
      tier: "offer",
      pii: "direct"
    })
    assert.strictEqual(bicycle.facts_schema.$id, "application.bicycle.2026-11-20")
    assert.deepStrictEqual(bicycle.facts_schema.required, ["home", "bicycles"])
  })
})
