import { embed, WebhookAddress } from "@quotewire/core"
import { NodeWebhookSender } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { makeInbox } from "./inbox.ts"
import { serveNode } from "./node.ts"

// By default, webhooks may reach only public addresses. This policy also allows 127.0.0.1, without TLS.
const policy = { ...WebhookAddress.publicOnly, allow: WebhookAddress.readNetworks("127.0.0.1/32") ?? [] }
const quotewire = embed({ storage: MemoryStorage.layer, webhooks: NodeWebhookSender.layer({ policy }) })
const { id: organization_id } = await quotewire.createOrganization("Acme")
const { key } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
const client = quotewire.client(key)

let secrets: ReadonlyArray<string> = []
const inbox = makeInbox({
  secrets: () => secrets,
  read: async ({ type, id }) =>
    type === "quote"
      ? client.get_quote({ id })
      : (await client.get_quote_request({ id, wait_seconds: 0 })).quote_request
})
const receiver = await serveNode(inbox, 0)

const event_types = ["quote_request.completed", "quote.created", "quote.expired"]
const { id, signing_secret } = await client.create_event_subscription(
  { url: receiver.url, event_types },
  { idempotency_key: "the-subscription" }
)
secrets = signing_secret === null ? [] : [signing_secret]

const application = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } } as const
const start = { line: "renters", request_key: "first", consent_receipt_id: "receipt-0001", application } as const
await client.start_quote_request(start)
await client.advance_time({ seconds: 60 }, { idempotency_key: "one-minute" })

// Webhooks are sent in the background. The delivery log shows when they have arrived.
while (true) {
  const { deliveries } = await client.list_event_deliveries({ id, limit: 100 })
  if (deliveries.every(({ status }) => status === "succeeded")) break
  await new Promise((resolve) => setTimeout(resolve, 10))
}
const { deliveries } = await client.list_event_deliveries({ id, limit: 100 })
for (const { event_type, status } of deliveries) console.log(event_type, status)
await receiver.close()
await quotewire.close()
