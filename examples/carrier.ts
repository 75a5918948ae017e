import { Carrier, embed, Money } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect, Layer } from "effect"

/** Insures renters in New York at one price. A real adapter would call the carrier's systems in `ask`. */
const oneprice: Carrier.CarrierAdapter = {
  carrier: { id: "naic:00000", name: "One Price Mutual", registry_ids: ["naic:00000"] },
  environments: ["live"],
  lines: {
    renters: {
      states: ["NY"],
      needs: [],
      uses_credit: false,
      mode: "sync",
      idempotent: true,
      attempt_timeout_ms: 5_000,
      typical_ms: 500,
      hedge_after_ms: null,
      rate_per_minute: 60,
      max_concurrent: 4
    }
  },
  handoff_hosts: ["oneprice.example"],
  ask: (ask) =>
    Effect.succeed({
      kind: "offers",
      offers: [
        {
          offer_ref: ask.idempotency_key,
          product: "One Price Renters",
          premium: Money.dollars(180),
          term_months: 12,
          billing_cycle: "pay_in_full",
          fees: [],
          conditions: [],
          subjects: [
            {
              subject_id: "dwelling-1",
              kind: "dwelling",
              label: null,
              coverages: [{ code: "liability", limit: Money.dollars(100_000), deductible: null, included: true }]
            }
          ],
          assumptions: ask.assumptions,
          expires_at: null,
          evidence_label: "Price from the carrier's tariff",
          handoff_url: `https://oneprice.example/quotes/${ask.idempotency_key}`
        }
      ]
    })
}

const quotewire = embed({
  storage: MemoryStorage.layer,
  carriers: Layer.succeed(Carrier.CarrierAdapters, [oneprice])
})
const { id: organization_id } = await quotewire.createOrganization("Acme")
const { key } = await quotewire.createKey({ organization_id, environment: "live", kind: "server" })
const client = quotewire.client(key)

const application = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
const start = { line: "renters", request_key: "first", consent_receipt_id: "receipt-0001", application } as const
let { id, status, version: since_version } = await client.start_quote_request(start)
while (status === "in_progress") {
  const read = await client.get_quote_request({ id, since_version })
  ;({ status, version: since_version } = read.quote_request)
}
const { quotes } = await client.get_quote_request({ id })
for (const { source, price } of quotes) console.log(source.carrier.name, price.premium)
await quotewire.close()
