import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import type { CarrierAdapter, CarrierAsk, CarrierCallback, CarrierOffer } from "../../src/carriers/Carrier.ts"
import { check } from "../../src/carriers/Offer.ts"
import { signatureHeader } from "../../src/carriers/SignedCallbacks.ts"
import * as SecretFinder from "../../src/carriers/secrets/SecretFinder.ts"
import { type StateCode, servedStates } from "../../src/lines/State.ts"
import { lineNames, type StandardLineName } from "../../src/lines/standard.ts"
import { lineNamed } from "../lines/applications.ts"
import { askFor, carriers, carriersOf, reference, requestedAt, servedBy, zipOf } from "./support.ts"

const all = Effect.runSync(carriers)

const meridian = all.find(({ carrier }) => carrier.id === "sbx_meridian")
const bluefern = all.find(({ carrier }) => carrier.id === "sbx_bluefern")

describe("the fictional carriers", () => {
  it("have the expected names, lines, states and modes", () => {
    assert.deepStrictEqual(
      all.map(({ carrier, lines: offered }) => [carrier.id, carrier.name, Object.keys(offered).join()]),
      [
        ["sbx_harborline", "Harborline Mutual (sandbox)", "personal_auto,renters"],
        ["sbx_pinecrest", "Pinecrest Direct (sandbox)", "personal_auto"],
        ["sbx_bluefern", "Bluefern Auto (sandbox)", "personal_auto"],
        ["sbx_copperline", "Copperline Specialty (sandbox)", "personal_auto"],
        ["sbx_meridian", "Meridian Lane (sandbox)", "personal_auto"],
        ["sbx_lanternway", "Lanternway Renters (sandbox)", "renters"],
        ["sbx_brightstoop", "Brightstoop Home (sandbox)", "renters"],
        ["sbx_pawbridge", "Pawbridge Pet (sandbox)", "pet"],
        ["sbx_tailhaven", "Tailhaven (sandbox)", "pet"],
        ["sbx_whiskerwell", "Whiskerwell (sandbox)", "pet"]
      ]
    )
    for (const adapter of all) {
      assert.deepStrictEqual(adapter.environments, ["sandbox"])
      assert.deepStrictEqual(adapter.carrier.registry_ids, [adapter.carrier.id.replace("sbx_", "sandbox:")])
      for (const line of lineNames) {
        const offered = adapter.lines[line]
        if (offered !== undefined) assert.deepStrictEqual(offered.states, servedBy(adapter.carrier.id, line))
      }
    }
    assert.strictEqual(meridian?.lines.personal_auto?.mode, "callback")
    assert.isTrue(meridian?.lines.personal_auto?.uses_credit)
    assert.strictEqual(bluefern?.lines.personal_auto?.mode, "poll")
  })

  it("return the expected offer for the reference application", () => {
    const pinecrest = all.find(({ carrier }) => carrier.id === "sbx_pinecrest")
    const ask = askFor("personal_auto", reference.personal_auto)
    const reply = pinecrest === undefined ? undefined : Effect.runSync(pinecrest.ask({ ...ask, now: ask.now + 4_000 }))
    assert.strictEqual(reply?.kind, "offers")
    if (reply?.kind !== "offers") return
    const [offer] = reply.offers
    assert.strictEqual(offer?.product, "Pinecrest Direct 6-month auto")
    assert.deepStrictEqual(offer?.premium, { amount_minor: 109_644, currency: "USD" })
    assert.strictEqual(offer?.term_months, 6)
    assert.strictEqual(offer?.billing_cycle, "monthly")
    assert.deepStrictEqual(offer?.fees, [{ code: "installment_fee", amount: { amount_minor: 2_500, currency: "USD" } }])
    assert.deepStrictEqual(offer?.conditions, ["Price is subject to the carrier's review."])
    assert.strictEqual(offer?.subjects[0]?.label, "2019 Honda Accord")
    assert.strictEqual(offer?.expires_at, "2026-12-20T12:00:05.000Z")
  })

  it("charge the fees of their plans", () => {
    const [self] = reference.personal_auto.drivers
    const application = {
      ...reference.personal_auto,
      drivers: [{ ...self, sr22_required: true }],
      billing_preference: "pay_in_full"
    }
    const offers = offersOf(askFor("personal_auto", application, { scenario: "quotes_ready" }))
    const fees = offers.map(([, offer]) => offer.fees.map(({ amount, code }) => `${code} ${amount.amount_minor}`))
    assert.deepStrictEqual(fees, [[], [], [], ["policy_fee 6000", "sr22_filing_fee 2500", "state_fee 250"], []])
    const renters = offersOf(askFor("renters", reference.renters, { scenario: "quotes_ready" }))
    assert.deepStrictEqual(
      renters.map(([, offer]) => offer.fees.length),
      [0, 0, 1]
    )
  })

  it("follow their underwriting rules if no scenario is played", () => {
    const application = {
      ...reference.personal_auto,
      vehicles: [{ ...reference.personal_auto.vehicles[0], salvage_title: true }]
    }
    const harborline = carriersOf(all, "personal_auto")[0]
    const replies = ([null, "quotes_ready", "zero_quotes"] as const).map((scenario) =>
      Effect.runSync(harborline?.ask(askFor("personal_auto", application, { scenario })) ?? Effect.die("no carrier"))
    )
    assert.deepStrictEqual(replies[0], { kind: "declined", reason: "vehicle_not_eligible" })
    assert.strictEqual(replies[1]?.kind, "offers")
    assert.deepStrictEqual(replies[2], { kind: "declined", reason: "risk_outside_guidelines" })
  })

  it("recognize only their own offers in a refresh", () => {
    const ask = askFor("renters", reference.renters)
    for (const adapter of carriersOf(all, "renters")) {
      const again = (ref: string) => Effect.runSync(adapter.refresh?.(ask, ref) ?? Effect.die("no refresh"))
      const stands = again(`${ask.idempotency_key}-1`)
      assert.isTrue(stands.kind === "offer" && stands.reason === "rechecked")
      assert.deepStrictEqual(again("another"), { kind: "withdrawn" })
    }
  })

  it("ignore their underwriting rules in every scenario except credit_disclosure", () => {
    for (const { simulation } of all) {
      assert.isTrue(simulation?.ignoresRules("quotes_ready", "personal_auto"))
      assert.isFalse(simulation?.ignoresRules("credit_disclosure", "personal_auto"))
    }
  })
})

