import { embed } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"

const quotewire = embed({ storage: MemoryStorage.layer })
const { id: organization_id } = await quotewire.createOrganization("Acme")
const { key } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
const client = quotewire.client(key)

// The first carrier raises its price ten minutes after the request starts. The quote keeps its ID and gets version 2.
const application = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } } as const
const { id } = await client.start_quote_request({
  line: "renters",
  scenario: "price_update",
  request_key: "a-price-goes-up",
  consent_receipt_id: "receipt-0001",
  application
})
await client.advance_time({ seconds: 900 }, { idempotency_key: "fifteen-minutes" })

const { quotes } = await client.get_quote_request({ id })
for (const quote of quotes) console.log(quote.source.carrier.id, quote.version, quote.status_details.reason)

// The feed lists all events in the order in which they happened.
const { events } = await client.list_events({ limit: 100 })
for (const event of events) console.log(event.type, event.resource.version)
await quotewire.close()
