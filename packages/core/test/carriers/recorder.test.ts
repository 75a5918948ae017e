import { assert, describe } from "@effect/vitest"
import { Cause, Effect, Layer, Logger, Metric, References, Tracer } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { Seal } from "../../src/access/Seal.ts"
import { withSealing } from "../../src/access/withSealing.ts"
import type { CarrierReply } from "../../src/carriers/Carrier.ts"
import { CarrierTransport } from "../../src/carriers/CarrierTransport.ts"
import {
  type CarrierExchange,
  ExchangeRecording,
  OnCarrierExchange
} from "../../src/carriers/recorder/CarrierExchange.ts"
import * as Exchange from "../../src/carriers/recorder/Exchange.ts"
import { kinds } from "../../src/kinds.ts"
import { Carriers } from "../../src/quoting/asking/Carriers.ts"
import { Retention } from "../../src/runner/Retention.ts"
import { Storage } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import { day_ms, minute_ms, second_ms } from "../../src/wire/Timestamp.ts"
import {
  callbackOf,
  callingBack,
  carrier,
  carriers,
  declined,
  offer,
  offers,
  polled,
  prompt,
  silent,
  unavailable
} from "../quoting/carriers.ts"
import { type InWorld, live, outcomes, pass, reset, runDue, start, testInWorld, work } from "../quoting/support.ts"

/** What is on record in an environment, oldest first, as an operator's program opens it. */
const onRecord = (environment: "sandbox" | "live" = "live") =>
  Effect.gen(function* () {
    const storage = withSealing(yield* Storage, yield* Seal, kinds)
    const { organization } = yield* World
    const workspace_id = organization.workspaces[environment]
    const page = yield* storage.page({
      workspace_id,
      kind: Exchange.kind.name,
      order: "oldest",
      after: null,
      limit: 500
    })
    return page.records.map(Exchange.kind.value)
  })

/** What storage holds, sealed. */
const stored = Effect.gen(function* () {
  const storage = yield* Storage
  const { organization } = yield* World
  const workspace_id = organization.workspaces.live
  const page = yield* storage.page({ workspace_id, kind: Exchange.kind.name, order: "oldest", after: null, limit: 500 })
  return page.records.map(({ body }) => body)
})

/** The carrier's server, and what else stands around the core. */
interface Surroundings {
  readonly answer?: (request: Request) => Response | "never" | "refused"
  readonly recording?: { readonly sandbox: "all" | "failures" | "none"; readonly live: "all" | "failures" | "none" }
  readonly onExchange?: (exchange: CarrierExchange) => void
}

const all = { sandbox: "all", live: "all" } as const

/** A carrier's server in memory. */
const server = (answer: NonNullable<Surroundings["answer"]>) =>
  HttpClient.make((request, url) =>
    Effect.gen(function* () {
      const sent = yield* Effect.orDie(HttpClientRequest.toWeb(request))
      const answered = answer(new Request(url, sent))
      if (answered === "never") return yield* Effect.never
      if (answered === "refused") return yield* Effect.die(Object.assign(new Error("secret"), { code: "ECONNREFUSED" }))
      return HttpClientResponse.fromWeb(request, answered)
    })
  )

/** A test with carriers behind a server. */
const testRecorded = (
  name: string,
  body: InWorld<unknown>,
  scripted: Parameters<typeof carriers>[0] | ReadonlyArray<Parameters<typeof carriers>[0]>,
  { answer = () => Response.json({}), onExchange, recording = all }: Surroundings = {}
) =>
  testInWorld(name, body, {
    ...carriers(...[scripted].flat()),
    surroundings: Layer.mergeAll(
      Layer.succeed(CarrierTransport, server(answer)),
      Layer.succeed(ExchangeRecording, recording),
      onExchange === undefined ? Layer.empty : Layer.succeed(OnCarrierExchange, onExchange)
    )
  })

/** Starts a live request and lets time pass. */
const ask = (millis = 10) =>
  Effect.gen(function* () {
    yield* work
    const { id } = yield* start({}, live)
    yield* pass(millis)
    return id
  })

/** Sends a request as an adapter does, and reads the answer. */
const send = (request: HttpClientRequest.HttpClientRequest, reply: CarrierReply = offers()) =>
  Effect.gen(function* () {
    const client = yield* CarrierTransport
    yield* Effect.flatMap(client.execute(request), (response) => response.text)
    return reply
  }).pipe(Effect.orDie)

