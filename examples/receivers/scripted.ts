import { embed } from "@quotewire/core"
import { Receiver } from "@quotewire/core/testing"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Effect } from "effect"

// An endpoint that resets the connection once and then fails twice. Webhooks are passed to it in memory, without a
// socket.
const url = "https://acme.example/webhooks"
const receiver = Receiver.make({ script: { in_order: [Receiver.reset, ...Receiver.times(2, Receiver.fail(503))] } })
const quotewire = embed({ storage: MemoryStorage.layer, webhooks: Receiver.layer({ [url]: receiver }) })

const { id: organization_id } = await quotewire.createOrganization("Acme")
const { key } = await quotewire.createKey({ organization_id, environment: "sandbox", kind: "server" })
const client = quotewire.client(key)
const { id, signing_secret } = await client.create_event_subscription(
  { url, event_types: ["quote.created"] },
  { idempotency_key: "the-subscription" }
)
receiver.trust(signing_secret ?? "")

// Retries follow the sandbox's clock. The first three happen within an hour.
const { event } = await client.send_test_event({ id }, { idempotency_key: "the-test" })
await client.advance_time({ seconds: 3_600 }, { idempotency_key: "an-hour" })
await Effect.runPromise(receiver.until((arrivals) => arrivals.length === 4))
for (const { event, isDuplicate, respond } of receiver.arrivals()) console.log(event?.type, isDuplicate, respond.does)

await quotewire.close()
const same = receiver.ids().length === 1 && receiver.ids()[0] === event.id
console.log(same ? "one event" : "several events")
