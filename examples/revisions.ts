import { Access, operations, Quotewire, Revision, Seal, type Storage, WebhookSender } from "@quotewire/core"
import { Http, NodeCrypto } from "@quotewire/http"
import { MemoryStorage } from "@quotewire/storage-memory"
import { Context, Effect, Layer } from "effect"

/** Two API revisions: this release under a made-up later date, and an older revision with different field names. */
const revisions: Revision.Served = [
  { date: "2027-01-15", differences: [] },
  {
    date: "2026-09-26",
    differences: [
      Revision.renames({
        summary:
          "Three fields had other names: `evidence` was `proof`, `line` was `product`, and `consent_receipt_id` was `paper`.",
        quote: { evidence: "proof" },
        event: { line: "product" },
        inputs: { start_quote_request: { consent_receipt_id: "paper" } }
      })
    ]
  }
]

const host = Http.layer<Quotewire.Services | Storage.Storage>({ operations, port: 0 }).pipe(
  Layer.provideMerge(Quotewire.layer),
  Layer.provide(MemoryStorage.layer),
  Layer.provide(Quotewire.sandboxCarriers),
  Layer.provide(Seal.SealKeys.layerEphemeral),
  Layer.provide(WebhookSender.WebhookSender.layerOff),
  Layer.provide(NodeCrypto.layer),
  Layer.provide(Layer.succeed(Revision.ServedRevisions, revisions))
)

const application = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }

const program = Effect.gen(function* () {
  const context = yield* Layer.build(host)
  const access = Context.get(context, Access.Access)
  const { id: organization_id } = yield* access.createOrganization("Acme")
  const { key } = yield* access.createKey({ organization_id, environment: "sandbox", kind: "server" })
  const { base_url } = Context.get(context, Http.Host)
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }

  // In the older revision, `consent_receipt_id` is called `paper`.
  const body = JSON.stringify({ line: "renters", request_key: "first", paper: "receipt-0001", application })
  const started = yield* Effect.promise(() =>
    fetch(`${base_url}/v1/quote-requests`, {
      method: "POST",
      headers: { ...headers, "service-version": "2026-09-26" },
      body
    })
  )
  console.log(started.status, started.headers.get("service-version"))

  // Each request chooses the revision in which the feed is returned.
  for (const { date } of revisions) {
    const read = () => fetch(`${base_url}/v1/events`, { headers: { ...headers, "service-version": date } })
    const { events } = yield* Effect.promise(() => read().then((answer) => answer.json()))
    console.log(date, Object.keys(events[0]).join(" "))
  }
})

await Effect.runPromise(Effect.scoped(program))
