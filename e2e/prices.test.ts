import { assert } from "@effect/vitest"
import { Effect } from "effect"
import golden from "../packages/core/test/golden.json" with { type: "json" }
import { Host } from "./host.ts"
import { onEveryHost } from "./hosts.ts"

/** Replaces `AGE:35` and `MONTHS_AGO:6` with dates relative to a day. */
const dated = (application: object, today: Date): object =>
  JSON.parse(JSON.stringify(application), (_, value) => {
    if (typeof value !== "string") return value
    const [word, number = ""] = value.split(":")
    const day = new Date(today)
    if (word === "AGE") day.setUTCFullYear(day.getUTCFullYear() - Number(number), day.getUTCMonth(), 1)
    else if (word === "MONTHS_AGO") day.setUTCMonth(day.getUTCMonth() - Number(number), 1)
    else return value
    return day.toISOString().slice(0, word === "AGE" ? 10 : 7)
  })

onEveryHost("rating", (it, { whole }) => {
  it.effect.each(golden.cases.filter(({ line }) => whole || line === "personal_auto"))(
    "prices match the rate plans to the cent for $name",
    ({ line, application, premiums }) =>
      Effect.gen(function* () {
        const host = yield* Host
        const keys = yield* host.newOrganization
        const sandbox = yield* host.call(keys, "get_sandbox", {})
        const started = yield* host.call(keys, "start_quote_request", {
          line,
          scenario: "quotes_ready",
          consent_receipt_id: "receipt-0001",
          request_key: "golden",
          application: dated(application, new Date(sandbox.body.workspace_time))
        })
        assert.strictEqual(started.status, 202, JSON.stringify(started.body))
        yield* host.call(keys, "advance_time", { seconds: 30 })
        const read = yield* host.call(keys, "get_quote_request", { id: started.body.id })
        const prices = read.body.quotes.map((quote: { source: { carrier: { id: string } }; price: Price }) => [
          quote.source.carrier.id,
          [quote.price.premium.amount_minor, quote.price.term_months]
        ])
        assert.deepStrictEqual(Object.fromEntries(prices), premiums)
      })
  )
})

interface Price {
  readonly premium: { readonly amount_minor: number }
  readonly term_months: number
}
