import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { CarrierAsk } from "../../src/carriers/Carrier.ts"
import type { StandardLineName } from "../../src/lines/standard.ts"
import { minuteMs, toMillis } from "../../src/wire/Timestamp.ts"
import { feed, live, outcomes, pass, read, start, testInWorld, work } from "../support/world.ts"
import { carriers, offer, offers, prompt } from "./carriers.ts"

describe("a carrier's ask", () => {
  testInWorld("contains the ZIP code as sent, with five or nine digits", () => {
    const asked = prompt("asked")
    return {
      ...carriers(asked),
      body: Effect.gen(function* () {
        yield* work
        for (const zip of ["10001", "10001-4321"]) {
          yield* start({ application: { dwelling: { address: { state: "NY", zip }, type: "apartment" } } }, live)
          yield* pass(10)
          const facts = JSON.stringify(asked.asks.at(-1)?.ask.facts)
          assert.include(facts, `"zip":"${zip}"`)
        }
      })
    }
  })
})

describe("a carrier's question", () => {
  testInWorld("keeps the request open for a day", () => {
    const asks = prompt("asks", {
      kind: "question",
      questions: [{ path: "application.vehicles.0.vin", label: "What is the <i>VIN</i>?", allowed_values: [] }]
    })
    const well = prompt("well", offers(), { typical_ms: 2_000 })
    return {
      ...carriers(asks, well),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({ line: "personal_auto" }, live)
        yield* pass(10)
        const { quote_request } = yield* read(id, live)
        assert.deepStrictEqual(
          [quote_request.status, quote_request.status_details.reason],
          ["action_required", "carrier_question"]
        )
        const result = quote_request.carriers.find(({ carrier }) => carrier.id === "asks")
        assert.deepInclude(result, {
          outcome: "needs_information",
          message: "What is the VIN?",
          missing_facts: ["application.vehicles.0.vin"]
        })
        yield* pass(86_400_000 - 20)
        assert.strictEqual((yield* read(id, live)).quote_request.status, "action_required")
        yield* pass(20)
        const ended = (yield* read(id, live)).quote_request
        assert.strictEqual(ended.status_details.reason, "quotes_ready_action_not_taken")
        assert.strictEqual(ended.version, quote_request.version + 1)
      })
    }
  })
})

const facts = {
  first_name: "Ada",
  last_name: "Lovelace",
  date_of_birth: "1985-12-10",
  email: "ada@lovelace.example",
  phone: "+12125550147"
}
const identified: { readonly [L in StandardLineName]: object } = {
  personal_auto: {
    applicant: facts,
    garaging_address: { line1: "12 Analytical Way", line2: "Apt 7", city: "Dallas", state: "TX", zip: "75201" },
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
    applicant: facts,
    dwelling: {
      address: { line1: "12 Analytical Way", line2: "Apt 7", city: "New York", state: "NY", zip: "10001" },
      type: "apartment"
    }
  },
  pet: {
    applicant: facts,
    residence: { line1: "12 Analytical Way", city: "Austin", state: "TX", zip: "78701" },
    pets: [{ species: "dog", breed: "mixed", size: "medium", age_years: 3 }]
  }
}

const identity = /Ada|Lovelace|lovelace\.example|5550147|Analytical|Apt 7/

