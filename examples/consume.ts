import { embed } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"

const quotewire = embed({ storage: MemoryStorage.layer })
const { id: organization_id } = await quotewire.createOrganization("Acme")
const { key } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
const client = quotewire.client(key)

const completed = Promise.withResolvers<void>()
const stop = quotewire.consume(
  "billing",
  async ({ type, resource }, { attempt, signal }) => {
    if (type === "quote.created") {
      const { source, price } = await client.get_quote({ id: resource.id }, { signal })
      console.log(source.carrier.name, price.premium, `attempt ${attempt}`)
    }
    if (type === "quote_request.completed") completed.resolve()
  },
  { types: ["quote.created", "quote_request.completed"] }
)
await stop.ready

await client.start_quote_request({
  line: "renters",
  request_key: "first",
  consent_receipt_id: "receipt-0001",
  application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
})
await client.advance_time({ seconds: 60 }, { idempotency_key: "one-minute" })

await completed.promise
await stop()

// Lists the events that failed too often; in this example, there are none.
for (const parked of await quotewire.listParkedEvents("billing")) {
  console.log(parked.event.type, parked.error, parked.attempts)
  await quotewire.retryParkedEvent("billing", parked)
}
await quotewire.close()
