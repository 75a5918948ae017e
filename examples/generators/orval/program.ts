import { advanceTime, getQuoteRequest, startQuoteRequest } from "./client.ts"

const start = { line: "renters", consent_receipt_id: "receipt-0001" } as const
const home = { address: { state: "NY", zip: "10001" }, type: "apartment" } as const
const started = await startQuoteRequest({ ...start, request_key: "orval", application: { dwelling: home } })
if (started.status !== 202) throw new Error(started.data.error.message)
await advanceTime({ seconds: 60 }, { "Idempotency-Key": "orval" })

const read = await getQuoteRequest(started.data.id)
if (read.status !== 200) throw new Error(read.data.error.message)
for (const { source, price } of read.data.quotes) console.log(source.carrier.name, price.premium?.amount_minor)

const wrong = await startQuoteRequest({
  ...start,
  request_key: "wrong",
  application: { dwelling: { ...home, year_built: 1492 } }
})
if (wrong.status !== 202) console.log(wrong.data.error.code, wrong.data.error.field_errors?.[0]?.path)