/** The offers of all carriers of a line, however they arrive, in a scenario in which each makes one. */
const offersOf = (ask: CarrierAsk): ReadonlyArray<readonly [CarrierAdapter, CarrierOffer]> =>
  carriersOf(all, ask.line).map((adapter) => {
    const later = { ...ask, now: ask.asked_at + 40_000 }
    const reply =
      adapter.lines[ask.line]?.mode === "poll"
        ? Effect.runSync(adapter.poll?.(later, ask.idempotency_key) ?? Effect.die("no poll"))
        : Effect.runSync(adapter.refresh?.(later, `${ask.idempotency_key}-1`) ?? Effect.die("no refresh"))
    if (reply.kind === "offers" && reply.offers[0] !== undefined) return [adapter, reply.offers[0]]
    if (reply.kind === "offer") return [adapter, reply.offer]
    throw new Error(`${adapter.carrier.id} answers ${reply.kind}`)
  })

describe("a fictional carrier's callback", () => {
  const ask = askFor("personal_auto", reference.personal_auto, { now: requestedAt + 20_000 })
  const sent = Effect.suspend(
    () => meridian?.simulation?.callback(ask, ask.idempotency_key) ?? Effect.die("no callback")
  )
  const read = (adapter: CarrierAdapter | undefined, headers: CarrierCallback["headers"], body: Uint8Array) =>
    adapter?.callback?.({ headers, body }) ?? Effect.die("no callback")

  it.effect("carries the reply and the reference", () =>
    Effect.gen(function* () {
      const { body, headers } = yield* sent
      const heard = yield* read(meridian, headers, body)
      assert.strictEqual(heard?.ref, ask.idempotency_key)
      assert.isTrue(heard?.reply.kind === "offers" && heard.reply.offers[0]?.premium?.amount_minor === 127_520)
    })
  )

  it.effect("is refused if its body, signature or sender was changed", () =>
    Effect.gen(function* () {
      const { body, headers } = yield* sent
      for (let i = 0; i < body.length; i += 97) {
        const altered = body.slice()
        altered[i] = (altered[i] ?? 0) ^ 1
        assert.isNull(yield* read(meridian, headers, altered))
      }
      const signature = String(headers[signatureHeader])
      const other = signature.startsWith("0") ? `1${signature.slice(1)}` : `0${signature.slice(1)}`
      for (const wrong of [other, "", "zz", signature.slice(2)]) {
        assert.isNull(yield* read(meridian, { ...headers, [signatureHeader]: wrong }, body))
      }
      assert.isNull(yield* read(meridian, {}, body))
      assert.isNull(yield* read(bluefern, headers, body))
    })
  )

  it.effect("is refused if it was signed by another process", () =>
    Effect.gen(function* () {
      const { body, headers } = yield* sent
      const elsewhere = (yield* carriers).find(({ carrier }) => carrier.id === "sbx_meridian")
      assert.isNull(yield* read(elsewhere, headers, body))
    })
  )
})

