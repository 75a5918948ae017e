import { createHmac, randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { HttpClient, HttpClientError, HttpClientRequest } from "effect/http"
import example from "../../../../examples/rate-plan.json" with { type: "json" }
import type { CarrierAdapter, CarrierCallback, CarrierReply } from "../../src/carriers/Carrier.ts"
import { CarrierTransport } from "../../src/carriers/CarrierTransport.ts"
import { defineCarrier } from "../../src/carriers/defineCarrier.ts"
import * as Reply from "../../src/carriers/Reply.ts"
import { webCryptography } from "../../src/Quotewire.ts"
import { ratePlanCarrier } from "../../src/rating/ratePlanCarrier.ts"
import { fictionalCarriers } from "../../src/sandbox/fictionalCarriers.ts"
import * as CarrierContract from "../../src/testing/CarrierContract.ts"
import { cents } from "../../src/wire/Money.ts"
import { toMillis } from "../../src/wire/Timestamp.ts"
import * as fakeCarrier from "../carriers/fakeCarrier.ts"

/** A person with an e-mail, so that the contract can see where it appears. */
const facts = {
  dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" },
  applicant: { email: "ada@example.com" }
}

/** A carrier's API that needs four seconds for each answer, and knows each quote by its key. */
const slow = fakeCarrier.make(({ body, method, url }) => {
  const answer = method === "GET" ? quoted(url.pathname.split("/").at(-1) ?? "") : accepted(body)
  return Effect.delay(Effect.succeed(fakeCarrier.json(answer)), "4 seconds")
}).client

const accepted = (body: string) => ({ number: `Q-${JSON.parse(body).key}` })
const quoted = (number: string) => ({ number, premium_cents: 18_900 })

const Quote = Schema.Struct({ number: Schema.String, premium_cents: Schema.optionalKey(Schema.Int) })

const replyOf = ({ number, premium_cents }: typeof Quote.Type): CarrierReply =>
  premium_cents === undefined
    ? Reply.pending(number, { poll_after_ms: 2_000 })
    : Reply.offers([{ offer_ref: number, premium: cents(premium_cents), term_months: 12 }])

const sign = (body: Uint8Array) => createHmac("sha256", "key").update(body).digest("hex")

const genuine = (text = '{"number":"Q-1","premium_cents":18900}'): CarrierCallback => {
  const body = new TextEncoder().encode(text)
  return { headers: { signature: sign(body) }, body }
}

/** An adapter that keeps every rule. */
const acme = defineCarrier({
  id: "naic:12345",
  name: "Acme Mutual",
  lines: { renters: { states: ["NY"], wants: ["applicant.email"], mode: "poll", idempotent: true } },
  http: { base_url: "https://api.acme.example" },
  ask: async ({ facts, http, idempotency_key }) => {
    const json = { key: idempotency_key, zip: facts.dwelling.address.zip, email: facts.applicant?.email }
    return replyOf((await http.post("/quotes", { json })).json(Quote))
  },
  poll: async ({ http, ref }) => replyOf((await http.get("/quotes/{ref}", { params: { ref } })).json(Quote)),
  handoff_hosts: ["quotes.acme.example"],
  refresh: async ({ http, offer_ref }) => {
    const { premium_cents = 1 } = (await http.get("/quotes/{ref}", { params: { ref: offer_ref } })).json(Quote)
    return Reply.refreshed("rechecked", { offer_ref, premium: cents(premium_cents) })
  },
  handoff: ({ offer_ref }) => `https://quotes.acme.example/${offer_ref}`,
  callback: ({ headers, raw, text }) => {
    if (headers.signature !== sign(raw)) return null
    const quote = Schema.decodeUnknownSync(Schema.fromJsonString(Quote))(text)
    return { ref: quote.number, reply: replyOf(quote) }
  }
})

const options: CarrierContract.Options = { transport: slow, callback: genuine(), now: toMillis("2026-11-20T12:00:00Z") }

/** The message of a case that fails; null if the adapter keeps the rule. */
const brokenBy = ({ run }: CarrierContract.Case) =>
  run().then(
    () => null,
    (error: unknown) => {
      assert.instanceOf(error, CarrierContract.ContractBroken)
      assert.notInclude(error.message, "ada@example.com")
      return error.message
    }
  )

/** The rules that an adapter breaks, with their messages. */
const allBrokenBy = async (cases: ReadonlyArray<CarrierContract.Case>) => {
  const broken: Array<string> = []
  for (const one of cases) {
    const message = await brokenBy(one)
    if (message !== null) broken.push(`${one.name}: ${message}`)
  }
  return broken
}

/** Sends a request without the client that would abort it, as a handwritten adapter might. */
const post = (body: unknown) =>
  Effect.gen(function* () {
    const request = HttpClientRequest.post("https://api.acme.example/quotes")
    const response = yield* (yield* CarrierTransport).execute(HttpClientRequest.bodyJsonUnsafe(request, body))
    return replyOf(yield* Effect.flatMap(response.json, Schema.decodeUnknownEffect(Quote)))
  })

const offering = (change: Partial<Reply.PartialOffer>) => () =>
  Effect.succeed(Reply.offers([{ offer_ref: "1", premium: cents(100), ...change }]))

const outage = () => Effect.succeed(Reply.unavailable("carrier_error"))
const safely = Effect.catchCause(outage)

describe("the carrier contract", () => {
  it("holds for a correct adapter, and takes no real time", async () => {
    const cases = CarrierContract.cases(acme, { renters: facts }, options)
    assert.deepStrictEqual(
      cases.map(({ name }) => name),
      [
        "declares itself correctly",
        "renters: answers an ask in time, with a valid reply",
        "renters: answers with a valid reply for other facts",
        "renters: answers polls, with a valid reply",
        "renters: gives a repeated ask the same answer",
        "renters: refreshes an offer, with a valid answer",
        "renters: gives a valid link to an offer",
        "renters: stops when it is aborted",
        "renters: answers when the carrier fails",
        "renters: keeps personal facts out of its logs, errors and messages",
        "refuses callbacks that are not genuine",
        "reads a genuine callback"
      ]
    )
    assert.deepStrictEqual(await allBrokenBy(cases), [])
  })

  it("holds for rate plans", async () => {
    assert.deepStrictEqual(await allBrokenBy(CarrierContract.cases(ratePlanCarrier(example), { renters: facts })), [])
  })

  it.live("holds for the fictional carriers, with the examples of all lines", () =>
    Effect.gen(function* () {
      for (const carrier of yield* fictionalCarriers) {
        for (const { effect } of CarrierContract.cases(carrier)) yield* effect
      }
    }).pipe(Effect.provide(webCryptography))
  )

  const answer = "renters: answers an ask in time, with a valid reply"
  const polls = "renters: answers polls, with a valid reply"
  const repeats = "renters: gives a repeated ask the same answer"
  const abort = "renters: stops when it is aborted"
  const trouble = "renters: answers when the carrier fails"
  const privacy = "renters: keeps personal facts out of its logs, errors and messages"
  const refresh = "renters: refreshes an offer, with a valid answer"
  const link = "renters: gives a valid link to an offer"
  const forgery = "refuses callbacks that are not genuine"
  const callback = "reads a genuine callback"

  const mutants: ReadonlyArray<readonly [string, Partial<CarrierAdapter>, string, RegExp]> = [
    [
      "declares a URL as a host",
      { handoff_hosts: ["https://acme.example"] },
      "declares itself correctly",
      /^- handoff_hosts\.0: /m
    ],
    ["answers too late", { ask: () => Effect.never }, answer, /did not answer within 15000 ms/],
    [
      "answers too late and cannot be aborted",
      { ask: () => Effect.uninterruptible(Effect.never) },
      answer,
      /did not answer within 15000 ms/
    ],
    [
      "offers a fraction of a cent",
      { ask: offering({ premium: { amount_minor: 0.5, currency: "USD" } }) },
      answer,
      /^- offers\.0\.premium\.amount_minor: /m
    ],
    [
      "makes an offer with a link to an undeclared host",
      { ask: offering({ handoff_url: "https://evil.example/" }) },
      answer,
      /^- offers\.0\.handoff_url: /m
    ],
    [
      "makes an expired offer",
      { ask: offering({ expires_at: "2026-11-20T11:59:59Z" }) },
      answer,
      /^- offers\.0\.expires_at: /m
    ],
    [
      "never finishes polling",
      { poll: (_, ref) => Effect.succeed(Reply.pending(ref, { poll_after_ms: 0 })) },
      polls,
      /still returns pending/
    ],
    [
      "throws while it is polled",
      { poll: () => Effect.die(new TypeError("ada@example.com")) },
      polls,
      /^poll throws TypeError at .*carrierContract\.test\.ts:\d+:\d+\. /
    ],
    [
      "creates a new quote when an ask is repeated",
      { ask: () => Effect.sync(() => Reply.pending(`Q-${randomUUID()}`, { poll_after_ms: 1 })) },
      repeats,
      /different answers/
    ],
    [
      "sends no idempotency key",
      { ask: () => safely(Effect.as(post({ key: "fix" }), Reply.decline("carrier_notice"))) },
      repeats,
      /No request carries the idempotency_key/
    ],
    [
      "invents an idempotency key",
      { ask: () => safely(Effect.as(post({ key: randomUUID() }), Reply.decline("carrier_notice"))) },
      repeats,
      /No request carries the idempotency_key/
    ],
    [
      "cannot be aborted",
      { ask: ({ idempotency_key: key }) => Effect.uninterruptible(safely(post({ key }))) },
      abort,
      /keeps running after it is aborted/
    ],
    [
      "leaves a request running after it was aborted",
      {
        ask: ({ idempotency_key: key }) => Effect.flatMap(Effect.forkDetach(safely(post({ key }))), () => Effect.never)
      },
      abort,
      /one of its requests is still running/
    ],
    [
      "sends again after it was aborted",
      {
        ask: ({ idempotency_key: key }) =>
          Effect.onInterrupt(safely(post({ key })), () => Effect.forkDetach(Effect.delay(post({ key }), 1_000)))
      },
      abort,
      /then sent another request/
    ],
    [
      "throws when the carrier fails",
      { ask: ({ idempotency_key: key }) => Effect.orDie(post({ key })) },
      trouble,
      /^If the carrier answers .*, ask throws \w+/
    ],
    [
      "logs the e-mail address",
      { ask: ({ facts }) => Effect.as(Effect.logInfo("asked", facts), Reply.decline("carrier_notice")) },
      privacy,
      /in the log\b/
    ],
    [
      "throws an error with the e-mail address",
      { ask: ({ facts }) => Effect.die(new Error(JSON.stringify(facts))) },
      privacy,
      /in what ask throws\b/
    ],
    [
      "repeats the e-mail address in a decline",
      { ask: ({ facts }) => Effect.succeed(Reply.decline("carrier_notice", JSON.stringify(facts))) },
      privacy,
      /in the reply's texts/
    ],
    [
      "refreshes an offer to a zero price",
      { refresh: () => Effect.succeed(Reply.refreshed("rechecked", { offer_ref: "1", premium: cents(0) })) },
      refresh,
      /^- offer\.premium\.amount_minor: /m
    ],
    ["answers a refresh too late", { refresh: () => Effect.never }, refresh, /^refresh did not answer/],
    [
      "returns a handoff link to another host",
      { handoff: () => Effect.succeed("https://evil.example/") },
      link,
      /^- handoff_url: /m
    ],
    [
      "accepts any callback",
      { callback: () => Effect.succeed({ ref: "1", reply: Reply.decline("carrier_notice") }) },
      forgery,
      /accepts an empty body/
    ],
    [
      "verifies only that a signature exists",
      {
        callback: ({ headers }) =>
          Effect.succeed(headers.signature === undefined ? null : { ref: "1", reply: Reply.decline("carrier_notice") })
      },
      forgery,
      /accepts a changed body/
    ],
    [
      "throws for a forged callback",
      { callback: () => Effect.die(new RangeError("no")) },
      forgery,
      /^callback throws RangeError/
    ],
    ["refuses every callback", { callback: () => Effect.succeed(null) }, callback, /must accept the genuine callback/]
  ]
  it.each(mutants)("fails for an adapter that %s", async (_, change, rule, message) => {
    const cases = CarrierContract.cases({ ...acme, ...change }, { renters: facts }, options)
    const one = cases.find(({ name }) => name === rule) ?? assert.fail(rule)
    assert.match((await brokenBy(one)) ?? "kept", message)
  })

  const refusing = HttpClient.make((request) => {
    const cause = Object.assign(new Error("ada@example.com"), { code: "ECONNREFUSED" })
    return Effect.fail(
      new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) })
    )
  })
  const dead: ReadonlyArray<readonly [string, HttpClient.HttpClient, RegExp]> = [
    [
      "refuses connections",
      refusing,
      /POST at api\.acme\.example ended without an answer: TransportError ECONNREFUSED\./
    ],
    [
      "never answers",
      HttpClient.make(() => Effect.never),
      /POST at api\.acme\.example ended without an answer: aborted\./
    ]
  ]
  it.each(dead)("fails every answer rule for a carrier that %s, and explains why", async (_, transport, cause) => {
    const cases = CarrierContract.cases(acme, { renters: facts }, { ...options, transport })
    for (const name of [answer, polls, repeats, refresh, link]) {
      const one = cases.find((one) => one.name === name) ?? assert.fail(name)
      assert.match((await brokenBy(one)) ?? "kept", cause)
    }
  })

  it("reports invalid example facts, a state that is not served, and missing connection values", async () => {
    const said = (facts: unknown, adapter = acme) =>
      CarrierContract.cases(adapter, { renters: facts }, options)[1]
        ?.run()
        .catch(({ message }) => message)
    const elsewhere = { ...facts, dwelling: { ...facts.dwelling, address: { state: "TX", zip: "75001" } } }
    assert.match(await said(elsewhere), /does not serve TX/)
    assert.match(await said({ dwelling: { type: "castle" } }), /not valid.*\n- application\.dwelling\.type: /)
    assert.match(await said(undefined, { ...acme, connection: { api_key: "secret" } }), /^- connection\.api_key: /m)
  })

  it.live("can ask a carrier once, and reports the exchange without secrets", () =>
    Effect.gen(function* () {
      const { client } = fakeCarrier.make(() => fakeCarrier.json({ ...quoted("Q-1"), api_key: "hidden" }))
      const adapter = { ...acme, redact: ["email"] }
      const asked = yield* CarrierContract.ask(adapter, "renters", facts).pipe(
        Effect.provideService(CarrierTransport, client)
      )
      assert.strictEqual(asked.answer._tag, "Success")
      const [http] = asked.http
      assert.deepInclude(http, { method: "POST", host: "api.acme.example", path: "/quotes", status: 200 })
      assert.include(http?.request.body, '"zip":"10001"')
      assert.notMatch(JSON.stringify(asked), /ada@|hidden/)
    })
  )
})
