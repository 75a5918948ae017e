import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import type { CarrierAdapter, CarrierAsk } from "../../src/carriers/Carrier.ts"
import { CarrierTransport } from "../../src/carriers/CarrierTransport.ts"
import { defineCarrier } from "../../src/carriers/defineCarrier.ts"
import * as Reply from "../../src/carriers/Reply.ts"
import * as Quotewire from "../../src/Quotewire.ts"
import { Quotes } from "../../src/quoting/Quotes.ts"
import { dollars } from "../../src/wire/Money.ts"
import { logOfRequest, single } from "../quoting/log.ts"
import { getQuote, type InWorld, live, outcomes, pass, read, start, testInWorld, work } from "../support/world.ts"

const renters = { renters: { states: ["NY"] } } as const

const Accepted = Schema.Struct({ number: Schema.String })
const Answered = Schema.Struct({ status: Schema.String, premium_usd: Schema.optionalKey(Schema.Finite) })

/** A complete integration: an accepted ask, polls, refreshes, and links at the click. */
const acme = defineCarrier({
  id: "naic:12345",
  name: "Acme Mutual",
  environments: ["live"],
  lines: { renters: { states: ["NY", "TX"], wants: ["applicant.email"], mode: "poll", idempotent: true } },
  handoff_hosts: ["quotes.acme.example"],
  http: { base_url: { sandbox: "https://sandbox.acme.example", live: "https://api.acme.example" } },
  appetite: ({ facts, on }) =>
    facts.dwelling.type === "mobile_home" && on >= "2026-06-01" ? Reply.decline("property_not_eligible") : null,
  ask: async ({ facts, http, idempotency_key }) => {
    const { address, type } = facts.dwelling
    const quote = { key: idempotency_key, zip: address.zip, kind: type, email: facts.applicant?.email ?? null }
    const accepted = await http.post("/quotes", { json: quote })
    return Reply.pending(accepted.json(Accepted).number, { poll_after_ms: 2_000 })
  },
  poll: async ({ ref, http }) => {
    const answer = (await http.get(`/quotes/${ref}`)).json(Answered)
    if (answer.status === "declined") return Reply.decline("risk_outside_guidelines")
    if (answer.premium_usd === undefined) return Reply.pending(ref, { poll_after_ms: 2_000 })
    const premium = dollars(answer.premium_usd)
    return Reply.offers([{ offer_ref: ref, premium, term_months: 12, refresh_after_ms: 3_600_000 }])
  },
  refresh: async ({ offer_ref, http }) => {
    const answer = (await http.get(`/quotes/${offer_ref}`)).json(Answered)
    if (answer.premium_usd === undefined) return Reply.withdrawn
    return Reply.refreshed("price_updated", { offer_ref, premium: dollars(answer.premium_usd), term_months: 12 })
  },
  handoff: async ({ offer_ref, http }) => {
    const session = (await http.post(`/quotes/${offer_ref}/sessions`)).json(Accepted)
    return `https://quotes.acme.example/resume/${session.number}`
  }
})

/** Answers the requests of a carrier's HTTP client, in turn; `undefined` never answers. */
const answering = (...answers: ReadonlyArray<Response | undefined>) => {
  const requests: Array<string> = []
  const client = HttpClient.make((request, url) =>
    Effect.suspend(() => {
      const answer = answers[requests.length]
      requests.push(`${request.method} ${url}`)
      return answer === undefined ? Effect.never : Effect.succeed(HttpClientResponse.fromWeb(request, answer))
    })
  )
  const through = <A>(body: InWorld<A>): InWorld<A> => Effect.provideService(body, CarrierTransport, client)
  return { requests, client, through }
}

const onlyCarrier = (adapter: CarrierAdapter) => ({ carriers: [adapter] })

