import { createHmac } from "node:crypto"
import { assert, describe, it, vi } from "@effect/vitest"
import { type Carrier, type CarrierDefinition, embed, type InputOf } from "@quotewire/core"
import { MemoryStorage } from "@quotewire/storage-memory"
import { callbacks } from "../examples/carriers/callbacks.ts"
import { jsonPolls } from "../examples/carriers/json-polls.ts"
import { receiveCallbacks } from "../examples/carriers/receiver.ts"
import { type PracticeOptions, startCarrier, weathers } from "../examples/carriers/server.ts"
import { xml } from "../examples/carriers/xml.ts"

/*
 * The adapters of examples/carriers against the carrier to practise on, over real sockets. The clock of the sandbox skips the
 * waits between an ask, its repeat and its polls.
 */

const callback_secret = "a secret that both sides know"

type Terms = Partial<CarrierDefinition.LineTerms>
type Application = Extract<InputOf<"start_quote_request">, { readonly line: "renters" }>["application"]

const application: Application = { dwelling: { address: { state: "NY", zip: "10001" }, type: "apartment" } }

/** A service with one of the adapters, and its carrier. Everything is closed after the test. */
const serve = async (
  adapterAt: (base_url: string, terms?: Terms) => Carrier.CarrierAdapter,
  { terms = {}, ...options }: Partial<PracticeOptions> & { readonly terms?: Terms } = {}
) => {
  await using closing = new AsyncDisposableStack()
  const carrier = closing.adopt(
    await startCarrier({ callback_secret, retry_after_seconds: 0, slow_ms: 50, ...options }),
    (carrier) => carrier.close()
  )
  const adapter = adapterAt(carrier.url, terms)
  const quotewire = closing.adopt(
    embed({ storage: MemoryStorage.layer, carriers: [adapter], fictional_carriers: false }),
    (quotewire) => quotewire.close()
  )
  const receiver = closing.adopt(await receiveCallbacks(quotewire), (receiver) => receiver.close())
  const callback_url = receiver.urlFor(adapter.carrier.id)
  carrier.callBackTo(callback_url)

  const { id: organization_id } = await quotewire.createOrganization("Acme")
  const environment = "sandbox"
  const values = { client_id: "acme", client_secret: "a secret of Acme's" }
  await quotewire.setConnection({ organization_id, environment, carrier_id: adapter.carrier.id, values })
  const { key } = await quotewire.createKey({ organization_id, environment, kind: "server" })
  const client = quotewire.client(key)
  let count = 0

  const start = async (facts: Partial<Application> = {}) => {
    count += 1
    const { id } = await client.start_quote_request({
      line: "renters",
      request_key: `request-${count}`,
      consent_receipt_id: "receipt-0001",
      application: { ...application, ...facts }
    })
    return id
  }

  /** What the carrier's part of a request has come to: the premium in cents, or the reason. */
  const resultOf = async (id: string) => {
    const { quote_request, quotes } = await client.get_quote_request({ id, wait_seconds: 0 })
    const [result] = quote_request.carriers
    return [result?.outcome, quotes[0]?.price.premium?.amount_minor ?? result?.reason]
  }

  const close = closing.move()
  return {
    carrier,
    callback_url,
    start,
    resultOf,
    /** Waits until a request has ended. */
    ended: async (id: string) => {
      let { status, version } = (await client.get_quote_request({ id, wait_seconds: 0 })).quote_request
      while (status === "in_progress") {
        const read = await client.get_quote_request({ id, since_version: version, wait_seconds: 10 })
        ;({ status, version } = read.quote_request)
      }
      return resultOf(id)
    },
    /** Runs what is due until this many seconds from now. */
    skip: async (seconds: number) => {
      count += 1
      await client.advance_time({ seconds }, { idempotency_key: `advance-${count}` })
    },
    [Symbol.asyncDispose]: () => close.disposeAsync()
  }
}

const adapters = [
  {
    name: "json-polls.ts",
    at: jsonPolls,
    premium: 18_000,
    refused: { facts: { household: { dog_with_bite_history: true } }, reason: "risk_outside_guidelines" }
  },
  {
    name: "xml.ts",
    at: xml,
    premium: 19_000,
    refused: { facts: { household: { claims_last_5_years: 3 } }, reason: "prior_claims" }
  },
  {
    name: "callbacks.ts",
    at: (base_url: string, terms?: Terms) => callbacks(base_url, callback_secret, terms),
    premium: 17_500,
    refused: {
      facts: { dwelling: { ...application.dwelling, short_term_rental: true } },
      reason: "property_not_eligible"
    }
  }
] as const

/** How often the carrier gave a status. */
const countOf = (log: ReadonlyArray<string>, status: number) => log.filter((line) => line.endsWith(` ${status}`)).length

