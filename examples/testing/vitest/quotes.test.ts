import { sandbox } from "@quotewire/storage-memory/testing"
import { expect, test } from "vitest"

test("an apartment in New York gets three quotes", async () => {
  await using world = await sandbox()
  const { id } = await world.client.start_quote_request({
    line: "renters",
    request_key: "order-1",
    consent_receipt_id: "receipt-0001",
    application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
  })
  const { quotes } = await world.advanceUntil(world.client.wait_for_quotes(id))
  expect(quotes.map(({ price }) => price.premium?.amount_minor)).toEqual([16_604, 20_079, 18_842])
})
