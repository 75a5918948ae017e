import { createServer, type IncomingMessage } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import { CarrierTransport } from "../../src/carriers/CarrierTransport.ts"
import { defineCarrier } from "../../src/carriers/defineCarrier.ts"
import { oauth } from "../../src/carriers/http/Auth.ts"
import * as Reply from "../../src/carriers/Reply.ts"
import * as CarrierContract from "../../src/testing/CarrierContract.ts"
import * as Cassette from "../../src/testing/Cassette.ts"
import { cents } from "../../src/wire/Money.ts"
import * as fakeCarrier from "../carriers/fakeCarrier.ts"

const secret = "Zq7xSecret+Zq7x"
const connection = { client_id: "broker-7", client_secret: secret, producer: "4711" }
const facts = {
  dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" },
  applicant: { email: "ada@example.com" }
}

const textOf = async (request: IncomingMessage) => {
  let text = ""
  for await (const chunk of request) text += chunk
  return text
}

/** A carrier's sandbox with tokens, quotes and polls. */
const sandbox = Effect.acquireRelease(
  Effect.promise(async () => {
    const server = createServer(async (request, response) => {
      const body = await textOf(request)
      const answer = (value: unknown) => {
        response.writeHead(200, { "content-type": "application/json", "set-cookie": "session=hidden" })
        response.end(JSON.stringify(value))
      }
      if (request.url === "/token") return answer({ access_token: "tok-hidden", expires_in: 3_600 })
      if (request.method === "GET") return answer({ number: request.url?.split("/").at(-1), premium_cents: 18_900 })
      const { applicant, key } = JSON.parse(body)
      answer({ number: `Q-${key}`, applicant, session_token: "hidden" })
    })
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
    const address = server.address()
    const port = typeof address === "object" ? address?.port : undefined
    return { server, base_url: `http://127.0.0.1:${port}` }
  }),
  ({ server }) => Effect.promise(() => new Promise((closed) => server.close(closed)))
)

const Quote = Schema.Struct({ number: Schema.String, premium_cents: Schema.optionalKey(Schema.Int) })

const replyOf = ({ number, premium_cents }: typeof Quote.Type) =>
  premium_cents === undefined
    ? Reply.pending(number, { poll_after_ms: 1 })
    : Reply.offers([{ offer_ref: number, premium: cents(premium_cents), term_months: 12 }])

const acme = (base_url: string, more: object = {}) =>
  defineCarrier({
    id: "naic:12345",
    name: "Acme Mutual",
    lines: { renters: { states: ["NY"], wants: ["applicant.email"], mode: "poll", idempotent: true } },
    connection: { client_id: "string", client_secret: "secret", producer: "secret" },
    http: {
      base_url,
      auth: oauth({ token_path: "/token", client_id: "client_id", client_secret: "client_secret" }),
      redact: ["applicant"]
    },
    ask: async ({ connection, facts, http, idempotency_key }) => {
      const { email } = facts.applicant ?? {}
      const { client_id: broker, producer } = connection
      const json = { key: idempotency_key, broker, producer, applicant: { email }, ...more }
      return replyOf((await http.post("/quotes", { json })).json(Quote))
    },
    poll: async ({ http, ref }) => replyOf((await http.get("/quotes/{ref}", { params: { ref } })).json(Quote))
  })

/** The contract's recording of the carrier's sandbox, which is closed by now, and the sandbox's address. */
const recorded = Effect.scoped(
  Effect.gen(function* () {
    const { base_url } = yield* sandbox
    const recording = yield* Cassette.record(yield* CarrierTransport, acme(base_url), connection)
    for (const { effect } of CarrierContract.cases(acme(base_url), { renters: facts }, { connection })) {
      yield* Effect.provideService(effect, CarrierTransport, recording.transport)
    }
    return { base_url, cassette: yield* recording.cassette }
  })
)

const replayed = (baseUrl: string, cassette: unknown, more: object = {}) =>
  CarrierContract.cases(acme(baseUrl, more), { renters: facts }, { cassette })

