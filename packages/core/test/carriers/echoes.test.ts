import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Stream } from "effect"
import { HttpClientRequest } from "effect/http"
import { Seal, withSealing } from "../../src/access/sealing/Seal.ts"
import { CarrierTransport } from "../../src/carriers/CarrierTransport.ts"
import { defineCarrier } from "../../src/carriers/defineCarrier.ts"
import * as Auth from "../../src/carriers/http/Auth.ts"
import * as Offer from "../../src/carriers/Offer.ts"
import * as Reply from "../../src/carriers/Reply.ts"
import * as SecretFinder from "../../src/carriers/secrets/SecretFinder.ts"
import { kinds } from "../../src/kinds.ts"
import { renters } from "../../src/lines/renters/line.ts"
import { Asking } from "../../src/quoting/asking/Asking.ts"
import * as OfferRecord from "../../src/quoting/OfferRecord.ts"
import { Storage } from "../../src/storage/Storage.ts"
import * as CarrierContract from "../../src/testing/CarrierContract.ts"
import { World } from "../../src/testing/World.ts"
import { Timelines } from "../../src/timeline/Timelines.ts"
import { secondMs } from "../../src/wire/Timestamp.ts"
import { callbackOf, callingBack, carrier, declined, offer, offers } from "../quoting/carriers.ts"
import { live, pass, read } from "../support/world.ts"
import * as fakeCarrier from "./fakeCarrier.ts"
import { ask, onRecord, testRecorded, testRecordedBy } from "./onRecord.ts"

/*
 * A carrier that repeats the credentials that it was sent.
 */

const token = "tok.Zq7x+Zq7x/4711=="
const key = "k3y-of-the-agency"
const password = "pässword & more"
const basic = Buffer.from(`login:${password}`).toString("base64")

const sent = HttpClientRequest.post("https://api.acme.example/quotes?access_token=t0k-in-query").pipe(
  HttpClientRequest.setHeaders({ "x-api-key": key, cookie: "session=c00kie-of-us" }),
  HttpClientRequest.bodyJsonUnsafe({ client_secret: "s3cret-in-json" })
)
const secrets = [token, key, password, basic, "t0k-in-query", "c00kie-of-us", "s3cret-in-json"]

/** Every secret in the forms in which carriers repeat what they were sent. */
const forms = secrets.flatMap((secret) => [
  secret,
  encodeURIComponent(secret),
  encodeURIComponent(secret).replaceAll(/%../g, (escape) => escape.toLowerCase()),
  JSON.stringify(secret).slice(1, -1),
  secret.replaceAll("&", "&amp;"),
  Buffer.from(secret).toString("base64"),
  Buffer.from(secret).toString("base64url"),
  Buffer.from(`Bearer ${secret}`).toString("base64")
])

const holdsNone = (kept: unknown) => {
  for (const form of forms) assert.notInclude(JSON.stringify(kept), form)
}

/** Sends one request with each credential, and passes the carrier's text on to the person. */
const repeating = carrier(
  "acme",
  () =>
    Effect.gen(function* () {
      const client = yield* CarrierTransport
      const said = yield* Effect.forEach([`Bearer ${token}`, `Basic ${basic}`], (authorization) =>
        Effect.flatMap(
          client.execute(HttpClientRequest.setHeader(sent, "authorization", authorization)),
          ({ text }) => text
        )
      )
      return Reply.decline("prior_claims", said.join())
    }).pipe(Effect.orDie),
  { rest: { keeps_text_bodies: true } }
)

