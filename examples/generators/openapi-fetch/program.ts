import createClient from "openapi-fetch"
import type { paths } from "./client.ts"

const [baseUrl = "", key = ""] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } })

const start = { line: "renters", consent_receipt_id: "receipt-0001" } as const
const home = { address: { state: "NY", zip: "10001" }, type: "apartment" } as const
const started = await client.POST("/v1/quote-requests", {
  body: { ...start, request_key: "openapi-fetch", application: { dwelling: home } }
})
if (started.error !== undefined) throw new Error(started.error.error.message)
await client.POST("/v1/sandbox/time", {
  params: { header: { "Idempotency-Key": "openapi-fetch" } },
  body: { seconds: 60 }
})

const read = await client.GET("/v1/quote-requests/{id}", { params: { path: { id: started.data.id } } })
for (const { source, price } of read.data?.quotes ?? []) console.log(source.carrier.name, price.premium?.amount_minor)

const { error } = await client.POST("/v1/quote-requests", {
  body: { ...start, request_key: "wrong", application: { dwelling: { ...home, year_built: 1492 } } }
})
if (error !== undefined) console.log(error.error.code, error.error.field_errors?.[0]?.path)
