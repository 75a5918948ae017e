import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { kinds } from "../../src/kinds.ts"
import type { LineName } from "../../src/lines/standard.ts"
import { directory, Storage } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import { advance, start, story } from "../quoting/support.ts"

const secretFacts: { readonly [L in LineName]: object } = {
  personal_auto: {
    applicant: {
      first_name: "Ada",
      last_name: "Lovelace",
      date_of_birth: "1985-12-10",
      email: "ada@lovelace.example",
      phone: "+12125550147"
    },
    garaging_address: { line1: "12 Analytical Way", line2: "Apt 7", city: "Dallas", state: "TX", zip: "75201-4321" },
    drivers: [
      {
        relationship: "self",
        first_name: "Ada",
        last_name: "Lovelace",
        date_of_birth: "1985-12-10",
        license_status: "valid"
      }
    ],
    vehicles: [{ vin: "1HGCM82633A004352" }]
  },
  renters: {
    applicant: { first_name: "Ada", last_name: "Lovelace", date_of_birth: "1985-12-10" },
    dwelling: { address: { line1: "12 Analytical Way", state: "NY", zip: "10001-4321" }, type: "apartment" }
  },
  pet: {
    applicant: { first_name: "Ada", last_name: "Lovelace", date_of_birth: "1985-12-10" },
    residence: { line1: "12 Analytical Way", state: "TX", zip: "78701-4321" },
    pets: [{ species: "dog", breed: "mixed", size: "medium", age_years: 3 }]
  }
}

/** Everything that storage holds of the world's workspaces: the bodies and ids of records, events and jobs. */
const everything = Effect.gen(function* () {
  const storage = yield* Storage
  const { organization } = yield* World
  const texts: Array<string> = []
  for (const workspace_id of [directory, ...Object.values(organization.workspaces)]) {
    for (const kind of kinds.all.map(({ name }) => name)) {
      const page = yield* storage.page({ workspace_id, kind, order: "oldest", after: null, limit: 1_000 })
      texts.push(...page.records.map((record) => JSON.stringify(record)))
    }
    const { events } = yield* storage.feed({ workspace_id, after: 0, limit: 1_000 })
    texts.push(...events.map(({ body }) => body))
  }
  const { jobs } = yield* storage.claim({ now: 1e15, lease_ms: 1, limit: 1_000 })
  texts.push(...jobs.map((job) => JSON.stringify(job)))
  return texts.join("\n")
})

describe("what is stored", () => {
  story(
    "holds no key, no handle, no receipt and nothing of a person that could be read",
    Effect.gen(function* () {
      const { keys } = yield* World
      const handles: Array<string> = []
      for (const line of ["personal_auto", "renters", "pet"] as const) {
        for (const as of ["server", "platform"] as const) {
          const started = yield* start(
            {
              line,
              application: secretFacts[line],
              consent_receipt_id: "receipt-secret-1",
              ...(line === "personal_auto" && { credit_disclosure_receipt_id: "receipt-secret-2" }),
              contact_consent: { receipt_id: "receipt-secret-3", channels: ["email"] }
            },
            { as }
          )
          if (started.read_handle !== undefined) handles.push(started.read_handle)
        }
      }
      yield* start({ scenario: "waits_in_queue", application: secretFacts.renters })
      yield* advance(4)
      const stored = yield* everything
      assert.include(stored, "quote_request")
      assert.include(stored, "ask_carrier")
      const secrets = [
        ...Object.values(keys.sandbox),
        ...Object.values(keys.live),
        ...handles,
        ...["receipt-secret", "Lovelace", "lovelace.example", "+12125550147", "1985-12-10"],
        ...["Analytical", "Apt 7", "1HGCM82633A004352", "75201-4321", "10001-4321", "78701-4321"]
      ]
      assert.lengthOf(handles, 3)
      for (const secret of secrets) assert.notInclude(stored, secret)
    })
  )
})