const secret = "Zzyzxname"
const incident = fc.record({
  type: fc.constantFrom("at_fault_accident", "minor_violation", "major_violation", "glass_claim"),
  month: fc.constantFrom("2026-03", "2024-01", "2020-01")
})
const deductible = fc.constantFrom(250, 500, 1000, 2000, null)
const auto = fc.record({
  applicant: fc.constant({ first_name: secret, email: "zzyzx@example.com" }),
  drivers: fc.array(
    fc.record({
      relationship: fc.constant("other_household"),
      date_of_birth: fc.integer({ min: 1930, max: 2009 }).map((born) => `${born}-02-28`),
      license_status: fc.constantFrom("valid", "suspended", "foreign"),
      incidents: fc.array(incident, { maxLength: 3 }),
      sr22_required: fc.boolean()
    }),
    { minLength: 1, maxLength: 3 }
  ),
  vehicles: fc.array(
    fc.record({
      model_year: fc.integer({ min: 1985, max: 2027 }),
      make: fc.constantFrom("Honda", "Tesla", "BMW"),
      model: fc.constantFrom("Civic", "Model 3", "M3"),
      annual_miles: fc.integer({ min: 0, max: 100_000 }),
      comprehensive_deductible_usd: deductible,
      collision_deductible_usd: deductible
    }),
    { minLength: 1, maxLength: 3 }
  ),
  coverage: fc.record({ level: fc.constantFrom("state_minimum", "standard", "enhanced") }),
  billing_preference: fc.constantFrom("monthly", "pay_in_full")
})
const renters = fc.record({
  dwelling: fc.record({
    type: fc.constantFrom("apartment", "condo", "mobile_home", "other"),
    automatic_sprinkler: fc.boolean()
  }),
  coverage: fc.record({
    personal_property_usd: fc.integer({ min: 5, max: 150 }).map((thousands) => thousands * 1_000),
    deductible_usd: fc.constantFrom(250, 500, 1_000, 2_500)
  }),
  household: fc.record({ claims_last_5_years: fc.integer({ min: 0, max: 10 }) })
})
const pet = fc.record({
  pets: fc.array(
    fc.record({
      name: fc.constant(secret),
      species: fc.constant("dog"),
      breed: fc.constantFrom("Beagle", "French Bulldog", "mixed"),
      size: fc.constantFrom("small", "medium", "large", "giant"),
      age_years: fc.integer({ min: 0, max: 25 })
    }),
    { minLength: 1, maxLength: 5 }
  ),
  coverage: fc.record({
    plan: fc.constantFrom("accident_only", "accident_illness"),
    annual_limit_usd: fc.constantFrom(5_000, 10_000, "unlimited"),
    wellness: fc.boolean()
  })
})

