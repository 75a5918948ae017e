import { apiKey, type Carrier, defineCarrier, Money, Reply } from "@quotewire/core"
import { Schema } from "effect"
import * as starts from "../starts.ts"

/** The carrier that the bench asks. */
export const carrierId = "naic:00001"

/** The connection values that each organization sets for a carrier. */
export const connection = { api_key: "key-of-the-agency-0001" }

/** The schema of the carrier API's answer: a price with its coverages, or a decline. */
export const Answer = Schema.Struct({
  number: Schema.String,
  status: Schema.Literals(["quoted", "declined"]),
  product: Schema.String,
  premium_cents: Schema.Int,
  term_months: Schema.Int,
  coverages: Schema.Array(
    Schema.Struct({ code: Schema.String, limit_cents: Schema.Int, deductible_cents: Schema.NullOr(Schema.Int) })
  )
})

const bodilyInjury = { code: "bodily_injury_liability", limit_cents: 10_000_000, deductible_cents: null }
const propertyDamage = { code: "property_damage_liability", limit_cents: 5_000_000, deductible_cents: null }
const collision = { code: "collision", limit_cents: 2_500_000, deductible_cents: 50_000 }

/** The carrier API's answer, the same for every ask. */
export const answer: typeof Answer.Type = {
  number: "Q-2026-000000000001",
  status: "quoted",
  product: "Standard Auto",
  premium_cents: 68_900,
  term_months: 6,
  coverages: [bodilyInjury, propertyDamage, collision]
}

/** The facts that the carrier needs. */
interface Facts {
  readonly garaging_address: { readonly state: string; readonly zip: string }
  readonly drivers: ReadonlyArray<{
    readonly relationship: string
    readonly date_of_birth: string
    readonly license_status: string
    readonly years_licensed?: number
    readonly marital_status?: string
  }>
  readonly vehicles: ReadonlyArray<{
    readonly model_year?: number
    readonly make?: string
    readonly model?: string
    readonly annual_miles?: number
  }>
}

/** The JSON that one ask sends to the carrier's API. */
const requestBody = (key: string, { drivers, garaging_address, vehicles }: Facts) => ({
  key,
  producer: "agency-0001",
  garaged_in: { state: garaging_address.state, zip: garaging_address.zip },
  persons: drivers.map((driver) => ({
    role: driver.relationship,
    born: driver.date_of_birth,
    license: driver.license_status,
    licensed_years: driver.years_licensed,
    marital_status: driver.marital_status
  })),
  cars: vehicles.map(({ annual_miles, make, model, model_year }) => ({ year: model_year, make, model, annual_miles }))
})

/** A key with the same length as an ask's `idempotency_key`. */
const key = "k".repeat(82)

/** The JSON of an ask, created without a service. */
export const askedAlone = () => requestBody(key, starts.household("").application)

const replyOf = ({ coverages, number, premium_cents, product, status, term_months }: typeof Answer.Type) =>
  status === "declined"
    ? Reply.decline("risk_outside_guidelines")
    : Reply.offers([
        {
          offer_ref: number,
          product,
          premium: Money.cents(premium_cents),
          term_months,
          subjects: [
            {
              subject_id: "vehicle-1",
              kind: "vehicle",
              label: null,
              coverages: coverages.map(({ code, deductible_cents, limit_cents }) => ({
                code,
                limit: Money.cents(limit_cents),
                deductible: deductible_cents === null ? null : Money.cents(deductible_cents),
                included: true
              }))
            }
          ]
        }
      ])

/** How to call the carrier's API at this address. */
export const httpOf = (base_url: string) => ({
  base_url,
  auth: apiKey({ header: "x-api-key", field: "api_key" }),
  redact: ["persons.*.born"]
})

/**
 * A carrier as an embedder writes it, with its API at this address. It recognizes repeated asks, and its limits are too
 * high to matter.
 */
export const make = (id: string, baseUrl: string): Carrier.CarrierAdapter =>
  defineCarrier({
    id,
    name: `Carrier ${id}`,
    environments: ["live"],
    lines: {
      personal_auto: {
        states: ["TX"],
        idempotent: true,
        typical_ms: 500,
        max_concurrent: 10_000,
        rate_per_minute: 1_000_000
      }
    },
    connection: { api_key: "secret" },
    http: httpOf(baseUrl),
    ask: async ({ facts, http, idempotency_key }) =>
      replyOf((await http.post("/quotes", { json: requestBody(idempotency_key, facts) })).json(Answer))
  })
