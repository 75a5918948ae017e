import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import type { CarrierAdapter } from "../../src/carriers/Carrier.ts"
import { CarrierTransport } from "../../src/carriers/CarrierTransport.ts"
import { defineCarrier } from "../../src/carriers/defineCarrier.ts"
import * as Reply from "../../src/carriers/Reply.ts"
import * as CarrierContract from "../../src/testing/CarrierContract.ts"
import * as Money from "../../src/wire/Money.ts"
import { toMillis } from "../../src/wire/Timestamp.ts"

const facts = {
  applicant: { first_name: "Ada", last_name: "Lovelace", email: "ada@example.com" },
  dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" },
  coverage: { personal_property_usd: 30_000 }
}

/** A carrier that computes its price from the contents of the home. */
const pricing = (premiumOf: (contents_usd: number) => Money.Money): CarrierAdapter =>
  defineCarrier({
    id: "naic:12345",
    name: "Acme Mutual",
    lines: { renters: { states: ["NY"], wants: ["applicant.email"] } },
    ask: ({ facts }) =>
      Reply.offers([{ offer_ref: "1", premium: premiumOf(facts.coverage.personal_property_usd), term_months: 12 }])
  })

const caseOf = (adapter: CarrierAdapter, options: CarrierContract.Options = {}) =>
  CarrierContract.cases(adapter, { renters: facts }, { now: toMillis("2026-11-20T12:00:00Z"), ...options }).find(
    ({ name }) => name === "renters: answers with a valid reply for other facts"
  ) ?? assert.fail("no such case")

const messageOf = ({ run }: CarrierContract.Case): Promise<string | null> =>
  run().then(
    () => null,
    (error: unknown) => {
      assert.instanceOf(error, CarrierContract.ContractBroken)
      return error.message
    }
  )

describe("the carrier contract with generated facts", () => {
  it("passes for an adapter whose prices are right for all facts", async () => {
    assert.isNull(await messageOf(caseOf(pricing((contentsUsd) => Money.rounded(contentsUsd / 170)))))
  })

  const raw = pricing((contentsUsd) => ({ amount_minor: contentsUsd / 300, currency: "USD" }))
  const throwing = pricing((contentsUsd) => Money.dollars(contentsUsd / 300))

  it("detects a price with a fraction of a cent, and names the fact and the rule", async () => {
    const message = (await messageOf(caseOf(raw))) ?? "kept"
    assert.match(message, /^With other facts \(coverage\.personal_property_usd: \d+\): ask returned/)
    assert.match(message, /\n- offers\.0\.premium\.amount_minor: Must be /)
    assert.notMatch(message, /ada|lovelace/i)
  })

  it("detects a price function that throws, and names the fact and the error", async () => {
    const message = (await messageOf(caseOf(throwing))) ?? "kept"
    assert.match(message, /^With other facts \(coverage\.personal_property_usd: \d+\): ask throws InvalidMoney at /)
  })

  it("reports the same fault in every run", async () => {
    assert.strictEqual(await messageOf(caseOf(raw)), await messageOf(caseOf(raw)))
  })

  const Quote = Schema.Struct({ number: Schema.String, premium_usd: Schema.Finite })
  /** A carrier that adds a fee of its own to a price from its API. */
  const feed = defineCarrier({
    id: "naic:12345",
    name: "Acme Mutual",
    lines: { renters: { states: ["NY"] } },
    http: { base_url: "https://api.acme.example" },
    ask: async ({ facts, http }) => {
      const contents_usd: number = facts.coverage.personal_property_usd
      const { number, premium_usd } = (await http.post("/quotes", { json: { contents_usd } })).json(Quote)
      return Reply.offers([{ offer_ref: number, premium: Money.dollars(premium_usd + contents_usd / 8_000_000) }])
    }
  })
  const answering = HttpClient.make((request) =>
    Effect.succeed(HttpClientResponse.fromWeb(request, Response.json({ number: "1", premium_usd: 180.1 })))
  )

  it("can use a custom transport", async () => {
    assert.match((await messageOf(caseOf(feed, { transport: answering }))) ?? "kept", /throws InvalidMoney/)
  })

  it("can use a cassette, even if the cassette lacks requests for the generated facts", async () => {
    const exchange = {
      method: "POST",
      host: "api.acme.example",
      path: "/quotes",
      request: { body: { json: { contents_usd: 30_000 } } },
      response: {
        status: 200,
        headers: { "content-type": "application/json" },
        body: { json: { number: "1", premium_usd: 180.1 } }
      }
    }
    const cassette = { version: 1, recorded_at: "2026-11-20T12:00:00Z", exchanges: [exchange] }
    assert.match((await messageOf(caseOf(feed, { cassette }))) ?? "kept", /throws InvalidMoney/)
    const empty = { ...cassette, exchanges: [] }
    assert.isNull(await messageOf(caseOf(feed, { cassette: empty })))
  })

  it.effect("never sends a request to the carrier's own sandbox", () =>
    Effect.gen(function* () {
      let sent = 0
      const network = HttpClient.transform(answering, (call) => {
        sent++
        return call
      })
      yield* Effect.provideService(caseOf(feed).effect, CarrierTransport, network)
      assert.strictEqual(sent, 0)
    })
  )
})