describe("a cassette", () => {
  it.live("answers every contract case as the carrier's sandbox did, without a network or connection values", () =>
    Effect.gen(function* () {
      const { base_url, cassette } = yield* recorded
      assert.isAtLeast(cassette.exchanges.length, 5)
      for (const { effect } of replayed(base_url, JSON.parse(Cassette.text(cassette)))) yield* effect
    })
  )

  it.live("is indented JSON without facts, tokens, cookies or secrets", () =>
    Effect.gen(function* () {
      const { cassette } = yield* recorded
      const text = Cassette.text(cassette)
      assert.match(text, /^\{\n {2}"version": 1,\n {2}"recorded_at": "\d{4}-/)
      assert.deepStrictEqual(cassette.exchanges[0]?.request.body, {
        json: { key: "contract-renters-answer", broker: "broker-7", producer: "[redacted]", applicant: "[redacted]" }
      })
      assert.deepStrictEqual(cassette.exchanges[0]?.response.body, {
        json: { number: "Q-contract-renters-answer", applicant: "[redacted]", session_token: "[redacted]" }
      })
      assert.deepStrictEqual(cassette.connection, { client_id: "broker-7" })
      assert.notMatch(text, /ada@|hidden|Zq7x|4711|\/token/)
    })
  )

  it.live("contains no secret that a carrier repeats or that is in a URL, in any form", () =>
    Effect.gen(function* () {
      const [basic, bearer] = [btoa(`broker-7:${secret}`), "bearer-of-this"]
      const told = { echo: [secret, btoa(secret), encodeURIComponent(secret), basic, bearer], [bearer]: 1 }
      const { client } = fakeCarrier.make(() => fakeCarrier.json(told, 200, { "x-request-id": bearer }))
      const recording = yield* Cassette.record(client, { connection: {} }, { client_secret: secret })
      for (const authorization of [`Bearer ${bearer}`, `Basic ${basic}`]) {
        const request = HttpClientRequest.get(`https://api.acme.example/quotes/${btoa(secret)}`).pipe(
          HttpClientRequest.setHeader("authorization", authorization)
        )
        yield* Effect.flatMap(recording.transport.execute(request), ({ text }) => text)
      }
      const { exchanges } = yield* recording.cassette
      assert.deepStrictEqual(
        exchanges.map(({ path, response }) => ({ path, headers: response.headers, body: response.body })),
        Array.from({ length: 2 }, () => ({
          path: "/quotes/[redacted]",
          headers: { "content-type": "application/json", "x-request-id": "[redacted]" },
          body: { json: { echo: Array.from({ length: 5 }, () => "[redacted]"), "[redacted]": 1 } }
        }))
      )
    })
  )

  const get = (answer: () => Response, adapter: Parameters<typeof Cassette.record>[1] = {}) =>
    Effect.gen(function* () {
      const { client } = fakeCarrier.make(answer)
      const recording = yield* Cassette.record(client, adapter)
      yield* Effect.flatMap(
        recording.transport.execute(HttpClientRequest.get("https://api.acme.example/quotes")),
        ({ text }) => text
      )
      return yield* recording.cassette
    })

  const unplayable: ReadonlyArray<readonly [string, string, string, RegExp]> = [
    [
      "text",
      "Ada;40",
      "text/csv",
      /The answer is neither JSON nor XML\. If the answer may be stored verbatim, set http\.keeps_text_bodies/
    ],
    [
      "XML that the adapter does not read",
      "<!DOCTYPE a><a/>",
      "text/xml",
      /It has a DOCTYPE, which is not supported\. If the answer may be stored/
    ],
    [
      "JSON that is nested too deep",
      `${"[".repeat(5_000)}${"]".repeat(5_000)}`,
      "application/json",
      /The answer is nested too deeply\. /
    ],
    [
      "a form",
      "premium=180&name=Ada",
      "application/x-www-form-urlencoded",
      /The answer is a form, and form values are never stored\. /
    ],
    [
      "a form with a character set",
      "premium=180&name=Ada",
      "application/x-www-form-urlencoded; charset=utf-8",
      /The answer is a form/
    ],
    [
      "too large",
      JSON.stringify("a".repeat(300_000)),
      "application/json",
      /The answer has more than \d+ characters\. Request/
    ]
  ]
  it.live.each(unplayable)(
    "cannot be recorded if an answer is %s, and the error says what to do",
    ([, body, type, why]) =>
      Effect.gen(function* () {
        const answer = () => new Response(body, { headers: { "content-type": type } })
        const { message } = yield* Effect.flip(get(answer))
        assert.match(
          message,
          /^The answer to GET \/quotes at api\.acme\.example cannot be stored, so the recording could not/
        )
        assert.match(message, why)
        assert.notInclude(message, "Ada")
      })
  )

  it.live("contains text bodies only if the adapter allows them, but always contains XML bodies", () =>
    Effect.gen(function* () {
      const bodyOf = ({ exchanges }: Cassette.Cassette) => exchanges[0]?.response.body
      const csv = () => new Response("Ada;40", { headers: { "content-type": "text/csv" } })
      assert.deepStrictEqual(bodyOf(yield* get(csv, { keeps_text_bodies: true })), { text: "Ada;40" })
      const xml = () => new Response("<a>\n <Name>Ada</Name><b/></a>", { headers: { "content-type": "text/xml" } })
      const kept = yield* get(xml, { redact: ["Name"] })
      assert.deepStrictEqual(bodyOf(kept), { xml: "<a><Name>[redacted]</Name><b></b></a>" })
    })
  )

  it.live("contains error responses without their bodies, and the requests that follow them", () =>
    Effect.gen(function* () {
      const busy = () =>
        new Response("<html>Too busy", { status: 429, headers: { "content-type": "text/html", "retry-after": "0" } })
      const quoted = { number: "Q-1", premium_cents: 18_900 }
      const { client } = fakeCarrier.make(({ url }, count) => {
        if (url.pathname === "/token") return fakeCarrier.json({ access_token: "tok-hidden", expires_in: 3_600 })
        return count === 2 ? busy() : fakeCarrier.json(quoted)
      })
      const adapter = acme("https://api.acme.example")
      const recording = yield* Cassette.record(client, adapter, connection)
      const asked = yield* CarrierContract.ask(adapter, "renters", facts, { connection, key: "one" }).pipe(
        Effect.provideService(CarrierTransport, recording.transport)
      )
      assert.strictEqual(Result.getOrThrow(asked.answer).kind, "offers")
      const cassette = yield* recording.cassette
      assert.deepStrictEqual(
        cassette.exchanges.map(({ response }) => [response.status, response.body]),
        [
          [429, { text: "" }],
          [200, { json: quoted }]
        ]
      )
      yield* CarrierContract.replay(adapter, "renters", facts, { cassette, key: "one" }).effect
    })
  )

  it.live("is rejected if a connection value that is not secret contains a secret", () =>
    Effect.gen(function* () {
      const { client } = fakeCarrier.make(() => fakeCarrier.json({}))
      const values = { client_id: `broker-7:${secret}`, client_secret: secret, producer: "4711" }
      const recording = yield* Cassette.record(client, acme("https://api.acme.example"), values)
      const { message } = yield* Effect.flip(recording.cassette)
      assert.match(message, /^The value of client_id contains a secret,/)
      assert.notInclude(message, secret)
    })
  )

  it.live("may lack connection values, which are replaced by placeholders", () =>
    Effect.gen(function* () {
      const { base_url, cassette } = yield* recorded
      const [, answers] = replayed(base_url, { ...cassette, connection: {} })
      const error = yield* Effect.flip(answers?.effect ?? Effect.void)
      assert.match(error.message, /The cassette expects a different body, which differs at broker\./)
    })
  )

  const missing: ReadonlyArray<readonly [string, object, (cassette: Cassette.Cassette) => unknown, RegExp]> = [
    [
      "has a different body",
      { size: 80 },
      (cassette) => cassette,
      /^POST \/quotes at 127\.0\.0\.1:\d+: The cassette expects a different body, which differs at size\./
    ],
    [
      "is not recorded",
      {},
      (cassette) => ({ ...cassette, exchanges: cassette.exchanges.filter(({ method }) => method === "GET") }),
      /^POST \/quotes at .*: The cassette does not contain this request\. It expects GET \/quotes\/Q-contract-renters-/
    ],
    [
      "has an omitted answer",
      {},
      ({ exchanges: [first], ...cassette }) => ({
        ...cassette,
        exchanges: [{ ...first, response: { ...first?.response, body: null } }]
      }),
      /^POST \/quotes at .*: The cassette has no answer to this request\. Record the cassette again\./
    ]
  ]
  it.live.each(missing)(
    "makes a contract case fail, and the error names the request that %s",
    ([, more, change, message]) =>
      Effect.gen(function* () {
        const { base_url, cassette } = yield* recorded
        const [, answers] = replayed(base_url, change(cassette), more)
        const error = yield* Effect.flip(answers?.effect ?? Effect.void)
        assert.match(error.message, message)
      })
  )

  it.live("makes a contract case fail even if the adapter catches the error of an unrecorded request", () =>
    Effect.gen(function* () {
      const { base_url, cassette } = yield* recorded
      const adapter = acme(base_url)
      const careless = { ...adapter, ask: () => Effect.succeed(Reply.unavailable("carrier_error")) }
      const caught = {
        ...careless,
        ask: (ask: Parameters<typeof adapter.ask>[0]) => Effect.catchCause(adapter.ask(ask), () => careless.ask())
      }
      const empty = { ...cassette, exchanges: [] }
      const [, answers] = CarrierContract.cases(caught, { renters: facts }, { cassette: empty, connection })
      const error = yield* Effect.flip(answers?.effect ?? Effect.void)
      assert.match(error.message, /It expects no more requests next\./)
    })
  )

  it("is rejected with an explanation if its file is not a cassette", () => {
    assert.throws(() => Cassette.parse({ version: 2, exchanges: [] }), /not a cassette\. .*version: .*recorded_at: /)
    assert.throws(() => CarrierContract.cases(acme("https://a.example"), {}, { cassette: null }), /not a cassette/)
  })
})