describe("an exchange with a carrier", () => {
  const posting = carrier("acme", () =>
    send(
      HttpClientRequest.post("https://api.acme.example/v2/quotes?zip=10001&key=hidden").pipe(
        HttpClientRequest.setHeaders({ authorization: "Bearer hidden", "x-request-id": "r-1", cookie: "hidden" }),
        HttpClientRequest.bodyJsonUnsafe({
          applicant: { name: "Ada" },
          drivers: [{ name: "Ada", age: 40 }],
          state: "NY",
          api_key: "hidden"
        })
      )
    )
  )
  const acme = {
    ...posting,
    adapter: { ...posting.adapter, redact: ["applicant", "drivers.*.name"] }
  }
  testRecorded(
    "is on record with its HTTP, without declared facts, secrets, other headers and query values",
    Effect.gen(function* () {
      const id = yield* ask()
      const [exchange, ...others] = yield* onRecord()
      assert.deepStrictEqual(others, [])
      assert.deepInclude(exchange, {
        quote_request_id: id,
        exchange: "ask",
        carrier_id: "acme",
        line: "renters",
        environment: "live",
        attempt: 1,
        outcome: "offers",
        reason: null,
        broken_rules: [],
        fault: null
      })
      const [http] = exchange?.http ?? []
      assert.deepInclude(http, {
        direction: "sent",
        method: "POST",
        host: "api.acme.example",
        path: "/v2/quotes?zip&key",
        status: 200,
        error: null
      })
      assert.deepStrictEqual(http?.request.headers, { "content-type": "application/json", "x-request-id": "r-1" })
      assert.deepStrictEqual(JSON.parse(http?.request.body ?? ""), {
        applicant: "[redacted]",
        drivers: [{ name: "[redacted]", age: 40 }],
        state: "NY",
        api_key: "[redacted]"
      })
      assert.deepStrictEqual(http?.response?.body, '{"premium":12000,"access_token":"[redacted]"}')
      assert.notMatch(JSON.stringify(exchange), /Ada|hidden/)
      assert.notInclude((yield* stored).join(), "premium")
    }),
    acme,
    {
      answer: () =>
        Response.json({ premium: 12_000, access_token: "hidden" }, { headers: { "set-cookie": "hidden=1" } })
    }
  )

  const token = carrier("acme", () =>
    send(
      HttpClientRequest.post("https://api.acme.example/token").pipe(
        HttpClientRequest.bodyUrlParams({ grant_type: "client_credentials", client_secret: "hidden" })
      )
    )
  )
  testRecorded(
    "shows that a token was asked for, and none of the values",
    Effect.gen(function* () {
      yield* ask()
      const [exchange] = yield* onRecord()
      assert.strictEqual(exchange?.http[0]?.request.body, "grant_type=[redacted]&client_secret=[redacted]")
      assert.strictEqual(exchange?.http[0]?.response?.body, '{"access_token":"[redacted]","expires_in":60}')
    }),
    token,
    { answer: () => Response.json({ access_token: "hidden", expires_in: 60 }) }
  )

  const xml = () =>
    carrier("acme", () =>
      send(HttpClientRequest.post("https://api.acme.example/").pipe(HttpClientRequest.bodyText("<Ada/>", "text/xml")))
    )
  const keeping = xml()
  for (const [what, scripted, kept] of [
    ["only as type and length", xml(), { body: null, kept: "left_out" }],
    [
      "whole if the carrier says so",
      { ...keeping, adapter: { ...keeping.adapter, keeps_text_bodies: true } },
      { body: "<Ada/>", kept: "whole" }
    ]
  ] as const) {
    testRecorded(
      `has bodies that are not JSON ${what}`,
      Effect.gen(function* () {
        yield* ask()
        const [exchange] = yield* onRecord()
        assert.deepInclude(exchange?.http[0]?.request, { content_type: "text/xml", bytes: 6, ...kept })
      }),
      scripted
    )
  }

  const many = carrier("acme", () =>
    Effect.as(
      Effect.forEach(Array.from({ length: 12 }), () => send(HttpClientRequest.get("https://api.acme.example/"))),
      offers()
    )
  )
  testRecorded(
    "has a bound: long bodies are cut, and so is the number of HTTP exchanges",
    Effect.gen(function* () {
      yield* ask()
      const [exchange] = yield* onRecord()
      const kept = exchange?.http ?? []
      assert.strictEqual(kept.length + (exchange?.http_left_out ?? 0), 12)
      assert.isAbove(exchange?.http_left_out ?? 0, 0)
      const { body, bytes, kept: how } = kept[0]?.response ?? assert.fail()
      assert.strictEqual(how, "cut")
      assert.strictEqual(bytes, 100_011)
      assert.isBelow(body?.length ?? 0, 20_000)
    }),
    many,
    { answer: () => Response.json({ text: "a".repeat(100_000) }) }
  )

  const hanging = carrier("acme", () => send(HttpClientRequest.get("https://api.acme.example/")), {
    attempt_timeout_ms: second_ms,
    idempotent: false
  })
  testRecorded(
    "that runs out of time shows which HTTP exchange was aborted, and how long it took",
    Effect.gen(function* () {
      yield* ask(2 * second_ms)
      const [exchange] = yield* onRecord()
      assert.deepInclude(exchange, { outcome: "unavailable", reason: "timeout", duration_ms: second_ms })
      assert.deepInclude(exchange?.http[0], { status: null, error: "aborted", response: null })
    }),
    hanging,
    { answer: () => "never" }
  )

  const thrown = prompt("acme", offers(), {
    idempotent: false,
    rest: { ask: () => Effect.die(Object.assign(new TypeError("hidden"), { code: "ECONNRESET" })) }
  })
  testRecorded(
    "in which the adapter throws has the class and code of the error, and no message",
    Effect.gen(function* () {
      yield* ask()
      const found = yield* onRecord()
      assert.deepInclude(found[0], { outcome: "unavailable", reason: "carrier_error", fault: "TypeError ECONNRESET" })
      assert.notInclude(JSON.stringify(found), "hidden")
    }),
    thrown
  )

  testRecorded(
    "whose offers break rules says which, by path",
    Effect.gen(function* () {
      yield* ask()
      const [exchange] = yield* onRecord()
      assert.deepInclude(exchange, { outcome: "unavailable", reason: "unreadable_answer" })
      assert.deepStrictEqual(exchange?.broken_rules, [
        { path: "offers.0.term_months", message: "Must be one of 1, 6, 12." }
      ])
    }),
    prompt("acme", offers(offer({ term_months: 7 })))
  )
})

