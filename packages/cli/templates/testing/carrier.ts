import assert from "node:assert/strict"
import { test } from "node:test"
import { sandbox } from "@quotewire/storage-memory/testing"
import { jsonPolls } from "../carriers/json-polls.ts" //? json
import { xml } from "../carriers/xml.ts" //? xml
import { startCarrier } from "../practice/server.ts" //? json|xml
import config from "../quotewire.config.ts" //? rate-plan

test("your carrier quotes an apartment in New York", async (t) => {
  //? json|xml
  // A practice version of the carrier's API. You can replace it with a cassette of the real API.
  const api = await startCarrier({ callback_secret: "practice" })
  t.after(() => api.close())
  const values = { client_id: "practice", client_secret: "practice" }
  //?
  const world = await sandbox({
    //? json
    carriers: [jsonPolls(api.url)],
    sandbox_connections: { "naic:10001": values },
    //?
    //? xml
    carriers: [xml(api.url)],
    sandbox_connections: { "naic:10002": values },
    //?
    ...config, //? rate-plan
    now: new Date("2026-11-20T12:00:00Z"), //? rate-plan
    fictional_carriers: false
  })
  t.after(() => world.close())
  const { id } = await world.client.start_quote_request({
    line: "renters",
    request_key: "order-1",
    consent_receipt_id: "receipt-0001",
    application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
  })
  const { quotes } = await world.advanceUntil(world.client.wait_for_quotes(id))
  assert.deepEqual(
    quotes.map(({ source, price }) => [source.carrier.name, price.premium?.amount_minor]),
    [["Stepwise Mutual", 18_000]] //? json
    [["Angle Bracket Insurance", 19_000]] //? xml
    [["Example Mutual", 14_768]] //? rate-plan
  )
})
