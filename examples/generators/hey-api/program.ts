import { client } from "./client/client.gen.ts"
import { advanceTime, getQuoteRequest, startQuoteRequest } from "./client/sdk.gen.ts"

const [baseUrl = "", key = ""] = process.argv.slice(2)
client.setConfig({ baseUrl, auth: ({ scheme }) => (scheme === "bearer" ? key : undefined) })

const start = { line: "renters", consent_receipt_id: "receipt-0001" } as const
const home = { address: { state: "NY", zip: "10001" }, type: "apartment" } as const
const started = await startQuoteRequest({
  body: { ...start, request_key: "hey-api", application: { dwelling: home } },
  throwOnError: true
})
await advanceTime({ headers: { "Idempotency-Key": "hey-api" }, body: { seconds: 60 }, throwOnError: true })

const read = await getQuoteRequest({ path: { id: started.data.id }, throwOnError: true })
for (const { source, price } of read.data.quotes) console.log(source.carrier.name, price.premium?.amount_minor)

const { error } = await startQuoteRequest({
  body: { ...start, request_key: "wrong", application: { dwelling: { ...home, year_built: 1492 } } }
})
if (error !== undefined) console.log(error.error.code, error.error.field_errors?.[0]?.path)