describe("a defined carrier", () => {
  testInWorld("is asked, polled and refreshed over HTTP, and returns links", () => {
    const server = answering(
      Response.json({ number: "A-1" }),
      Response.json({ status: "open" }),
      Response.json({ status: "quoted", premium_usd: 180 }),
      Response.json({ number: "S-1" }),
      Response.json({ status: "quoted", premium_usd: 190 })
    )
    return {
      ...onlyCarrier(acme),
      body: server.through(
        Effect.gen(function* () {
          yield* work
          const { id } = yield* start({}, live)
          yield* pass(5_000)
          const [quote] = (yield* read(id, live)).quotes
          assert.deepStrictEqual(quote?.price.premium, dollars(180))
          assert.isTrue(quote?.evidence.assumptions.some(({ path }) => path === "application.coverage.deductible_usd"))
          const link = quote?.next_actions.find(({ type }) => type === "continue_on_carrier_site")?.redirect_path
          const there = yield* Effect.flatMap(Quotes, (quotes) => quotes.go(String(link).replace("/go/", "")))
          assert.deepStrictEqual(there, { _tag: "redirect", url: "https://quotes.acme.example/resume/S-1" })
          yield* pass(3_600_000)
          const second = yield* getQuote(quote?.id ?? "", undefined, live)
          assert.deepStrictEqual([second.version, second.price.premium], [2, dollars(190)])
          assert.deepStrictEqual(second.evidence.assumptions, quote?.evidence.assumptions)
          assert.deepStrictEqual(server.requests, [
            "POST https://api.acme.example/quotes",
            "GET https://api.acme.example/quotes/A-1",
            "GET https://api.acme.example/quotes/A-1",
            "POST https://api.acme.example/quotes/A-1/sessions",
            "GET https://api.acme.example/quotes/A-1"
          ])
        })
      )
    }
  })

  const notifier = defineCarrier({
    id: "naic:12345",
    name: "Acme Mutual",
    lines: { renters: { states: ["NY"], mode: "callback" } },
    http: { base_url: "https://api.acme.example" },
    ask: async ({ http }) => Reply.pending((await http.post("/quotes")).json(Accepted).number),
    poll: async ({ ref, http }) =>
      (await http.get(`/quotes/${ref}`)).json(Answered).status === "declined"
        ? Reply.decline("risk_outside_guidelines")
        : Reply.pending(ref),
    callback: ({ headers, text }) =>
      headers.secret === "s3cret" ? { ref: text, reply: Reply.pending(text, { poll_after_ms: 0 }) } : null
  })

  testInWorld("is polled when a genuine callback says that the answer is ready", () => {
    const notified = answering(Response.json({ number: "A-1" }), Response.json({ status: "declined" }))
    return {
      ...onlyCarrier(notifier),
      body: notified.through(
        Effect.gen(function* () {
          const hear = (secret: string) =>
            Quotewire.carrierCallback("naic:12345", { headers: { secret }, body: new TextEncoder().encode("A-1") })
          yield* work
          const { id } = yield* start({}, live)
          yield* pass(10)
          assert.isFalse(yield* hear("guessed"))
          assert.isTrue(yield* hear("s3cret"))
          yield* pass(2_000)
          assert.deepStrictEqual(yield* outcomes(id), ["naic:12345 declined risk_outside_guidelines"])
        })
      )
    }
  })

  testInWorld(
    "can decline in its appetite function, based on typed facts",
    Effect.gen(function* () {
      yield* work
      const application = { dwelling: { address: { state: "NY", zip: "10001" }, type: "mobile_home" } }
      const { id } = yield* start({ application }, live)
      yield* pass(10)
      assert.deepStrictEqual(yield* outcomes(id), ["naic:12345 declined property_not_eligible"])
    }),
    onlyCarrier(acme)
  )
})

const simple = { id: "naic:12345", name: "Acme Mutual", lines: renters } as const
const priced = Reply.offers([{ offer_ref: "1", premium: dollars(100) }])

describe("the results of a defined carrier's functions", () => {
  const forms = {
    "a value": defineCarrier({ ...simple, ask: () => priced }),
    "a promise": defineCarrier({ ...simple, ask: async () => priced }),
    "an Effect": defineCarrier({ ...simple, ask: () => Effect.delay(Effect.succeed(priced), 500) })
  }
  for (const [form, adapter] of Object.entries(forms)) {
    testInWorld(
      `may be returned as ${form}`,
      Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(500)
        assert.deepStrictEqual(yield* outcomes(id), ["naic:12345 quoted"])
      }),
      onlyCarrier(adapter)
    )
  }

  const broken = defineCarrier({ ...simple, ask: () => JSON.parse('{ "kind": "offers", "offers": [{}] }') })
  testInWorld(
    "are checked like any carrier's answer",
    Effect.gen(function* () {
      const { lines } = yield* logOfRequest()
      const line = single(lines, "Dropped a carrier's answer that breaks the rules")
      assert.include(String(line.annotations.broken_rules), "offers.0.offer_ref")
    }),
    onlyCarrier(broken)
  )
})

const http = { base_url: "https://api.acme.example" }

