import { embed } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"
import { config } from "./line.ts"

const quotewire = embed({ storage: MemoryStorage.layer, ...config })
const { id: organization_id } = await quotewire.createOrganization("Acme")

for (const environment of ["sandbox", "live"] as const) {
  const { key } = await quotewire.createKey({ organization_id, environment, kind: "server" })
  const client = quotewire.client(key)
  const { id } = await client.start_quote_request({
    line: "bicycle",
    request_key: "first",
    consent_receipt_id: "receipt-0001",
    application: { home: { state: "NY", zip: "10001" }, bicycle: { value_usd: 1_200, electric: true } }
  })
  const { quotes } = await client.wait_for_quotes(id)
  for (const { price, source } of quotes) console.log(environment, source.carrier.name, price.premium)
}
await quotewire.close()