type Place = { readonly state: StateCode; readonly zip: string }

/** An application with an address. The first driver is the applicant. */
const inPlace = (line: StandardLineName, application: object, { state, zip }: Place): object => {
  const address = { state, zip, line1: `1 ${secret} Road` }
  if (line === "pet") return { ...application, residence: address }
  if (line === "renters") {
    const dwelling = "dwelling" in application && typeof application.dwelling === "object" ? application.dwelling : {}
    return { ...application, dwelling: { ...dwelling, address } }
  }
  const drivers = "drivers" in application && Array.isArray(application.drivers) ? application.drivers : []
  return {
    ...application,
    garaging_address: address,
    drivers: drivers.map((driver, index) => (index === 0 ? { ...driver, relationship: "self" } : driver))
  }
}

const place = fc.constantFrom(...servedStates).map((state): Place => ({ state, zip: zipOf(state) }))

// From the lowest territory factor to the highest.
const texas: ReadonlyArray<Place> = [751, 754, 752, 750, 753]
  .toSorted((a, b) => ((7 * a + 3) % 5) - ((7 * b + 3) % 5))
  .map((zip3) => ({ state: "TX", zip: `${zip3}01` }))

const askOf = (line: StandardLineName, application: object, at: Place): CarrierAsk =>
  askFor(line, inPlace(line, application, at), { scenario: "quotes_ready" })

describe("every offer from a fictional carrier", () => {
  const cases: ReadonlyArray<readonly [StandardLineName, fc.Arbitrary<object>]> = [
    ["personal_auto", auto],
    ["renters", renters],
    ["pet", pet]
  ]
  for (const [line, facts] of cases) {
    const asks = fc.tuple(facts, place).map(([application, at]) => ({ ...askOf(line, application, at), at }))

    it(`is the same for the same facts, and repeats no fact outside its coverages (${line})`, () => {
      fc.assert(
        fc.property(asks, (asked) => {
          const offers = offersOf(asked)
          assert.strictEqual(
            JSON.stringify(offers.map(([, offer]) => offer)),
            JSON.stringify(offersOf(structuredClone(asked)).map(([, offer]) => offer))
          )
          for (const [, offer] of offers) {
            assert.strictEqual(offer.offer_ref, `${asked.idempotency_key}-1`)
            assert.strictEqual(new URL(offer.handoff_url ?? "").pathname, `/offers/${offer.offer_ref}`)
            assert.strictEqual(new URL(offer.handoff_url ?? "").search, "")
            assert.notInclude(JSON.stringify({ ...offer, subjects: [] }), secret)
          }
        }),
        { numRuns: 50 }
      )
    })

    it(`has a positive whole price and passes the offer checks, whatever the facts (${line})`, () => {
      fc.assert(
        fc.property(asks, (asked) => {
          for (const [adapter, offer] of offersOf(asked)) {
            const premium = offer.premium?.amount_minor ?? 0
            assert.isTrue(Number.isSafeInteger(premium) && premium > 0)
            const checked = check(offer, {
              line: lineNamed(line),
              state: asked.at.state,
              subject_ids: new Set(offer.subjects.map((subject) => subject.subject_id)),
              handoff_hosts: adapter.handoff_hosts,
              secrets: SecretFinder.none,
              now: asked.now
            })
            assert.isNotNull(checked)
          }
        }),
        { numRuns: 50 }
      )
    })

    it(`costs no less in a more expensive territory (${line})`, () => {
      fc.assert(
        fc.property(facts, (application) => {
          const totals = texas.map((at) =>
            offersOf(askOf(line, application, at)).map(([, offer]) => offer.premium?.amount_minor ?? 0)
          )
          for (const [index, prices] of totals.entries()) {
            const dearer = totals[index + 1]
            if (dearer === undefined) continue
            for (const [carrier, price] of prices.entries()) assert.isAtMost(price, dearer[carrier] ?? 0)
          }
        }),
        { numRuns: 25 }
      )
    })
  }
})
