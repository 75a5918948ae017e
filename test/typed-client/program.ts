import type { paths, webhooks } from "./api.ts"

/*
 * A program of somebody who has nothing but the document: types made by openapi-typescript, and fetch.
 */

type Body<P extends keyof paths, M extends keyof paths[P], S extends number> = paths[P][M] extends {
  responses: { [status in S]: { content: { "application/json": infer Answer } } }
}
  ? Answer
  : never
type Start = paths["/v1/quote-requests"]["post"]["requestBody"]["content"]["application/json"]
type EventBody = webhooks["quote.created"]["post"]["requestBody"]["content"]["application/json"]

const [base_url = "", key = ""] = process.argv.slice(2)

const call = async (method: string, path: string, body?: object): Promise<unknown> => {
  const response = await fetch(`${base_url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "idempotency-key": path },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response.json()
}

const start: Start = {
  line: "renters",
  request_key: "typed-client",
  consent_receipt_id: "receipt-0001",
  application: { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
}
const started = (await call("POST", "/v1/quote-requests", start)) as Body<"/v1/quote-requests", "post", 202>
await call("POST", "/v1/sandbox/time", { seconds: 60 })

const read = (await call("GET", `/v1/quote-requests/${started.id}`)) as Body<"/v1/quote-requests/{id}", "get", 200>
for (const { source, price, status } of read.quotes) {
  console.log(status, source.carrier.name, price.premium === null ? "unknown" : price.premium.amount_minor)
}

const { events } = (await call("GET", "/v1/events?limit=100")) as Body<"/v1/events", "get", 200>
const resourceOf = ({ resource }: Pick<EventBody, "resource">): string => `${resource.type} ${resource.version}`
console.log(read.quote_request.status, events.length, events.map(resourceOf).at(-1))
