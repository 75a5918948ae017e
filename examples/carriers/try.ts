import { embed } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"
import { callbacks } from "./callbacks.ts"
import { jsonPolls } from "./json-polls.ts"
import { receiveCallbacks } from "./receiver.ts"
import { startCarrier } from "./server.ts"
import { xml } from "./xml.ts"
import { xmlPolls } from "./xml-polls.ts"

const callback_secret = "a secret that both sides know"
const carrier = await startCarrier({ callback_secret })
const { url } = carrier
const carriers = [jsonPolls(url), xml(url), callbacks(url, callback_secret), xmlPolls(url)]

const quotewire = embed({
  storage: MemoryStorage.layer,
  carriers,
  fictional_carriers: false,
  exchange_recording: { live: "all" }
})
const receiver = await receiveCallbacks(quotewire)
carrier.callBackTo(receiver.urlFor("naic:10003"))

const { id: organization_id } = await quotewire.createOrganization("Acme")
const values = { client_id: "acme", client_secret: "a secret of Acme's" }
const application = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } } as const
const start = { line: "renters", request_key: "first", consent_receipt_id: "receipt-0001", application } as const

/** Starts a quote request and waits until it ends. */
const quote = async (environment: "sandbox" | "live") => {
  for (const { carrier } of carriers) {
    await quotewire.setConnection({ organization_id, environment, carrier_id: carrier.id, values })
  }
  const { key } = await quotewire.createKey({ organization_id, environment, kind: "server" })
  const client = quotewire.client(key)
  let { id, status, version: since_version } = await client.start_quote_request(start)
  while (status === "in_progress") {
    const read = await client.get_quote_request({ id, since_version, wait_seconds: 10 })
    ;({ status, version: since_version } = read.quote_request)
  }
  const { quotes } = await client.get_quote_request({ id })
  const prices = quotes.map(
    ({ source, price }) => `${environment}: ${source.carrier.name} ${price.premium?.amount_minor}`
  )
  return { id, prices: prices.toSorted() }
}

const [sandbox, live] = await Promise.all([quote("sandbox"), quote("live")])
for (const price of [...sandbox.prices, ...live.prices]) console.log(price)

// Prints what happened to the live request, as an operator sees it.
const { entries } = await quotewire.timeline(live.id)
for (const entry of entries) {
  if (entry.what !== "exchange") console.log(entry.at, entry.what)
  else {
    const { carrier_id, exchange, http, outcome } = entry.details
    const calls = http.map(({ direction, method, path, status }) =>
      direction === "received" ? "received from the carrier" : `${method} ${path} ${status ?? "without an answer"}`
    )
    console.log(entry.at, exchange, carrier_id, outcome, calls.join(", "))
  }
}

await quotewire.close()
await receiver.close()
await carrier.close()