describe("a secret that a carrier repeats", () => {
  for (const [what, body] of [
    ["JSON", JSON.stringify({ forms, [token]: forms.join() })],
    ["text", forms.join("\n")]
  ] as const) {
    testRecorded(
      `is neither stored nor shown if it is repeated in ${what}`,
      Effect.gen(function* () {
        const id = yield* ask()
        const { entries } = yield* Effect.flatMap(Timelines, (timelines) => timelines.read(id, { bodies: true }))
        const exchanges = yield* onRecord()
        assert.isAtLeast(exchanges[0]?.http.length ?? 0, 2)
        assert.include(exchanges[0]?.http[0]?.response?.body, "[redacted]")
        holdsNone([entries, exchanges])
      }),
      repeating,
      {
        answer: () =>
          new Response(body, {
            headers: { "content-type": `text/plain; of=${key}`, "x-request-id": token, date: basic }
          })
      }
    )
  }

  const streaming = carrier(
    "acme",
    () =>
      Effect.gen(function* () {
        const client = yield* CarrierTransport
        const request = HttpClientRequest.bearerToken(HttpClientRequest.get("https://api.acme.example/"), token)
        const response = yield* client.execute(request)
        yield* Effect.ignore(Effect.timeout(Stream.runDrain(response.stream), secondMs))
        return declined
      }).pipe(Effect.orDie),
    { rest: { keeps_text_bodies: true } }
  )
  testRecorded(
    "is not stored if it is split between a stream's chunks, or cut off at the stream's end",
    Effect.gen(function* () {
      yield* ask(2 * secondMs)
      const [exchange] = yield* onRecord()
      assert.strictEqual(exchange?.http[0]?.response?.body, "It is [redacted]. It is [redacted]")
    }),
    streaming,
    {
      answer: () => {
        const chunks = ["It is tok.Zq", "7x+Zq7x/47", "11==. It is tok.Zq7x+Zq7"]
        return new Response(
          new ReadableStream({
            pull: (controller) => {
              const chunk = chunks.shift()
              if (chunk === undefined) return new Promise(() => {})
              controller.enqueue(new TextEncoder().encode(chunk))
              return undefined
            }
          })
        )
      }
    }
  )

  testRecordedBy("is not stored if a callback repeats it", () => {
    const calling = callingBack("acme")
    const tokenFirst = {
      ...calling,
      adapter: {
        ...calling.adapter,
        ask: (asked: Parameters<typeof calling.adapter.ask>[0]) =>
          Effect.gen(function* () {
            const client = yield* CarrierTransport
            yield* client.execute(HttpClientRequest.setHeader(sent, "authorization", `Bearer ${token}`))
            return yield* calling.adapter.ask(asked)
          }).pipe(Effect.orDie)
      }
    }

    return {
      scripted: tokenFirst,
      body: Effect.gen(function* () {
        const id = yield* ask()
        const service = yield* Asking
        const ref = calling.asks[0]?.ask.idempotency_key ?? ""
        assert.isTrue(
          yield* service.callback("acme", callbackOf(ref, Reply.decline("prior_claims", `${token} ${key}`)))
        )
        const exchanges = yield* onRecord()
        assert.include(exchanges[1]?.http[0]?.request.body, "[redacted]")
        const { quote_request } = yield* read(id, live)
        assert.strictEqual(quote_request.carriers[0]?.message, "[redacted] [redacted]")
        holdsNone([exchanges, quote_request])
      })
    }
  })

  for (const secret of secrets) {
    const all = [secret, encodeURIComponent(secret), Buffer.from(secret).toString("base64")].join(" ")
    const handoff_url = `https://carrier.example/?of=${encodeURIComponent(secret)}`
    const said = offer({
      offer_ref: all,
      product: all,
      billing_cycle: all,
      fees: [{ code: all, amount: { amount_minor: 100, currency: "USD" } }],
      conditions: [all],
      subjects: [
        {
          subject_id: "dwelling-1",
          kind: all,
          label: all,
          coverages: [{ code: all, included: true, limit: null, deductible: null }]
        }
      ],
      assumptions: [{ path: all, value: all, source: all, label: all }],
      evidence_label: all,
      handoff_url,
      refresh_after_ms: 60 * secondMs,
      extra_actions: [{ type: "call_agent", hint: all }]
    })
    const offering = carrier(
      "acme",
      () =>
        Effect.gen(function* () {
          const client = yield* CarrierTransport
          for (const authorization of [`Bearer ${token}`, `Basic ${basic}`]) {
            yield* client.execute(HttpClientRequest.setHeader(sent, "authorization", authorization))
          }
          return offers(said)
        }).pipe(Effect.orDie),
      {
        rest: {
          refresh: () => Effect.succeed({ kind: "offer", offer: { ...said, term_months: 6 }, reason: "rechecked" })
        }
      }
    )
    testRecorded(
      `is redacted in an offer's text, but not in its handoff link: ${secret}`,
      Effect.gen(function* () {
        const id = yield* ask()
        const { quotes } = yield* read(id, live)
        assert.include(JSON.stringify(quotes), "[redacted]")
        holdsNone(quotes)
        yield* pass(61 * secondMs)
        const refreshed = (yield* read(id, live)).quotes
        assert.deepStrictEqual(
          refreshed.map(({ version }) => version),
          [2]
        )
        holdsNone(refreshed)
        const storage = withSealing(yield* Storage, yield* Seal, kinds)
        const { organization } = yield* World
        const key = { workspace_id: organization.workspaces.live, id: quotes[0]?.id ?? "" }
        const stored = yield* Effect.fromOption(yield* storage.get({ ...key, kind: OfferRecord.kind.name }))
        const { handoff_url: link, ...rest } = OfferRecord.kind.value(stored)
        assert.strictEqual(link, handoff_url)
        holdsNone(rest)
      }),
      offering
    )
  }

  const hiding = (text: string) => [
    `${text.slice(0, 5)}<b>${text.slice(5)}`,
    `${text.slice(0, 5)}\u200b${text.slice(5)}`,
    `${text.slice(0, 5)}<i \u200b>\u00ad${text.slice(5)}`
  ]
  const sending = Effect.flatMap(CarrierTransport, (client) =>
    client.execute(HttpClientRequest.setHeader(sent, "authorization", `Bearer ${token}`))
  ).pipe(Effect.orDie)
  for (const hidden of [token, key].flatMap(hiding)) {
    const selling = carrier("selling", () =>
      Effect.as(sending, offers(offer({ product: hidden, conditions: [hidden] })))
    )
    const declining = carrier("declining", () => Effect.as(sending, Reply.decline("prior_claims", hidden)))
    const asking = carrier("asking", () => Effect.as(sending, Reply.question({ path: hidden, label: hidden })))
    testRecorded(
      `is redacted for callers even if it is disguised: ${JSON.stringify(hidden)}`,
      Effect.gen(function* () {
        const id = yield* ask()
        const { quote_request, quotes } = yield* read(id, live)
        const result = (of: string) => quote_request.carriers.find(({ carrier }) => carrier.id === of)
        assert.strictEqual(quotes[0]?.source.product, "[redacted]")
        assert.strictEqual(result("declining")?.message, "[redacted]")
        assert.deepStrictEqual(result("asking")?.missing_facts, ["[redacted]"])
        holdsNone([quote_request, quotes])
      }),
      [selling, declining, asking]
    )
  }

  it.effect("is redacted in the answer that CarrierContract.ask returns", () =>
    Effect.gen(function* () {
      const acme = defineCarrier({
        id: "naic:12345",
        name: "Acme Mutual",
        lines: { renters: { states: ["NY"] } },
        connection: { user: "string", password: "secret" },
        http: { base_url: "https://api.acme.example", auth: Auth.basic({ user: "user", password: "password" }) },
        ask: async ({ http }) => Reply.offers([{ offer_ref: (await http.get("/quote")).text }])
      })
      const { client } = fakeCarrier.make(({ headers }) => new Response(`${password} ${headers.get("authorization")}`))
      const facts = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }
      const asked = yield* CarrierContract.ask(acme, "renters", facts, {
        connection: { user: "login", password }
      }).pipe(Effect.provideService(CarrierTransport, client))
      assert.include(JSON.stringify(asked.answer), "[redacted]")
      holdsNone(asked)
    })
  )
})

describe("an action's link", () => {
  const check = (url: string) =>
    Offer.check(offer({ extra_actions: [{ type: "read_terms", url }] }), {
      line: renters,
      state: "TX",
      subject_ids: new Set(),
      handoff_hosts: ["carrier.example"],
      secrets: SecretFinder.make(secrets),
      now: 0
    })

  it("invalidates the offer if it repeats a secret in any form", () => {
    assert.isTrue(Result.isSuccess(check("https://carrier.example/terms?of=renters")))
    for (const form of forms) {
      const refused = check(`https://carrier.example/terms?access_token=${encodeURIComponent(form)}`)
      assert.include(
        Result.isFailure(refused) ? refused.failure.map(({ message }) => message) : [],
        "Must not repeat a secret."
      )
    }
  })
})
