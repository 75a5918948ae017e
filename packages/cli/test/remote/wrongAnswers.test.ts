import { assert, describe, it } from "@effect/vitest"
import { type AnswerOf, Revision } from "@quotewire/core"
import { Effect } from "effect"
import { runInProcess, startInProcess } from "../support/inProcess.ts"
import { server, unknownKey } from "../support/servedHost.ts"

/** A host of the right revision that responds to every call with the same JSON. */
const answering = Effect.fnUntraced(function* (answer: object) {
  const { address } = yield* server((_, response) => {
    response.writeHead(200, { "content-type": "application/json", "service-version": Revision.served[0].date })
    response.end(JSON.stringify(answer))
  })
  return { address, env: { QUOTEWIRE_BASE_URL: address, QUOTEWIRE_API_KEY: unknownKey("sandbox") } }
})

const digits = "0".repeat(26)
const at = "2026-01-01T00:00:00.000Z"
const event = {
  ...{ id: `evt_${digits}`, type: "quote.created", occurred_at: at, environment: "sandbox", line: "renters" },
  resource: { type: "quote", id: `qt_${digits}`, version: 1 }
}
const call: AnswerOf<"list_api_requests">["requests"][number] = {
  ...{ request_id: `req_${digits}`, created_at: at, environment: "sandbox", key_id: `key_${digits}` },
  ...{ operation: "get_quote", method: "GET", route: "/v1/quotes/{id}", status: 200, error_code: null, duration_ms: 1 },
  ...{ quote_request_id: null, quote_id: null },
  agent: { client_name: null, client_version: null, user_agent: null }
}

const quote: AnswerOf<"get_quote"> = {
  ...{ id: `qt_${digits}`, version: 1, environment: "sandbox", quote_request_id: `qreq_${digits}` },
  ...{ application_id: `app_${digits}`, application_version: 1, status: "active" },
  status_details: { reason: "offered", message: "This price is available." },
  source: { carrier: { id: "sbx_fern", name: "Fern" }, product: null, registry_ids: [] },
  price: { premium: null, term_months: null, billing_cycle: null, fees: [], comparison: null },
  coverage: { conditions: [], subjects: [] },
  availability: { expires_at: null },
  next_actions: [{ type: "request_assistance" }],
  evidence: { source_time: at, assumptions: [], label: "Offered" }
}
const pounds = { amount_minor: 100, currency: "GBP" }
const withPrice = (price: object) => ({ ...quote, price: { ...quote.price, ...price } })

describe("a host response that differs from the documentation", () => {
  const qreq = `qreq_${digits}`
  const receiver = ["--forward-to", "http://127.0.0.1:1/"]
  const events = "events: Must be a list"
  it.live.each<readonly [string, ReadonlyArray<string>, object, string]>([
    ["events list", ["events", "list"], { events: "secret", next_cursor: "c" }, events],
    ["events tail", ["events", "tail"], { events: { secret: 1 }, next_cursor: "c" }, events],
    ["events tail --since start", ["events", "tail", "--since", "start"], { next_cursor: "c" }, events],
    ["listen", ["listen", ...receiver], { next_cursor: "c" }, events],
    ["a cursor", ["events", "tail"], { events: [event], next_cursor: null }, "next_cursor: Must be text"],
    [
      "an event",
      ["events", "list"],
      { events: [event, { ...event, type: 1 }], next_cursor: "c" },
      "events.1.type: Must be text"
    ],
    ["quotes show", ["quotes", "show", `qt_${digits}`], { id: `qt_${digits}` }, "version: This field is required"],
    [
      "an action's address",
      ["quotes", "show", `qt_${digits}`],
      { ...quote, next_actions: [{ type: "continue_on_carrier_site", url: {} }] },
      "next_actions.0.url: Must be"
    ],
    [
      "a premium in another currency",
      ["quotes", "show", quote.id],
      withPrice({ premium: pounds }),
      "price.premium.currency: Must be one of the allowed values"
    ],
    [
      "a fee in an invalid currency",
      ["quotes", "show", quote.id],
      withPrice({ fees: [{ code: "policy", amount: { ...pounds, currency: "secret" } }] }),
      "price.fees.0.amount.currency: Must be one of the allowed values"
    ],
    ["quotes show qreq_", ["quotes", "show", qreq], { quotes: [] }, "quote_request.version: Must be a number"],
    ["requests tail", ["requests", "tail"], { requests: null, next_cursor: null }, "requests: Must be a list"],
    [
      "requests show",
      ["requests", "show", call.request_id],
      { ...call, duration_ms: "secret" },
      "duration_ms: Must be a"
    ],
    ["trigger", ["trigger", "--list"], { scenarios: [{ name: "secret" }] }, "scenarios.0.description: This field"]
  ])("causes an error that contains only the path of the wrong field: %s", ([, args, answer, wrong]) =>
    Effect.gen(function* () {
      const { address, env } = yield* answering(answer)
      const { err, how, out } = yield* runInProcess(args, env)
      assert.deepStrictEqual([how, out], ["failed", ""])
      const said = `quotewire: The host at ${address} returned HTTP 200 with JSON that is not as documented: ${wrong}`
      assert.strictEqual(err.slice(0, said.length), said)
      assert.notInclude(err, "secret")
    })
  )

  it.live("is accepted if it contains unknown types, resources or fields", () =>
    Effect.gen(function* () {
      const newer = {
        ...event,
        type: "policy.bound",
        line: "boat",
        resource: { ...event.resource, type: "policy" },
        a: 1
      }
      const { env } = yield* answering({ events: [newer], next_cursor: "c", b: 2 })
      const { next } = yield* startInProcess(["events", "tail", "--since", "start", "--json"], env)
      assert.deepStrictEqual(JSON.parse(yield* next), newer)
    })
  )

  it.live("is accepted if it contains unknown next actions", () =>
    Effect.gen(function* () {
      const newer = { ...quote, next_actions: [{ type: "sign", documents: [{ url: "https://carrier.example" }] }] }
      const { env } = yield* answering(newer)
      const { how, out } = yield* runInProcess(["quotes", "show", quote.id, "--json"], env)
      assert.deepStrictEqual([how, JSON.parse(out)], ["done", newer])
    })
  )
})

describe("a host that returns the same page of a list again and again", () => {
  it.live.each([
    ["events", ["events", "list"]],
    ["calls", ["requests", "tail"]]
  ] as const)("is not polled forever for %s", ([, args]) =>
    Effect.gen(function* () {
      const { env } = yield* answering({ events: [event], requests: [call], next_cursor: "same" })
      const { err, how } = yield* runInProcess(args, env)
      assert.deepStrictEqual([how, err], ["failed", "quotewire: The host keeps returning the same page of a list."])
    })
  )
})
