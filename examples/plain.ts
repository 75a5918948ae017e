import { embed, generateSealKey, isApiError } from "@quotewire/core"
import { NodeWebhookSender } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"

const quotewire = embed({
  storage: MemoryStorage.layer,
  seal_keys: [process.env.SEAL_KEY ?? generateSealKey()],
  webhooks: NodeWebhookSender.layer(),
  logger: console
})
await quotewire.ready

const { id: organization_id } = await quotewire.createOrganization("Acme")
const { key } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
const client = quotewire.client(key)

const start = { line: "renters", request_key: "first", consent_receipt_id: "receipt-0001" } as const
try {
  await client.start_quote_request({ ...start, application: { dwelling: { type: "apartment" } } })
} catch (error) {
  if (!isApiError(error, "needs_information")) throw error
  for (const { path } of error.field_errors ?? []) console.log("ask for", path)
}

const dwelling = { type: "apartment", address: { state: "NY", zip: "10001" } } as const
const { id } = await client.start_quote_request({ ...start, application: { dwelling } })
await client.advance_time({ seconds: 60 }, { idempotency_key: "one-minute" })
const { quotes } = await client.get_quote_request({ id })
console.log(quotes.length, "quotes")

const { events } = await client.list_events({ limit: 100 })
for (const event of events) {
  switch (event.type) {
    case "quote.created":
      console.log("a quote", event.resource.version)
      break
    case "quote_request.completed":
      console.log("the end")
      break
    default:
  }
}
await quotewire.close()