describe("every exchange is on record:", () => {
  testRecorded(
    "each try of an ask",
    Effect.gen(function* () {
      yield* ask(10 * second_ms)
      assert.deepStrictEqual(
        (yield* onRecord()).map(({ attempt, outcome, reason }) => [attempt, outcome, reason]),
        [
          [1, "unavailable", "carrier_error"],
          [2, "offers", null]
        ]
      )
    }),
    carrier("acme", (_, nth) => Effect.succeed(nth === 1 ? unavailable("carrier_error") : offers()))
  )

  testRecorded(
    "polls, also those that failed",
    Effect.gen(function* () {
      yield* ask(30 * second_ms)
      assert.deepStrictEqual(
        (yield* onRecord()).map(({ exchange, outcome }) => `${exchange} ${outcome}`),
        ["ask pending", "poll pending", "poll offers"]
      )
    }),
    polled("acme", 2)
  )

  const calling = callingBack("acme")
  testRecorded(
    "callbacks with what the carrier sent, and late ones",
    Effect.gen(function* () {
      yield* ask()
      const service = yield* Carriers
      const ref = calling.asks[0]?.ask.idempotency_key ?? ""
      assert.isTrue(yield* service.callback("acme", callbackOf(ref, declined)))
      assert.isTrue(yield* service.callback("acme", callbackOf(ref, offers())))
      const found = yield* onRecord()
      assert.deepStrictEqual(
        found.map(({ exchange, outcome, reason }) => [exchange, outcome, reason]),
        [
          ["ask", "pending", null],
          ["callback", "declined", "prior_claims"],
          ["callback", "offers", null]
        ]
      )
      assert.deepInclude(found[1]?.http[0], { direction: "received", method: "POST" })
      assert.include(found[1]?.http[0]?.request.body, '"reason":"prior_claims"')
    }),
    calling
  )

  testRecorded(
    "refreshes",
    Effect.gen(function* () {
      yield* ask(2 * minute_ms)
      assert.deepStrictEqual(
        (yield* onRecord()).map(({ exchange, outcome }) => `${exchange} ${outcome}`),
        ["ask offers", "refresh withdrawn"]
      )
    }),
    prompt("acme", offers(offer({ refresh_after_ms: minute_ms })), {
      rest: { refresh: () => Effect.succeed({ kind: "withdrawn" }) }
    })
  )

  const endless = prompt("acme", offers(offer({ refresh_after_ms: minute_ms })), {
    rest: {
      refresh: () =>
        Effect.succeed({ kind: "offer", reason: "rechecked", offer: offer({ refresh_after_ms: minute_ms }) })
    }
  })
  testRecorded(
    "but of an offer that is refreshed again and again, only the first ones",
    Effect.gen(function* () {
      yield* ask()
      for (let i = 0; i < 150; i++) yield* pass(minute_ms)
      const found = yield* onRecord()
      assert.isAbove(found.length, 50)
      assert.isBelow(found.length, 120)
    }),
    endless
  )
})