describe("an error in a defined carrier", () => {
  const failing = defineCarrier({
    ...simple,
    http,
    ask: async ({ http }) => {
      await http.get("/quotes")
      return priced
    }
  })
  for (const [status, headers, reason] of [
    [429, { "retry-after": "120" }, "rate_limited"],
    [500, {}, "carrier_error"]
  ] as const) {
    testInWorld(`is logged and becomes ${reason} if the carrier's HTTP client gets a ${status}`, () => {
      const server = answering(new Response("{}", { status, headers }))
      return {
        ...onlyCarrier(failing),
        body: server.through(
          Effect.gen(function* () {
            const { id, lines } = yield* logOfRequest()
            assert.deepStrictEqual(yield* outcomes(id), [`naic:12345 no_answer ${reason}`])
            const line = single(lines, "A carrier was unreachable or sent no usable answer")
            const fault = `CarrierHttpError HTTP_${status}`
            assert.deepInclude(line.annotations, {
              carrier_id: "naic:12345",
              quote_request_id: id,
              reason,
              status,
              fault
            })
          })
        )
      }
    })
  }

  const crashing = defineCarrier({
    ...simple,
    ask: async ({ facts }) => {
      throw new TypeError(`cannot price ${facts.dwelling.address.zip}`)
    }
  })
  testInWorld(
    "is logged with its location but without its message if the ask function throws",
    Effect.gen(function* () {
      const { id, lines } = yield* logOfRequest()
      const line = single(lines, "A carrier's adapter failed")
      assert.deepInclude(line.annotations, { carrier_id: "naic:12345", quote_request_id: id })
      assert.match(line.cause, /^TypeError[\s\S]*at .*defineCarrier\.test\.ts:\d+:\d+/)
      assert.notInclude(JSON.stringify(lines), "10001")
      assert.deepStrictEqual(yield* outcomes(id), ["naic:12345 no_answer carrier_error"])
    }),
    onlyCarrier(crashing)
  )

  testInWorld("aborts the adapter's signal if the error is a timeout", () => {
    const signals: Array<AbortSignal> = []
    const slow = defineCarrier({
      ...simple,
      lines: { renters: { states: ["NY"], attempt_timeout_ms: 3_000 } },
      ask: ({ signal }) => {
        signals.push(signal)
        return new Promise<never>(() => {})
      }
    })
    return {
      ...onlyCarrier(slow),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(2_900)
        assert.deepStrictEqual(
          signals.map(({ aborted }) => aborted),
          [false]
        )
        yield* pass(100)
        assert.deepStrictEqual(
          signals.map(({ aborted }) => aborted),
          [true]
        )
        assert.deepStrictEqual(yield* outcomes(id), ["naic:12345 no_answer timeout"])
      })
    }
  })
})

const ask: CarrierAsk = {
  line: "renters",
  environment: "live",
  facts: {},
  assumptions: [],
  credit_disclosed: false,
  idempotency_key: "key",
  attempt: 1,
  scenario: null,
  requested_at: 0,
  asked_at: 0,
  now: 0,
  deadline: 90_000
}

describe("a defined carrier's connection", () => {
  const connected = defineCarrier({
    ...simple,
    connection: { producer_code: "string", api_key: "secret" },
    ask: ({ connection }) => Reply.pending(connection.producer_code)
  })

  it.effect("has its values under the declared field names", () =>
    Effect.gen(function* () {
      const connection = { producer_code: "P-1", api_key: "k" }
      assert.deepInclude(yield* connected.ask({ ...ask, connection }), { ref: "P-1" })
    })
  )

  it.effect("must be complete: the carrier is not called if a value is missing", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(connected.ask({ ...ask, connection: { producer_code: "P-1" } }))
      assert.strictEqual(exit._tag, "Failure")
    })
  )
})

describe("testing a connection", () => {
  const tried = defineCarrier({
    ...simple,
    connection: { api_key: "secret" },
    http,
    testConnection: async ({ connection, environment, http }) => {
      await http.get(`/${environment}`)
      return connection.api_key === "right" ? { ok: true } : { ok: false, message: "The key is not known." }
    },
    ask: () => priced
  })
  const test = (api_key: string, server: ReturnType<typeof answering>) =>
    Effect.provideService(
      tried.testConnection?.({ api_key }, "live") ?? Effect.succeed(null),
      CarrierTransport,
      server.client
    )

  it.effect("uses an HTTP client, and reports a failed request to the operator", () =>
    Effect.gen(function* () {
      const fine = answering(new Response("{}"), new Response("{}"))
      assert.deepStrictEqual(yield* test("right", fine), { ok: true })
      assert.deepStrictEqual(yield* test("wrong", fine), { ok: false, message: "The key is not known." })
      assert.deepStrictEqual(fine.requests, ["GET https://api.acme.example/live", "GET https://api.acme.example/live"])
      const refusing = answering(new Response("{}", { status: 403 }))
      assert.deepStrictEqual(yield* test("right", refusing), { ok: false, message: "The carrier answered 403." })
    })
  )
})

describe("a defined carrier's facts", () => {
  const several = defineCarrier({
    ...simple,
    lines: { renters: { states: ["NY"] }, pet: { states: ["TX"] } },
    // Each line has its own facts, which the compiler knows.
    ask: ({ facts, line }) =>
      Reply.offers([
        { offer_ref: line === "pet" ? `${facts.pets[0]?.species} ${facts.coverage.plan}` : facts.dwelling.type }
      ])
  })
  testInWorld(
    "are typed according to the request's line",
    Effect.gen(function* () {
      yield* work
      const ids = [yield* start({ line: "renters" }, live), yield* start({ line: "pet" }, live)]
      yield* pass(10)
      for (const { id } of ids) assert.deepStrictEqual(yield* outcomes(id), ["naic:12345 quoted"])
    }),
    onlyCarrier(several)
  )
})
