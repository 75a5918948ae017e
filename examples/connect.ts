import { createServer } from "node:http"
import { embed } from "@quotewire/core"
import { nodeHandler } from "@quotewire/http"
import { connect, HostError, isApiError } from "@quotewire/http/client"
import { MemoryStorage } from "@quotewire/storage-memory"

// Starts a host for this example. Your host runs elsewhere.
const quotewire = embed({ storage: MemoryStorage.layer })
const { id: organization_id } = await quotewire.createOrganization("Acme")
const { key } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
const server = createServer(nodeHandler(quotewire))
await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
const address = server.address()
const base_url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`

const client = connect({ base_url, key })
const { id } = await client.start_quote_request({
  line: "renters",
  request_key: "first",
  consent_receipt_id: "receipt-0001",
  application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
})

const waiting = client.wait_for_quotes(id, { timeout_ms: 90_000 })
// Advances the sandbox's clock, so that the carriers answer immediately.
await client.advance_time({ seconds: 60 }, { idempotency_key: "a-minute" })
const { quote_request, quotes } = await waiting
console.log(quote_request.status)
for (const { source, price } of quotes) console.log(source.carrier.name, price.premium)

// Your program stores the cursor in its database, in the same transaction as its work on the event.
let saved: string | null = null

const feed = client.events({ after: saved })
for await (const event of feed) {
  console.log(event.type, event.resource.version)
  saved = feed.cursor
  if (event.type === "quote_request.completed") break
}

try {
  await client.get_quote({ id: "qt_of_somebody_else" })
} catch (error) {
  if (isApiError(error, "not_found")) console.log(error.code, error.retry_action)
  else if (error instanceof HostError) console.log(error.reason, error.message)
  else throw error
}

server.close()
server.closeAllConnections()
await quotewire.close()
