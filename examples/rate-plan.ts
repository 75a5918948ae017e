import { embed, ratePlanCarrier } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"
import plan from "./rate-plan.json" with { type: "json" }

const quotewire = embed({ storage: MemoryStorage.layer, carriers: [ratePlanCarrier(plan)] })
const { id: organization_id } = await quotewire.createOrganization("Acme")
const { key } = await quotewire.createKey({ organization_id, environment: "live", kind: "server" })
const client = quotewire.client(key)

const application = {
  dwelling: { address: { state: "TX", zip: "78701" }, type: "single_family", year_built: 1965 },
  coverage: { personal_property_usd: 50_000, liability_usd: 300_000, deductible_usd: 1_000 }
} as const
const start = { line: "renters", request_key: "first", consent_receipt_id: "receipt-0001", application } as const
const { id } = await client.start_quote_request(start)
const { quotes } = await client.wait_for_quotes(id)
for (const { price, source } of quotes) console.log(source.product, price.premium)
await quotewire.close()
