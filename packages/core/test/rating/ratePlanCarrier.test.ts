import { assert, describe, it } from "@effect/vitest"
import { Effect, Struct } from "effect"
import example from "../../../../examples/rate-plan.json" with { type: "json" }
import type { CarrierAdapter, CarrierAsk } from "../../src/carriers/Carrier.ts"
import { InvalidRatePlan, ratePlanCarrier } from "../../src/rating/ratePlanCarrier.ts"
import { addDays } from "../../src/wire/CalendarDay.ts"
import { askFor, reference, today } from "../sandbox/support.ts"
import { planOf } from "./fictional.ts"

const ask = (carrier: CarrierAdapter, changes: object = {}, parts: Partial<CarrierAsk> = {}) =>
  Effect.runSync(carrier.ask(askFor("renters", { ...reference.renters, ...changes }, parts)))

const inTexas = { address: { state: "TX", zip: "78701" }, type: "apartment" }

describe("a carrier made from a rate plan", () => {
  const carrier = ratePlanCarrier(example)

  it("serves its plan's states in live, and needs no facts that identify a person", () => {
    assert.deepStrictEqual(carrier.environments, ["live"])
    assert.deepStrictEqual(ratePlanCarrier(example, { environments: ["sandbox"] }).environments, ["sandbox"])
    assert.deepStrictEqual(carrier.carrier, { id: "naic:00000", name: "Example Mutual", registry_ids: ["naic:00000"] })
    assert.deepStrictEqual(Object.keys(carrier.lines), ["renters"])
    assert.deepStrictEqual(carrier.lines.renters?.states, ["NY", "TX"])
    assert.deepStrictEqual(carrier.lines.renters?.needs, [])
    assert.isUndefined(carrier.simulation)
  })

  it("offers the plan's price, with the plan's validity and page", () => {
    const reply = ask(carrier, { dwelling: inTexas })
    const [offer] = reply.kind === "offers" ? reply.offers : []
    assert.strictEqual(offer?.premium?.amount_minor, Math.round(17_800 * 1.04 * 1.125) + 500)
    assert.strictEqual(offer?.product, "Example Mutual 12-month renters")
    assert.strictEqual(offer?.term_months, 12)
    assert.deepStrictEqual(offer?.fees, [{ code: "policy_fee", amount: { amount_minor: 500, currency: "USD" } }])
    assert.strictEqual(offer?.expires_at, "2026-12-20T12:00:01.000Z")
    assert.strictEqual(offer?.handoff_url, `https://quotes.example.com/renters/${offer?.offer_ref}`)
    assert.deepStrictEqual(carrier.handoff_hosts, ["quotes.example.com"])
    assert.strictEqual(offer?.evidence_label, "Price from the carrier's rates as of 2026-11-20")
    const covers = offer?.subjects[0]?.coverages ?? []
    assert.strictEqual(covers.find(({ code }) => code === "loss_of_use")?.limit?.amount_minor, 600_000)
  })

  it("makes an offer without a page if the plan has no page", () => {
    const reply = ask(ratePlanCarrier(Struct.omit(example, ["handoff"])))
    assert.isNull(reply.kind === "offers" ? reply.offers[0]?.handoff_url : undefined)
  })

  const declines: ReadonlyArray<readonly [string, object, string]> = [
    ["an application to which an underwriting rule applies", { household: { claims_last_5_years: 3 } }, "prior_claims"],
    [
      "an application from a state that it does not serve",
      { dwelling: { ...inTexas, address: { state: "CA", zip: "94110" } } },
      "state_not_served"
    ],
    ["a policy that starts too early", { effective_date: today }, "start_date_out_of_range"],
    ["a deductible that the plan does not offer", { coverage: { deductible_usd: 250 } }, "risk_outside_guidelines"]
  ]
  it.each(declines)("declines %s", (_, changes, reason) => {
    assert.deepStrictEqual<unknown>(ask(carrier, changes), { kind: "declined", reason })
  })

  it("declines during a moratorium in some states, with the plan's message", () => {
    const storm = (from: string, until: string) =>
      ratePlanCarrier({
        ...example,
        examples: example.examples.slice(0, 1),
        underwriting: [{ reason: "binding_moratorium", message: "A storm is near.", states: ["TX"], from, until }]
      })
    const during = storm(today, today)
    const declined = { kind: "declined", reason: "binding_moratorium", message: "A storm is near." }
    assert.deepStrictEqual<unknown>(ask(during, { dwelling: inTexas }), declined)
    assert.strictEqual(ask(during).kind, "offers")
    assert.strictEqual(ask(storm(addDays(today, 1), addDays(today, 2)), { dwelling: inTexas }).kind, "offers")
  })

  it("declines a price above its maximum, and raises a price below its minimum", () => {
    const [smallest] = example.examples
    const raised = ratePlanCarrier({
      ...example,
      minimum_cents: 20_000,
      examples: [{ ...smallest, premium_cents: 20_000 }]
    })
    const reply = ask(raised)
    assert.strictEqual(reply.kind === "offers" ? reply.offers[0]?.premium?.amount_minor : null, 20_000)
    const dear = ratePlanCarrier({ ...example, maximum_cents: 27_000 })
    const much = { coverage: { personal_property_usd: 150_000 } }
    assert.deepStrictEqual(ask(dear, much), { kind: "declined", reason: "risk_outside_guidelines" })
  })

  it("refreshes an offer at the same price, and recognizes only its own offers", () => {
    const first = askFor("renters", reference.renters)
    const reply = Effect.runSync(carrier.ask(first))
    const [offer] = reply.kind === "offers" ? reply.offers : []
    const refresh = (ref: string) => Effect.runSync(carrier.refresh?.(first, ref) ?? Effect.die("no refresh"))
    assert.deepStrictEqual<unknown>(refresh(offer?.offer_ref ?? ""), { kind: "offer", reason: "rechecked", offer })
    assert.deepStrictEqual(refresh("another"), { kind: "withdrawn" })
  })

  it("can have plans for several lines", () => {
    const pet = { ...planOf("sbx_tailhaven", "pet"), carrier: example.carrier }
    const both = ratePlanCarrier([example, pet])
    assert.deepStrictEqual(Object.keys(both.lines), ["renters", "pet"])
    assert.strictEqual(ask(both).kind, "offers")
    assert.strictEqual(Effect.runSync(both.ask(askFor("pet", reference.pet))).kind, "offers")
    const { kind } = Effect.runSync(both.ask(askFor("personal_auto", reference.personal_auto)))
    assert.strictEqual(kind, "unavailable")
  })

  const invalid: ReadonlyArray<readonly [string, unknown, ReadonlyArray<string>]> = [
    ["a plan with faults", { ...example, rounding: "up", minimum_cents: 0 }, ["rounding", "minimum_cents"]],
    ["a list with a faulty plan", [example, { ...example, line: "boat" }], ["1.line"]],
    ["an empty list", [], [""]],
    ["two plans for one line", [example, example], ["1.line"]],
    ["plans from two carriers", [example, planOf("sbx_tailhaven", "pet")], ["1.carrier.id"]]
  ]
  it.each(invalid)("cannot be created from %s, and the error lists every fault", (_, plan, paths) => {
    try {
      ratePlanCarrier(plan)
      assert.fail("was made")
    } catch (error) {
      if (!(error instanceof InvalidRatePlan)) throw error
      assert.deepStrictEqual(
        error.faults.map(({ path }) => path),
        paths
      )
      for (const { message } of error.faults) assert.include(error.message, message)
    }
  })
})
