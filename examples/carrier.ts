import { defineCarrier, embed, Money, Reply } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"

/** Insures renters in New York at one price. */
const oneprice = defineCarrier({
  id: "naic:00000",
  name: "One Price Mutual",
  environments: ["live"],
  lines: { renters: { states: ["NY"], idempotent: true } },
  handoff_hosts: ["oneprice.example"],
  ask: ({ facts, idempotency_key }) =>
    facts.dwelling.short_term_rental
      ? Reply.decline("property_not_eligible", "Homes that are rented to guests are not insured.")
      : Reply.offers([
          {
            offer_ref: idempotency_key,
            product: "One Price Renters",
            premium: Money.dollars(180),
            term_months: 12,
            handoff_url: `https://oneprice.example/quotes/${idempotency_key}`
          }
        ])
})

const quotewire = embed({ storage: MemoryStorage.layer, carriers: [oneprice] })
const { id: organization_id } = await quotewire.createOrganization("Acme")
const { key } = await quotewire.createKey({ organization_id, environment: "live", kind: "server" })
const client = quotewire.client(key)

const application = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } } as const
const start = { line: "renters", request_key: "first", consent_receipt_id: "receipt-0001", application } as const
const { id } = await client.start_quote_request(start)
const { quotes } = await client.wait_for_quotes(id)
for (const { source, price } of quotes) console.log(source.carrier.name, price.premium)
await quotewire.close()
