import { embed } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"

const quotewire = embed({ storage: MemoryStorage.layer })
const { id: organization_id } = await quotewire.createOrganization("Acme")
const { key } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
const client = quotewire.client(key)

const { id } = await client.start_quote_request({
  line: "renters",
  request_key: "first",
  consent_receipt_id: "receipt-0001",
  application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
})
await client.advance_time({ seconds: 60 })
const { quotes } = await client.get_quote_request({ id })
for (const { source, price } of quotes) console.log(source.carrier.name, price.premium, price.term_months)
await quotewire.close()
