import { assert, describe, it } from "@effect/vitest"
import { type Embedded, Revision } from "@quotewire/core"
import { nodeHandler } from "@quotewire/http"
import { Effect } from "effect"
import { embedded, serving } from "./support.ts"

const older = "2026-09-26"
const newer = "2027-01-15"

const revisions: Revision.Served = [
  { date: newer, differences: [] },
  {
    date: older,
    differences: [
      Revision.renames({
        summary: "A quote's price was its cost, and an event's line its product.",
        quote: { price: "cost" },
        event: { line: "product" }
      })
    ]
  }
]

/** A completed request of a new organization. */
const quoted = async ({ client, createKey, createOrganization }: Embedded) => {
  const { id: organization_id } = await createOrganization("Shop")
  const { key } = await createKey({ organization_id, environment: "sandbox", kind: "server" })
  const caller = client(key)
  const { id } = await caller.start_quote_request({
    line: "renters",
    request_key: "first",
    consent_receipt_id: "receipt-0001",
    application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
  })
  await caller.advance_time({ seconds: 60 }, { idempotency_key: "once" })
  const { quotes } = await caller.get_quote_request({ id, wait_seconds: 0 })
  return { key, id, quote_id: String(quotes[0]?.id) }
}

describe("custom revisions of an embedded service", () => {
  it.live("apply to every quote and event that nodeHandler returns", () =>
    Effect.gen(function* () {
      const { quotewire } = yield* embedded({ revisions })
      const address = yield* serving(nodeHandler(quotewire))
      const { id, key, quote_id } = yield* Effect.promise(() => quoted(quotewire))
      const read = (path: string, date: string) =>
        Effect.promise(async () => {
          const headers = { authorization: `Bearer ${key}`, "service-version": date }
          const answer = await fetch(`${address}${path}`, { headers })
          assert.strictEqual(answer.headers.get("service-version"), date)
          return answer.json()
        })
      const request = `/v1/quote-requests/${id}?wait_seconds=0`
      for (const [date, price] of [
        [newer, "price"],
        [older, "cost"]
      ] as const) {
        assert.property(yield* read(`/v1/quotes/${quote_id}`, date), price)
        for (const quote of (yield* read(request, date)).quotes) assert.property(quote, price)
      }
      const { events } = yield* read("/v1/events", older)
      for (const event of events)
        assert.hasAllKeys(event, ["id", "type", "occurred_at", "environment", "product", "resource"])

      const preview = yield* read(`/v1/quotes/${quote_id}/revisions`, newer)
      const byDate = new Map<string, { quote: object; event: object }>(
        preview.revisions.map((one: { revision: string; quote: object; event: object }) => [one.revision, one])
      )
      assert.deepStrictEqual([...byDate.keys()], [newer, older])
      for (const date of [newer, older]) {
        assert.deepStrictEqual(byDate.get(date)?.quote, yield* read(`/v1/quotes/${quote_id}`, date))
        const [event] = (yield* read(`/v1/events?quote_id=${quote_id}`, date)).events
        assert.deepStrictEqual(byDate.get(date)?.event, event)
      }
    })
  )
})
