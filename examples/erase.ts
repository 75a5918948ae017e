import { embed } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"

const quotewire = embed({ storage: MemoryStorage.layer })
const { id: organization_id } = await quotewire.createOrganization("Acme")
const { key } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
const client = quotewire.client(key)

const consent_receipt_id = "receipt-0001"
const application = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } } as const
const start = { line: "renters", consent_receipt_id, application } as const
const { id: quote_request_id } = await client.start_quote_request({ ...start, request_key: "first" })
await client.start_quote_request({ ...start, request_key: "second" })

// A dry run reports what would be erased for a quote request, and changes nothing.
const found = await quotewire.erase({ quote_request_id }, { dry_run: true })
console.log("to erase:", found.to_erase)

// Erases everything that was started with this consent receipt.
const target = { consent_receipt_id, organization_id, environment: "sandbox" } as const
const { erased, requests } = await quotewire.erase(target, { by: "ticket 4711" })
console.log("erased:", erased)
for (const { outcome, ended } of requests) console.log(outcome, ended ? "while in progress" : "after its end")

const { quote_request } = await client.get_quote_request({ id: quote_request_id })
console.log(quote_request.status, quote_request.status_details.reason)
await quotewire.close()
