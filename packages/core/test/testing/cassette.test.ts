import { createServer, type IncomingMessage } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
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

/** What the contract has recorded of the carrier's sandbox, which is closed now, and its address. */
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

const replayed = (base_url: string, cassette: unknown, more: object = {}) =>
  CarrierContract.cases(acme(base_url, more), { renters: facts }, { cassette })

describe("a cassette", () => {
  it.live(
    "answers every case of the contract as the sandbox did, without a network and the values of the connection",
    () =>
      Effect.gen(function* () {
        const { base_url, cassette } = yield* recorded
        assert.isAtLeast(cassette.exchanges.length, 5)
        for (const { effect } of replayed(base_url, JSON.parse(Cassette.text(cassette)))) yield* effect
      })
  )

  it.live("is JSON for a review, without facts, tokens, cookies and secrets", () =>
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

  it.live("is refused if a secret is in it that redaction has not found, and the refusal does not repeat it", () =>
    Effect.gen(function* () {
      const { client } = fakeCarrier.make(() => fakeCarrier.json({}))
      const forms = [btoa(secret), "bearer-of-this"]
      for (const form of forms) {
        const recording = yield* Cassette.record(client, { connection: {} }, { client_secret: secret })
        const request = HttpClientRequest.get(`https://api.acme.example/quotes/${form}`).pipe(
          HttpClientRequest.bearerToken("bearer-of-this")
        )
        yield* Effect.flatMap(recording.transport.execute(request), ({ text }) => text)
        const { message } = yield* Effect.flip(recording.cassette)
        assert.match(message, /^A secret is in exchange 1, GET at api\.acme\.example\./)
      }
    })
  )

  it.live("is refused if a value of the connection that is no secret contains one", () =>
    Effect.gen(function* () {
      const { client } = fakeCarrier.make(() => fakeCarrier.json({}))
      const values = { client_id: `broker-7:${secret}`, client_secret: secret, producer: "4711" }
      const recording = yield* Cassette.record(client, acme("https://api.acme.example"), values)
      const { message } = yield* Effect.flip(recording.cassette)
      assert.match(message, /^A secret is in the value of client_id,/)
      assert.notInclude(message, secret)
    })
  )

  it.live("may lack values of the connection: stand-ins take their place", () =>
    Effect.gen(function* () {
      const { base_url, cassette } = yield* recorded
      const [, answers] = replayed(base_url, { ...cassette, connection: {} })
      const error = yield* Effect.flip(answers?.effect ?? Effect.void)
      assert.match(error.message, /The cassette expects another body, which differs at broker\./)
    })
  )

  const missing: ReadonlyArray<readonly [string, object, (cassette: Cassette.Cassette) => unknown, RegExp]> = [
    [
      "has another body",
      { size: 80 },
      (cassette) => cassette,
      /^POST \/quotes at 127\.0\.0\.1:\d+: The cassette expects another body, which differs at size\./
    ],
    [
      "is not on it",
      {},
      (cassette) => ({ ...cassette, exchanges: cassette.exchanges.filter(({ method }) => method === "GET") }),
      /^POST \/quotes at .*: The cassette does not have this request\. Next it expects GET \/quotes\/Q-contract-renters-/
    ],
    [
      "has an answer that was left out",
      {},
      ({ exchanges: [first], ...cassette }) => ({
        ...cassette,
        exchanges: [{ ...first, response: { ...first?.response, body: null } }]
      }),
      /^POST \/quotes at .*: Its answer was not kept/
    ]
  ]
  it.live.each(missing)("fails a case with the request that %s", ([, more, change, message]) =>
    Effect.gen(function* () {
      const { base_url, cassette } = yield* recorded
      const [, answers] = replayed(base_url, change(cassette), more)
      const error = yield* Effect.flip(answers?.effect ?? Effect.void)
      assert.match(error.message, message)
    })
  )

  it.live("fails a case also if the adapter catches what it cannot answer", () =>
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
      assert.match(error.message, /Next it expects nothing more\./)
    })
  )

  it("says what is wrong with a file that is none", () => {
    assert.throws(() => Cassette.parse({ version: 2, exchanges: [] }), /no cassette\. .*version: .*recorded_at: /)
    assert.throws(() => CarrierContract.cases(acme("https://a.example"), {}, { cassette: null }), /no cassette/)
  })
})