describe("the setting", () => {
  const declining = prompt("declining", declined)
  const failing = prompt("failing", unavailable("maintenance"))
  for (const [what, recording, kept] of [
    ["`failures` keeps only what gave no answer", { sandbox: "all", live: "failures" }, ["failing"]],
    ["`none` keeps nothing", { sandbox: "all", live: "none" }, []],
    ["`all` keeps everything", { sandbox: "none", live: "all" }, ["declining", "failing"]]
  ] as const) {
    testRecorded(
      what,
      Effect.gen(function* () {
        yield* ask()
        assert.sameMembers(
          (yield* onRecord()).map(({ carrier_id }) => carrier_id),
          [...kept]
        )
      }),
      [declining, failing],
      { recording }
    )
  }

  testInWorld(
    "is `failures` in live and `all` in the sandbox by default",
    Effect.gen(function* () {
      yield* ask()
      yield* start({})
      yield* pass(2 * second_ms)
      assert.lengthOf(yield* onRecord("live"), 0)
      assert.lengthOf(yield* onRecord("sandbox"), 1)
    }),
    carriers(declining)
  )

  testInWorld(
    "does not concern fictional carriers, which are never recorded",
    Effect.gen(function* () {
      yield* work
      yield* start({})
      yield* pass(minute_ms)
      assert.lengthOf(yield* onRecord("sandbox"), 0)
    })
  )
})

describe("what is on record is erased", () => {
  testRecorded(
    "after a week",
    Effect.gen(function* () {
      yield* start({}, live)
      yield* runDue
      const { organization } = yield* World
      const retention = yield* Retention
      yield* pass(6 * day_ms)
      yield* retention.sweep(organization.workspaces.live)
      assert.lengthOf(yield* onRecord(), 1)
      yield* pass(2 * day_ms)
      yield* retention.sweep(organization.workspaces.live)
      assert.lengthOf(yield* onRecord(), 0)
    }),
    prompt("acme")
  )

  testRecorded(
    "with the facts of its request at the latest",
    Effect.gen(function* () {
      yield* start({}, live)
      yield* runDue
      yield* pass(30 * day_ms)
      yield* runDue
      const { organization } = yield* World
      const retention = yield* Retention
      const workspace_id = organization.workspaces.live
      assert.isTrue((yield* onRecord()).some(({ exchange }) => exchange === "refresh"))
      yield* pass(3 * day_ms)
      yield* retention.sweep(workspace_id)
      assert.lengthOf(yield* onRecord(), 0)
    }),
    prompt("acme", offers(offer({ expires_at: "2027-11-01T00:00:00.000Z", refresh_after_ms: 29 * day_ms })), {
      rest: {
        refresh: () =>
          Effect.succeed({
            kind: "offer",
            reason: "rechecked",
            offer: offer({ expires_at: "2027-11-01T00:00:00.000Z" })
          })
      }
    })
  )

  testRecorded(
    "by a reset of the sandbox",
    Effect.gen(function* () {
      yield* work
      yield* start({})
      yield* pass(2 * second_ms)
      assert.lengthOf(yield* onRecord("sandbox"), 1)
      yield* reset()
      assert.lengthOf(yield* onRecord("sandbox"), 0)
    }),
    prompt("acme")
  )
})

