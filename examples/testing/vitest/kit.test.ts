import { createServer } from "node:http"
import { Receiver } from "@quotewire/core/testing"
import { nodeHandler } from "@quotewire/http"
import { connect } from "@quotewire/http/client"
import { type Sandbox, sandbox } from "@quotewire/storage-memory/testing"
import { expect, test } from "vitest"
import cassette from "../../contract/acme.cassette.json" with { type: "json" }
import { acme } from "../../contract/acme.ts"

const application = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } } as const
const start = { line: "renters", request_key: "order-1", consent_receipt_id: "receipt-0001", application } as const

test("a price goes up ten minutes after the request starts", async () => {
  await using world = await sandbox({ now: new Date("2026-11-20T12:00:00Z"), scenario: "price_update" })
  const { id } = await world.client.start_quote_request(start)
  await world.advance("1 minute")
  const before = await world.client.get_quote_request({ id })
  await world.advance("1 hour")
  const after = await world.client.get_quote_request({ id })
  expect([before, after].map(({ quotes }) => quotes[0]?.price.premium?.amount_minor)).toEqual([16_604, 17_351])
  expect(await world.now()).toEqual(new Date("2026-11-20T13:01:00Z"))
})

test("a webhook arrives after the endpoint has failed twice", async () => {
  await using world = await sandbox()
  const inbox = await world.inbox("billing", {
    event_types: ["quote_request.completed"],
    script: { in_order: [Receiver.fail(503), Receiver.hang] }
  })
  await world.client.start_quote_request(start)
  await world.advance("1 hour")
  expect(inbox.events().map(({ type }) => type)).toEqual(["quote_request.completed"])
  expect(inbox.webhooks()).toHaveLength(3)
})

test("a cassette plays an adapter's exchanges", async () => {
  await using world = await sandbox({
    carriers: [acme],
    fictional_carriers: false,
    sandbox_connections: { "naic:12345": { api_key: "stand-in" } },
    // Uses only the exchanges of one ask and of the poll that answers it.
    cassettes: { "naic:12345": { ...cassette, exchanges: cassette.exchanges.slice(1, 3) } }
  })
  const { id } = await world.client.start_quote_request(start)
  const { quotes } = await world.advanceUntil(world.client.wait_for_quotes(id))
  expect(quotes.map(({ source }) => source.carrier.name)).toEqual(["Acme Mutual"])
  expect(world.missing_from_cassettes()).toEqual([])
})

/** Creates a sandbox with one quote request that has its quotes. */
const quotedSandbox = async () => {
  const world = await sandbox()
  await world.client.start_quote_request(start)
  await world.advance("1 minute")
  return world
}

test("many tests share one starting state", async () => {
  await using quoted = await quotedSandbox()
  const snapshot = await quoted.snapshot()

  const statusIn = async ({ client }: Sandbox) => {
    const [newest] = (await client.list_quote_requests({})).quote_requests
    const { quotes } = await client.get_quote_request({ id: newest?.id ?? "" })
    return quotes[0]?.status
  }
  await using later = await snapshot.sandbox()
  await later.advance("60 days")
  await using now = await snapshot.sandbox()
  expect(await Promise.all([later, now].map(statusIn))).toEqual(["inactive", "active"])
})

test("a web page calls the sandbox over HTTP", async () => {
  await using world = await sandbox()
  const server = createServer(nodeHandler(world.quotewire))
  await new Promise<void>((resolve) => server.listen(0, resolve))
  const address = server.address()
  const port = typeof address === "object" ? address?.port : undefined

  const client = connect({ base_url: `http://localhost:${port}`, key: world.keys.server })
  const { id } = await client.start_quote_request(start)
  const { quotes } = await world.advanceUntil(client.wait_for_quotes(id))
  expect(quotes).toHaveLength(3)

  server.closeAllConnections()
  server.close()
})
