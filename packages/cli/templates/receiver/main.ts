import { randomUUID } from "node:crypto"
import { connect } from "@quotewire/http/client"
import { makeInbox } from "./inbox.ts"
import { serveNode } from "./node.ts"

// Subscribes to events, receives them as signed webhooks, and reads the resources that have changed.

const { QUOTEWIRE_API_KEY: key, QUOTEWIRE_BASE_URL: base_url = "{{url}}" } = process.env
if (key === undefined) throw new Error("Set QUOTEWIRE_API_KEY to the server key that npm run dev prints.")
const client = connect({ base_url, key })

const secrets: Array<string> = []
const inbox = makeInbox({
  secrets: () => secrets,
  read: async ({ type, id, version }) => {
    console.log(`webhook: ${type} ${id} version ${version}`)
    if (type !== "quote") return (await client.get_quote_request({ id, wait_seconds: 0 })).quote_request
    const quote = await client.get_quote({ id })
    console.log(`  ${quote.source.carrier.name}: ${quote.status}, ${quote.price.premium?.amount_minor} cents`)
    return quote
  }
})
const receiver = await serveNode(inbox, 3001)

const event_types = ["quote_request.completed", "quote.created", "quote.updated", "quote.expired"]
const { id, signing_secret } = await client.create_event_subscription(
  { url: receiver.url, event_types },
  { idempotency_key: randomUUID() }
)
if (signing_secret !== null) secrets.push(signing_secret)
console.log(`Receives webhooks at ${receiver.url}.`)

process.once("SIGINT", async () => {
  await client.disable_event_subscription({ id }, { idempotency_key: randomUUID() })
  await receiver.close()
})