describe.each(adapters)("the example carrier $name", ({ name, at, premium, refused }) => {
  // Rating at once keeps real time out of all tests but that of the polls.
  const at_once = { reads_until_rated: 0 }

  it("brings the carrier's price", async () => {
    await using service = await serve(at, at_once)
    assert.deepStrictEqual(await service.ended(await service.start()), ["quoted", premium])
  })

  it("brings the carrier's refusal with its reason", async () => {
    await using service = await serve(at, at_once)
    assert.deepStrictEqual(await service.ended(await service.start(refused.facts)), ["declined", refused.reason])
  })

  it("goes on with a new token when its token ends early", async () => {
    await using service = await serve(at, at_once)
    service.carrier.turn("token_ends")
    for (const _ of [1, 2]) assert.deepStrictEqual(await service.ended(await service.start()), ["quoted", premium])
    assert.isAtLeast(countOf(service.carrier.log, 401), 1)
  })

  it("asks again after a 429 with Retry-After", async () => {
    await using service = await serve(at, at_once)
    service.carrier.turn("busy")
    assert.deepStrictEqual(await service.ended(await service.start()), ["quoted", premium])
    assert.strictEqual(countOf(service.carrier.log, 429), 1)
  })

  it("outlasts a burst of 503", async () => {
    await using service = await serve(at, at_once)
    service.carrier.turn("burst")
    assert.deepStrictEqual(await service.ended(await service.start()), ["quoted", premium])
    assert.strictEqual(countOf(service.carrier.log, 503), 3)
  })

  it("says maintenance when the carrier is closed for an hour", async () => {
    await using service = await serve(at, at_once)
    service.carrier.turn("maintenance")
    assert.deepStrictEqual(await service.ended(await service.start()), ["no_answer", "maintenance"])
  })

  it("waits for slow answers", async () => {
    await using service = await serve(at, at_once)
    service.carrier.turn("slow")
    assert.deepStrictEqual(await service.ended(await service.start()), ["quoted", premium])
  })

  it("says unreadable_answer when the carrier answers garbage", async () => {
    await using service = await serve(at, at_once)
    service.carrier.turn("garbage")
    assert.deepStrictEqual(await service.ended(await service.start()), ["no_answer", "unreadable_answer"])
  })

  it("drops an answer that comes after the request has ended", async () => {
    // Only the answer in one step is waited for within an attempt.
    await using service = await serve(at, { terms: name === "xml.ts" ? { attempt_timeout_ms: 50 } : {} })
    service.carrier.turn("late")
    const id = await service.start()
    await service.skip(90)
    assert.deepStrictEqual(await service.ended(id), ["no_answer", "timeout"])
    const statuses = await service.carrier.release()
    assert.deepStrictEqual(statuses, name === "callbacks.ts" ? [204] : [])
    assert.deepStrictEqual(await service.resultOf(id), ["no_answer", "timeout"])
  })
})

describe("the example carrier json-polls.ts", () => {
  it("polls until the carrier has rated the quote", async () => {
    await using service = await serve(jsonPolls, { reads_until_rated: 3 })
    const id = await service.start()
    await service.skip(30)
    assert.deepStrictEqual(await service.ended(id), ["quoted", 18_000])
    assert.strictEqual(service.carrier.log.filter((line) => line === "GET /json/quotes/Q-1 200").length, 3)
  })
})

describe("the example carrier callbacks.ts", () => {
  const adapterAt = (base_url: string, terms?: Terms) => callbacks(base_url, callback_secret, terms)

  /** Sends a callback of our own, and gives the status of its answer. */
  const send = async (url: string, decision: unknown, secret: string) => {
    const body = JSON.stringify(decision)
    const signature = createHmac("sha256", secret).update(body).digest("hex")
    return (await fetch(url, { method: "POST", body, headers: { "x-signature": `sha256=${signature}` } })).status
  }

  it("takes a decision only from the carrier", async () => {
    await using service = await serve(adapterAt)
    service.carrier.turn("late")
    const id = await service.start()
    // Due jobs run before the clock moves, so the carrier has the application.
    await service.skip(1)
    const decision = { application_number: "APP-1", decision: "accepted", annual_premium_cents: 1 }
    assert.strictEqual(await send(service.callback_url, decision, "guessed"), 404)
    assert.deepStrictEqual(await service.resultOf(id), ["pending", null])
    assert.strictEqual(await send(service.callback_url, decision, callback_secret), 204)
    assert.deepStrictEqual(await service.resultOf(id), ["quoted", 1])
  })

  it("says unreadable_answer when the carrier signs garbage", async () => {
    await using service = await serve(adapterAt)
    service.carrier.turn("late")
    const id = await service.start()
    await service.skip(1)
    const garbage = { application_number: "APP-1", decision: "perhaps" }
    assert.strictEqual(await send(service.callback_url, garbage, callback_secret), 204)
    assert.deepStrictEqual(await service.resultOf(id), ["no_answer", "unreadable_answer"])
  })

  it("asks the carrier to send a callback again that nothing has asked for yet", async () => {
    await using service = await serve(adapterAt)
    const decision = { application_number: "APP-7", decision: "refused" }
    assert.strictEqual(await send(service.callback_url, decision, callback_secret), 503)
  })
})

describe("the carrier to practise on", () => {
  it("changes its weather over HTTP, and lists what there is", async () => {
    const carrier = await startCarrier({ callback_secret })
    try {
      const turn = (weather: string) => fetch(`${carrier.url}/weather/${weather}`, { method: "PUT" })
      assert.deepStrictEqual(await (await turn("maintenance")).json(), { weather: "maintenance" })
      const unknown = await turn("sunny")
      assert.deepStrictEqual([unknown.status, await unknown.json()], [404, { weathers }])
      assert.strictEqual((await fetch(`${carrier.url}/xml`, { method: "POST" })).status, 401)
    } finally {
      await carrier.close()
    }
  })

  it("is tried by a program that prints three prices in each environment, and what happened", async () => {
    const lines: Array<string> = []
    const log = vi.spyOn(console, "log").mockImplementation((...parts) => void lines.push(parts.join(" ")))
    try {
      await import("../examples/carriers/try.ts")
    } finally {
      log.mockRestore()
    }
    assert.deepStrictEqual(
      lines.slice(0, 6),
      ["sandbox", "live"].flatMap((environment) => [
        `${environment}: Angle Bracket Insurance 19000`,
        `${environment}: Ringback General 17500`,
        `${environment}: Stepwise Mutual 18000`
      ])
    )
    for (const exchange of ["poll naic:10001 offers", "ask naic:10002 offers", "callback naic:10003 offers"]) {
      assert.isTrue(
        lines.some((line) => line.includes(exchange)),
        exchange
      )
    }
  })
})