describe("a carrier's ask", () => {
  for (const line of ["personal_auto", "renters", "pet"] as const) {
    testInWorld(`contains no name, e-mail, phone or street unless the adapter declares the fact (${line})`, () => {
      const general = prompt("general")

      const knows = prompt("knows", offers(), { needs: ["applicant.email"] })

      const wishes = prompt("wishes", offers(), { wants: ["applicant.email"] })
      return {
        ...carriers(knows, wishes, general),
        body: Effect.gen(function* () {
          yield* work
          yield* start({ line, application: identified[line] }, live)
          yield* pass(10)
          assert.notMatch(JSON.stringify(general.asks), identity)
          assert.match(JSON.stringify(knows.asks), /ada@lovelace\.example/)
          assert.notMatch(JSON.stringify(knows.asks).replaceAll("ada@lovelace.example", ""), identity)
          assert.deepStrictEqual(wishes.asks[0]?.ask.facts, knows.asks[0]?.ask.facts)
          assert.match(JSON.stringify(general.asks), /"state":"(TX|NY)"/)
        })
      }
    })
  }

  testInWorld("keeps the assumptions of the day on which the request started, even after midnight", () => {
    const later: Array<CarrierAsk> = []
    const lasting = prompt("lasting", offers(offer({ refresh_after_ms: minuteMs })), {
      rest: {
        refresh: (ask) =>
          Effect.sync(() => {
            later.push(ask)
            return { kind: "offer", reason: "rechecked", offer: offer() }
          })
      }
    })
    return {
      ...carriers(lasting),
      body: Effect.gen(function* () {
        yield* TestClock.setTime(toMillis("2026-11-20T23:59:30.000Z"))
        yield* work
        yield* start({ line: "renters" }, live)
        yield* pass(2 * minuteMs)
        const [first] = lasting.asks
        const [second] = later
        assert.deepInclude(second?.facts, { effective_date: "2026-11-21" })
        assert.deepStrictEqual(second?.facts, first?.ask.facts)
        assert.deepStrictEqual(second?.assumptions, first?.ask.assumptions)
      })
    }
  })

  testInWorld("is not made if needed facts are missing, and the result lists the facts' paths", () => {
    const needs = prompt("needs", offers(), { needs: ["vehicles.*.vin", "applicant.email"] })
    const wants = prompt("wants", offers(), { wants: ["vehicles.*.vin", "applicant.email"] })
    const general = prompt("general", offers())
    return {
      ...carriers(needs, wants, general),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({ line: "personal_auto" }, live)
        yield* pass(10)
        assert.lengthOf(needs.asks, 0)
        assert.lengthOf(wants.asks, 1)
        assert.deepInclude((yield* read(id, live)).quote_request.carriers[0], {
          outcome: "not_asked",
          reason: "facts_missing",
          missing_facts: ["application.vehicles.0.vin", "application.applicant.email"],
          asked_at: null
        })
      })
    }
  })

  testInWorld("is not made without a required credit disclosure or outside the carrier's states", () => {
    const uses = prompt("uses", offers(), { uses_credit: true, states: ["TX", "CA"] })
    const distant = prompt("distant", offers(), { states: ["AK"] })
    const near = prompt("near", offers(), { states: ["TX", "CA"] })
    return {
      ...carriers(uses, distant, near),
      body: Effect.gen(function* () {
        yield* work
        const without = yield* start({ line: "personal_auto" }, live)
        const disclosed = yield* start({ line: "personal_auto", credit_disclosure_receipt_id: "receipt-0002" }, live)
        const prohibited = yield* start(
          {
            line: "personal_auto",
            application: { ...identified.personal_auto, garaging_address: { state: "CA", zip: "94110" } }
          },
          live
        )
        yield* pass(10)
        const rest = ["distant not_asked state_not_served", "near quoted"]
        assert.deepStrictEqual(yield* outcomes(without.id), ["uses not_asked credit_disclosure_missing", ...rest])
        assert.deepStrictEqual(yield* outcomes(disclosed.id), ["uses quoted", ...rest])
        assert.deepStrictEqual(yield* outcomes(prohibited.id), ["uses quoted", ...rest])
        assert.deepStrictEqual(
          uses.asks.map(({ ask }) => ask.credit_disclosed),
          [true, false]
        )
      })
    }
  })

  testInWorld("is not made if no carrier qualifies, and the request ends immediately with the reasons", () => {
    const distant = prompt("distant", offers(), { states: ["AK"] })
    return {
      ...carriers(distant),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        const { quote_request } = yield* read(id, live)
        assert.deepStrictEqual(
          [quote_request.status, quote_request.status_details.reason, quote_request.version],
          ["failed", "no_carrier_available", 2]
        )
        assert.deepStrictEqual(yield* outcomes(id), ["distant not_asked state_not_served"])
        assert.deepStrictEqual(
          (yield* feed(live)).map(({ type }) => type),
          ["quote_request.queued", "quote_request.failed"]
        )
      })
    }
  })
})
