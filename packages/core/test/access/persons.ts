import { Effect } from "effect"
import { sendFeedback } from "../../src/feedback/FeedbackOperations.ts"
import type { StandardLineName } from "../../src/lines/standard.ts"
import * as operations from "../../src/operations.ts"
import { World } from "../../src/testing/World.ts"

/* A person whose facts can be found anywhere: applications with words that occur nowhere else. */

const lines: ReadonlyArray<StandardLineName> = ["personal_auto", "renters", "pet"]

const applicant = {
  first_name: "Adalynda",
  last_name: "Lovelacey",
  date_of_birth: "1985-12-10",
  email: "ada@lovelace.example",
  phone: "+12125550147"
}
const street = { line1: "12 Analytical Way", line2: "Apt Seven" }

const personal: { readonly [L in StandardLineName]: object } = {
  personal_auto: {
    applicant,
    garaging_address: { ...street, city: "Analyticville", state: "TX", zip: "75201-4321" },
    drivers: [
      {
        relationship: "self",
        first_name: "Adalynda",
        last_name: "Lovelacey",
        date_of_birth: "1985-12-10",
        license_status: "valid"
      }
    ],
    vehicles: [
      { model_year: 2003, make: "Zastrawa", model: "Korallus", trim: "Sondermodell" },
      { vin: "1HGCM82633A004352" }
    ],
    prior_insurance: { status: "insured", current_carrier: "Formerly Mutual" }
  },
  renters: {
    applicant,
    dwelling: { address: { ...street, city: "Babbageburgh", state: "NY", zip: "10001-4321" }, type: "apartment" }
  },
  pet: {
    applicant,
    residence: { ...street, city: "Enginetown", state: "TX", zip: "78701-4321" },
    pets: [
      { name: "Wuschelbart", species: "dog", breed: "mixed", size: "medium", age_years: 3 },
      { species: "cat", breed: "domestic_shorthair", birth_month: "2024-05" }
    ]
  }
}

/** Words from the person's facts and property, and words that the service derives from them. */
export const personalTexts: ReadonlyArray<string> = [
  ...["Adalynda", "Lovelacey", "1985-12-10", "lovelace.example", "+12125550147"],
  ...["Analytical", "Apt Seven", "Analyticville", "Babbageburgh", "Enginetown"],
  ...["75201-4321", "10001-4321", "78701-4321", "1HGCM82633A004352"],
  ...["Zastrawa", "Korallus", "Sondermodell", "Formerly Mutual", "Wuschelbart"],
  ...["domestic shorthair", "domestic_shorthair", "2024-05", "from the VIN", "License from", "years_licensed"]
]

/**
 * Starts a request of each line for such a person and plays it to the end. Returns the keys and handles, and the
 * quotes.
 */
export const everyLine = Effect.gen(function* () {
  const { call, keys } = yield* World
  const secrets: Array<string> = [...Object.values(keys.sandbox), ...Object.values(keys.live)]
  for (const line of lines) {
    for (const as of ["server", "platform"] as const) {
      const started = yield* call(
        operations.startQuoteRequest,
        {
          line,
          request_key: `${line}-${as}`,
          application: personal[line],
          consent_receipt_id: "receipt-secret-1",
          ...(line === "personal_auto" && { credit_disclosure_receipt_id: "receipt-secret-2" }),
          contact_consent: { receipt_id: "receipt-secret-3", channels: ["email"] }
        },
        { as }
      )
      if (started.read_handle !== undefined) secrets.push(started.read_handle)
    }
    // An offer that is refreshed, so its quote has more than one version.
    const refreshed = yield* call(operations.startQuoteRequest, {
      line,
      request_key: `${line}-refreshed`,
      application: personal[line],
      consent_receipt_id: "receipt-secret-1",
      scenario: "price_update"
    })
    secrets.push(...(refreshed.read_handle === undefined ? [] : [refreshed.read_handle]))
  }
  // A report that names a person, although it should not.
  const words = {
    summary: "No quote for Wuschelbart",
    expected: "A quote in Babbageburgh",
    actual: "Adalynda got none"
  }
  yield* call(sendFeedback, { kind: "bug", ...words })
  yield* call(operations.advanceTime, { seconds: 600 })
  const { quote_requests } = yield* call(operations.listQuoteRequests, { limit: 100 })
  const reads = yield* Effect.forEach(quote_requests, ({ id }) =>
    call(operations.getQuoteRequest, { id, wait_seconds: 0 })
  )
  yield* call(operations.forceExpiry, {})
  return { secrets, quotes: reads.flatMap(({ quotes }) => quotes) }
})
