import assert from "node:assert/strict"
import { test } from "node:test"
import { sandbox } from "@quotewire/storage-memory/testing"

const start = {
  line: "renters",
  request_key: "order-1",
  consent_receipt_id: "receipt-0001",
  application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
} as const

// Each test runs its own in-memory service with fictional carriers. Its clock moves only when the test advances it.

test("an apartment in New York gets three quotes", async (t) => {
  const world = await sandbox()
  t.after(() => world.close())
  const { id } = await world.client.start_quote_request(start)
  const { quotes } = await world.advanceUntil(world.client.wait_for_quotes(id))
  assert.deepEqual(
    quotes.map(({ price }) => price.premium?.amount_minor),
    [16_604, 20_079, 18_842]
  )
})

test("a price goes up ten minutes after the start", async (t) => {
  const world = await sandbox({ scenario: "price_update" })
  t.after(() => world.close())
  const { id } = await world.client.start_quote_request(start)
  await world.advance("1 minute")
  const before = await world.client.get_quote_request({ id })
  await world.advance("1 hour")
  const after = await world.client.get_quote_request({ id })
  assert.deepEqual(
    [before, after].map(({ quotes }) => quotes[0]?.price.premium?.amount_minor),
    [16_604, 17_351]
  )
})
