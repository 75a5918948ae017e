import { assert, describe } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpClientRequest } from "effect/http"
import { CarrierTransport } from "../../src/carriers/CarrierTransport.ts"
import { ExchangeRecording } from "../../src/carriers/recorder/CarrierExchange.ts"
import type { Entry } from "../../src/timeline/Timeline.ts"
import { type TimelineOptions, Timelines } from "../../src/timeline/Timelines.ts"
import { minuteMs, secondMs, toMillis } from "../../src/wire/Timestamp.ts"
import { all, testRecorded } from "../carriers/onRecord.ts"
import { carrier, carriers, declined, offer, offers, prompt, silent, unavailable } from "../quoting/carriers.ts"
import { by, eraseRequest } from "../quoting/erasing.ts"
import { advance, live, pass, refusal, runDue, start, stranger, testInWorld, work } from "../support/world.ts"
import { create, testWebhooks } from "../webhooks/support.ts"

const timeline = (id: string, options?: TimelineOptions) =>
  Effect.flatMap(Timelines, (timelines) => timelines.read(id, options))

/** An entry in a few words. */
const wordsOf = (entry: Entry): string => {
  switch (entry.what) {
    case "call":
      return `call ${entry.details.operation} ${entry.details.status}`
    case "consent":
      return `consent ${entry.details.asked_by}`
    case "circuit":
      return `circuit ${entry.details.carrier_id} ${entry.details.circuit}`
    case "asked":
      return `asked ${entry.details.carrier_id}`
    case "not_asked":
      return `not_asked ${entry.details.carrier_id} ${entry.details.reason}`
    case "exchange": {
      const { attempt, carrier_id, exchange, outcome, reason } = entry.details
      return `${exchange} ${carrier_id} ${attempt} ${outcome} ${reason ?? ""}`.trim()
    }
    case "erased":
      return `erased by ${entry.details.by}, ${entry.details.state}${entry.details.ended ? ", ended" : ""}`
    case "outcome":
      return `outcome ${entry.details.carrier_id} ${entry.details.outcome} ${entry.details.reason ?? ""}`.trim()
    case "quote":
      return `quote ${entry.details.carrier_id} ${entry.details.version} ${entry.details.status}`
    case "event":
      return `event ${entry.details.type}`
    case "delivery":
      return `delivery ${entry.details.event_type} ${entry.details.status}`
  }
}

const told = (id: string) => Effect.map(timeline(id), ({ entries }) => entries.map(wordsOf))

const transport = {
  method: "POST",
  route: "/v1/quote-requests",
  status: null,
  user_agent: null,
  client_name: null,
  client_version: null
}