describe("the hook OnCarrierExchange", () => {
  const seen: Array<CarrierExchange> = []
  const posting = carrier("acme", () =>
    send(
      HttpClientRequest.post("https://api.acme.example/quotes?name=Ada").pipe(
        HttpClientRequest.bodyJsonUnsafe({ name: "Ada" })
      ),
      offers(offer({ term_months: 7 }))
    )
  )
  testRecorded(
    "is told how each exchange went, with broken rules and without bodies, also if none is recorded",
    Effect.gen(function* () {
      seen.length = 0
      const id = yield* ask()
      assert.lengthOf(seen, 1)
      assert.deepInclude(seen[0], {
        exchange: "ask",
        carrier_id: "acme",
        quote_request_id: id,
        outcome: "unavailable",
        reason: "unreadable_answer"
      })
      assert.deepStrictEqual(
        seen[0]?.broken_rules.map(({ path }) => path),
        ["offers.0.term_months"]
      )
      assert.deepInclude(seen[0]?.http[0], { host: "api.acme.example", path: "/quotes?name", status: 200 })
      assert.notInclude(JSON.stringify(seen), "Ada")
      assert.lengthOf(yield* onRecord(), 0)
    }),
    posting,
    { recording: { sandbox: "none", live: "none" }, onExchange: (exchange) => seen.push(exchange) }
  )

  testRecorded(
    "is logged if it throws, without its message, and the answer counts",
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.make(({ cause, fiber, message }) => {
        lines.push(
          `${String(message)} ${Cause.pretty(cause)} ${JSON.stringify(fiber.getRef(References.CurrentLogAnnotations))}`
        )
      })
      const id = yield* Effect.provideService(ask(), References.CurrentLoggers, new Set([logger]))
      const line = lines.find((one) => one.includes("OnCarrierExchange has failed")) ?? assert.fail(lines.join())
      assert.include(line, "EvalError")
      assert.include(line, '"carrier_id":"acme"')
      assert.notInclude(line, "hidden")
      assert.deepStrictEqual(yield* outcomes(id), ["acme quoted"])
    }),
    prompt("acme"),
    {
      onExchange: () => {
        throw new EvalError("hidden")
      }
    }
  )
})

describe("an exchange that cannot be recorded", () => {
  testInWorld(
    "does not stop the answer",
    Effect.gen(function* () {
      const id = yield* ask(30 * second_ms)
      assert.deepStrictEqual(yield* outcomes(id), ["acme quoted"])
    }),
    {
      ...carriers(polled("acme", 2)),
      surroundings: Layer.succeed(ExchangeRecording, all),
      around: (storage) => ({
        ...storage,
        page: (query) => (query.kind === Exchange.kind.name ? Effect.die("no pages") : storage.page(query))
      })
    }
  )
})

describe("the metrics of carriers", () => {
  const measured = Effect.map(Metric.snapshot, (metrics) =>
    metrics
      .filter(({ id }) => id.startsWith("quotewire_carrier"))
      .map(({ attributes, id, state, type }) => {
        const count = type === "Counter" ? Number(state.count) : type === "Histogram" ? state.count : null
        const value = type === "Gauge" ? Number(state.value) : count
        return `${id} ${Object.values(attributes ?? {}).join(" ")}: ${value}`
      })
  )
  const apart = <A, E, R>(body: Effect.Effect<A, E, R>) => Effect.provideService(body, Metric.MetricRegistry, new Map())

  testRecorded(
    "count exchanges by carrier, line, environment, outcome and reason, and time them",
    apart(
      Effect.gen(function* () {
        yield* ask(10 * second_ms)
        assert.includeMembers(yield* measured, [
          "quotewire_carrier_exchanges_total ask acme renters live unavailable timeout: 1",
          "quotewire_carrier_exchanges_total ask other renters live declined prior_claims: 1",
          "quotewire_carrier_exchange_duration_seconds ask acme renters: 1"
        ])
      })
    ),
    [silent("acme", { attempt_timeout_ms: second_ms, idempotent: false }), prompt("other", declined)]
  )
})

describe("the span of a call to an adapter", () => {
  const spans: Array<{ readonly name: string; readonly attributes: ReadonlyMap<string, unknown> }> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  testRecorded(
    "names carrier, line, attempt and outcome; the HTTP within has no span, since its address could hold facts",
    Effect.gen(function* () {
      spans.length = 0
      yield* Effect.withTracer(ask(), tracer)
      const span = spans.find(({ name }) => name === "carrier ask") ?? assert.fail()
      assert.deepInclude(Object.fromEntries(span.attributes), {
        carrier: "acme",
        line: "renters",
        attempt: 1,
        outcome: "offers"
      })
      assert.notInclude(JSON.stringify(spans.map(({ attributes, name }) => [name, ...attributes])), "Ada")
    }),
    carrier("acme", () => send(HttpClientRequest.get("https://api.acme.example/quotes?name=Ada")))
  )
})
