import { createServer } from "node:http"
import { apiKey, defineCarrier, embed, Money, Reply } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Schema } from "effect"

/** The response body of the carrier's quote API. */
const Quote = Schema.Struct({
  number: Schema.String,
  status: Schema.Literals(["open", "quoted", "declined"]),
  premium_cents: Schema.optionalKey(Money.FromCents)
})
const Session = Schema.Struct({ url: Schema.String })

const replyOf = ({ number, status, premium_cents }: typeof Quote.Type) => {
  if (status === "declined") return Reply.decline("risk_outside_guidelines")
  if (premium_cents === undefined) return Reply.pending(number, { poll_after_ms: 2_000 })
  return Reply.offers([{ offer_ref: number, premium: premium_cents, term_months: 12 }])
}

/** Creates the carrier for an API at this address. */
const acme = (base_url: string) =>
  defineCarrier({
    id: "naic:12345",
    name: "Acme Mutual",
    environments: ["live"],
    lines: { renters: { states: ["NY", "TX"], wants: ["applicant.email"], mode: "poll", idempotent: true } },
    handoff_hosts: ["quotes.acme.example"],
    connection: { api_key: "secret" },
    http: { base_url, auth: apiKey({ header: "x-api-key", field: "api_key" }), redact: ["email"] },
    appetite: ({ facts, on }) =>
      facts.dwelling.type === "mobile_home" && on >= "2026-06-01" ? Reply.decline("property_not_eligible") : null,
    ask: async ({ facts, http, idempotency_key }) => {
      const { address, type } = facts.dwelling
      const json = { key: idempotency_key, zip: address.zip, home: type, email: facts.applicant?.email }
      return replyOf((await http.post("/quotes", { json })).json(Quote))
    },
    poll: async ({ ref, http }) => replyOf((await http.get("/quotes/{ref}", { params: { ref } })).json(Quote)),
    handoff: async ({ offer_ref, http }) =>
      (await http.post("/quotes/{offer_ref}/sessions", { params: { offer_ref } })).json(Session).url
  })

// A stand-in for the carrier's API. It quotes everything immediately.
const api = createServer((_, response) => {
  response.setHeader("content-type", "application/json")
  response.end(JSON.stringify({ number: "Q-1", status: "quoted", premium_cents: 18_900 }))
})
await new Promise<void>((listening) => api.listen(0, "localhost", listening))
const address = api.address()
const port = typeof address === "object" ? address?.port : undefined

const quotewire = embed({ storage: MemoryStorage.layer, carriers: [acme(`http://localhost:${port}`)] })
const { id: organization_id } = await quotewire.createOrganization("An agency")
const place = { organization_id, environment: "live", carrier_id: "naic:12345" } as const
await quotewire.setConnection({ ...place, values: { api_key: "key-of-the-agency" } })
const { key } = await quotewire.createKey({ organization_id, environment: "live", kind: "server" })
const client = quotewire.client(key)

const application = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } } as const
const start = { line: "renters", request_key: "first", consent_receipt_id: "receipt-0001", application } as const
const { id } = await client.start_quote_request(start)
const { quotes } = await client.wait_for_quotes(id)
for (const { source, price } of quotes) console.log(source.carrier.name, price.premium)
await quotewire.close()
api.close()
