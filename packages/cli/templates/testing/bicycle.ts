import assert from "node:assert/strict"
import { test } from "node:test"
import { sandbox } from "@quotewire/storage-memory/testing"
import { config } from "../lines/bicycle.ts"

test("a bicycle gets a quote from its rate plan", async (t) => {
  const world = await sandbox({ ...config, now: new Date("2026-11-20T12:00:00Z") })
  t.after(() => world.close())
  const { id } = await world.client.start_quote_request({
    line: "bicycle",
    request_key: "order-1",
    consent_receipt_id: "receipt-0001",
    application: { home: { state: "NY", zip: "10001" }, bicycle: { value_usd: 1_200 } }
  })
  const { quotes } = await world.advanceUntil(world.client.wait_for_quotes(id))
  assert.deepEqual(
    quotes.map(({ source, price }) => [source.carrier.name, price.premium?.amount_minor]),
    [["Spoke Mutual", 8_050]]
  )
})