describe("a request's timeline", () => {
  const trying = carrier("acme", (_, nth) => Effect.succeed(nth === 1 ? unavailable("carrier_error") : offers()))
  testWebhooks(
    "shows the call, asks, outcomes, quotes, events and deliveries in order",
    () =>
      Effect.gen(function* () {
        yield* work
        yield* create({ event_types: ["quote_request.queued", "quote_request.completed"] }, live)
        const { id } = yield* start({}, { ...live, transport })
        yield* pass(10 * secondMs)
        assert.deepStrictEqual(yield* told(id), [
          "call start_quote_request 202",
          "event quote_request.queued",
          "not_asked elsewhere state_not_served",
          "asked acme",
          "asked other",
          "ask acme 1 unavailable carrier_error",
          "ask other 1 declined prior_claims",
          "outcome other declined prior_claims",
          "event quote_request.updated",
          "event quote_request.updated",
          "delivery quote_request.queued succeeded",
          "ask acme 2 offers",
          "outcome acme quoted",
          "quote acme 1 active",
          "event quote.created",
          "event quote_request.completed",
          "delivery quote_request.completed succeeded"
        ])
        const { entries } = yield* timeline(id)
        const times = entries.map(({ at }) => toMillis(at))
        assert.deepStrictEqual(
          times,
          times.toSorted((a, b) => a - b)
        )
      }),
    {},
    {
      ...carriers(trying, prompt("other", declined), prompt("elsewhere", offers(), { states: ["CA"] })),
      surroundings: Layer.succeed(ExchangeRecording, all)
    }
  )

  testInWorld(
    "contains only its own request's events",
    Effect.gen(function* () {
      for (let i = 0; i < 30; i++) yield* start({})
      yield* advance(300)
      const { id } = yield* start({ line: "personal_auto" })
      for (let i = 0; i < 30; i++) yield* start({})
      yield* advance(60)
      for (let i = 0; i < 30; i++) yield* start({})
      const { entries, status } = yield* timeline(id)
      assert.strictEqual(status, "completed")
      const events = entries.flatMap((entry) => (entry.what === "event" ? [entry.details] : []))
      const requests = events.filter(({ resource }) => resource.type === "quote_request")
      assert.deepStrictEqual(
        requests.map(({ resource }) => resource.version),
        requests.map((_, index) => index + 1)
      )
      assert.strictEqual(requests.at(-1)?.type, "quote_request.completed")
      const quotes = entries.flatMap((entry) => (entry.what === "quote" ? [entry.details.quote_id] : []))
      assert.isAbove(quotes.length, 0)
      assert.includeMembers(
        events.map(({ resource }) => resource.id),
        quotes
      )
    })
  )

  testRecorded(
    "includes bodies only if requested",
    Effect.gen(function* () {
      yield* work
      const { id } = yield* start({}, live)
      yield* pass(10)
      const bodies = (options?: TimelineOptions) =>
        Effect.map(timeline(id, options), ({ entries }) =>
          entries
            .flatMap((entry) => (entry.what === "exchange" ? entry.details.http : []))
            .map((http) => http.response?.body)
        )
      assert.deepStrictEqual(yield* bodies(), [null])
      assert.deepStrictEqual(yield* bodies({ bodies: true }), ['{"premium":12000}'])
    }),
    carrier("acme", () =>
      Effect.gen(function* () {
        const client = yield* CarrierTransport
        const response = yield* client.execute(HttpClientRequest.get("https://api.acme.example/"))
        yield* response.text
        return offers()
      }).pipe(Effect.orDie)
    ),
    { answer: () => Response.json({ premium: 12_000 }) }
  )

  testRecorded(
    "shows why an offer was refused, and every version of a quote",
    Effect.gen(function* () {
      yield* work
      const { id } = yield* start({}, live)
      yield* pass(2 * minuteMs)
      const found = yield* told(id)
      assert.includeMembers(found, [
        "ask broken 1 unavailable unreadable_answer",
        "quote acme 1 active",
        "refresh acme 1 withdrawn",
        "quote acme 2 inactive",
        "event quote_request.completed"
      ])
      const { entries } = yield* timeline(id)
      const rules = entries.flatMap((entry) => (entry.what === "exchange" ? entry.details.broken_rules : []))
      assert.deepStrictEqual(rules, [{ path: "offers.0.term_months", message: "Must be one of 1, 6, 12." }])
    }),
    [
      prompt("broken", offers(offer({ term_months: 7 }))),
      prompt("acme", offers(offer({ refresh_after_ms: minuteMs })), {
        rest: { refresh: () => Effect.succeed({ kind: "withdrawn" }) }
      })
    ]
  )

  testInWorld(
    "shows an erasure, the requester, and the changes that followed",
    Effect.gen(function* () {
      yield* work
      const { id } = yield* start({}, live)
      yield* pass(secondMs)
      yield* eraseRequest(id)
      const found = yield* told(id)
      assert.deepStrictEqual(found.slice(-5), [
        `erased by ${by}, done, ended`,
        "outcome silent no_answer timeout",
        "quote acme 2 inactive",
        "event quote.updated",
        "event quote_request.failed"
      ])
    }),
    carriers(prompt("acme", offers()), silent("silent"))
  )

  testInWorld(
    "is returned in pages",
    Effect.gen(function* () {
      const { id } = yield* start({})
      yield* advance(60)
      const whole = yield* timeline(id)
      assert.isNull(whole.next)
      assert.isAbove(whole.entries.length, 6)
      const first = yield* timeline(id, { limit: 4 })
      assert.strictEqual(first.next, 4)
      const rest = yield* timeline(id, { after: first.next ?? 0 })
      assert.deepStrictEqual([...first.entries, ...rest.entries], [...whole.entries])
    })
  )

  const many = offers(...Array.from({ length: 10 }, (_, index) => offer({ offer_ref: `offer-${index}` })))
  testRecorded(
    "states which kinds of entries are incomplete if the request has very many entries",
    Effect.gen(function* () {
      yield* work
      const { id } = yield* start({}, live)
      yield* pass(secondMs)
      const { entries, incomplete } = yield* timeline(id, { limit: 1_000 })
      assert.include(incomplete, "quote")
      assert.isAbove(entries.filter(({ what }) => what === "quote").length, 100)
    }),
    Array.from({ length: 21 }, (_, index) => prompt(`carrier-${index}`, many))
  )

  testInWorld(
    "can be read for a request in any workspace",
    Effect.gen(function* () {
      const other = yield* stranger
      const { id } = yield* start({}, { key: other.live, ...live })
      yield* runDue
      assert.strictEqual((yield* timeline(id)).environment, "live")
      assert.strictEqual(
        (yield* refusal(timeline("qreq_x").pipe(Effect.catchTag("StorageUnavailable", Effect.die)))).code,
        "not_found"
      )
    })
  )
})
