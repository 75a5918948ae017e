import { assert, describe } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { HttpClientError, HttpClientRequest, HttpClientResponse } from "effect/http"
import type { CarrierReply } from "../../src/carriers/Carrier.ts"
import { CarrierTransport } from "../../src/carriers/CarrierTransport.ts"
import { defineCarrier } from "../../src/carriers/defineCarrier.ts"
import * as Reply from "../../src/carriers/Reply.ts"
import { Asking } from "../../src/quoting/asking/Asking.ts"
import { dollars } from "../../src/wire/Money.ts"
import * as FakeCarrier from "../carriers/fakeCarrier.ts"
import { onRecord } from "../carriers/onRecord.ts"
import { beginning, live, outcomes, pass, start, testInWorld, work } from "../support/world.ts"
import { callbackOf, callingBack, carrier, carriers, offer, offers, prompt } from "./carriers.ts"
import { answers, type Failing, Priced, thrown, withCode } from "./failing.ts"
import { logOf, single } from "./log.ts"

const request = HttpClientRequest.get("https://api.acme.example")

/**
 * Without its own reason, an ask ends as a poll does. An ask that would be retried, but must not be repeated, ends
 * as `carrier_error`.
 */
const failures: ReadonlyArray<Failing<() => Effect.Effect<CarrierReply>>> = [
  ["throws a TypeError", thrown(new TypeError("no")), "carrier_error"],
  ["ends with a defect", () => Effect.die("no"), "carrier_error"],
  ["throws an InvalidMoney", () => Effect.sync(() => offers(offer({ premium: dollars(10 / 3) }))), "unreadable_answer"],
  [
    "offers a fraction of a cent",
    () => Effect.succeed(offers(offer({ premium: { amount_minor: 0.5, currency: "USD" } }))),
    "unreadable_answer"
  ],
  ["offers a term of five months", () => Effect.succeed(offers(offer({ term_months: 5 }))), "unreadable_answer"],
  ["makes no offer", () => Effect.succeed({ kind: "offers", offers: [] }), "unreadable_answer"],
  // A JavaScript program can return this.
  ["returns no reply", () => Effect.succeed(JSON.parse("{}")), "unreadable_answer"],
  ["reports an unreadable answer", () => Effect.succeed(Reply.unavailable("unreadable_answer")), "unreadable_answer"],
  ["reports a permanent failure", () => Effect.succeed(Reply.failed("maintenance")), "maintenance"],
  ["waits for a callback without a callback function", () => Effect.succeed(Reply.pending("r")), "unreadable_answer"],
  ["returns a decline", () => Effect.succeed(Reply.decline("prior_claims")), "prior_claims"],
  ["never answers", () => Effect.never, null],
  ["reports a timeout", () => Effect.succeed(Reply.unavailable("timeout")), null],
  ["reports a carrier error", () => Effect.succeed(Reply.unavailable("carrier_error")), null],
  ["reports a rate limit", () => Effect.succeed(Reply.unavailable("rate_limited", 5_000)), null],
  ["reports that the carrier is closed", () => Effect.succeed(Reply.unavailable("maintenance")), null, "maintenance"],
  ["loses the connection in a custom client", withCode("ECONNRESET"), null],
  ["fails to resolve the name in a custom client", withCode("EAI_AGAIN"), null],
  ["throws its own timeout error", thrown(Object.assign(new Error("no"), { name: "TimeoutError" })), null],
  [
    "cannot reach the carrier through Effect's client",
    thrown(new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request }) })),
    null
  ],
  [
    "gets a permanent error status through Effect's client",
    () =>
      Effect.die(
        new HttpClientError.HttpClientError({
          reason: new HttpClientError.StatusCodeError({
            request,
            response: HttpClientResponse.fromWeb(request, new Response(null, { status: 400 }))
          })
        })
      ),
    "carrier_error"
  ]
]

/** A carrier that accepts an ask, fails its first poll in this way, and would answer the next poll. */
const failingOnce = (poll: () => Effect.Effect<CarrierReply>) => {
  let count = 0
  const scripted = prompt(
    "polled",
    { kind: "pending", ref: "r", poll_after_ms: 2_000 },
    { rest: { poll: () => (++count === 1 ? poll() : Effect.succeed(offers())) } }
  )
  return { ...scripted, polls: () => count }
}

describe("a poll", () => {
  for (const [what, poll, reason] of failures) {
    testInWorld(`${reason === null ? "is retried" : "is not retried"} if the adapter ${what}`, () => {
      const scripted = failingOnce(poll)
      return {
        ...carriers(scripted),
        body: Effect.gen(function* () {
          yield* work
          const { id } = yield* start({}, live)
          yield* pass(3_000)
          const outcome = reason === "prior_claims" ? "declined" : "no_answer"
          const after = reason === null ? "polled pending" : `polled ${outcome} ${reason}`
          assert.deepStrictEqual(yield* outcomes(id), [after])
          for (let seconds = 0; seconds < 40; seconds += 5) yield* pass(5_000)
          assert.deepStrictEqual(yield* outcomes(id), [reason === null ? "polled quoted" : after])
          assert.strictEqual(scripted.polls(), reason === null ? 2 : 1)
        })
      }
    })
  }

  testInWorld("ends with the failure's reason if it cannot be retried before the deadline", () => {
    const closed = prompt(
      "polled",
      { kind: "pending", ref: "r", poll_after_ms: 2_000 },
      { rest: { poll: () => Effect.succeed(Reply.unavailable("maintenance", 600_000)) } }
    )
    return {
      ...carriers(closed),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(3_000)
        assert.deepStrictEqual(yield* outcomes(id), ["polled no_answer maintenance"])
      })
    }
  })
})

describe("a poll over HTTP", () => {
  for (const [what, script, reason] of answers) {
    const acme = defineCarrier({
      id: "naic:12345",
      name: "Acme Mutual",
      lines: { renters: { states: ["NY"], mode: "poll", attempt_timeout_ms: 5_000 } },
      http: { base_url: "https://api.acme.example" },
      ask: () => Reply.pending("r", { poll_after_ms: 2_000 }),
      poll: async ({ http }) =>
        Reply.offers([{ offer_ref: "1", premium: (await http.get("/quotes")).json(Priced).premium, term_months: 12 }])
    })
    testInWorld(`${reason === null ? "is retried" : "fails permanently"} if it gets ${what}`, () => {
      let failed = false
      const { client } = FakeCarrier.make((got, count) => {
        if (got.method === "POST") return FakeCarrier.json({})
        if (failed) return FakeCarrier.json({ premium: "1,171.10" })
        return script(got, count)
      })
      return {
        carriers: [acme],
        body: Effect.provideService(
          Effect.gen(function* () {
            yield* work
            const { id } = yield* start({}, live)
            yield* pass(2_000)
            for (let seconds = 0; seconds < 6; seconds++) yield* pass(1_000)
            failed = true
            const after = reason === null ? "naic:12345 pending" : `naic:12345 no_answer ${reason}`
            assert.deepStrictEqual(yield* outcomes(id), [after])
            for (let seconds = 0; seconds < 40; seconds += 5) yield* pass(5_000)
            assert.deepStrictEqual(yield* outcomes(id), [reason === null ? "naic:12345 quoted" : after])
          }),
          CarrierTransport,
          client
        )
      }
    })
  }
})

/** The outcomes of an ask that fails in this way: if the carrier recognizes repeats, and if it does not. */
const endsOf = (reason: string | null, once: string) => ({
  idempotent: reason === null ? "quoted" : reason === "prior_claims" ? `declined ${reason}` : `no_answer ${reason}`,
  other: `${reason === "prior_claims" ? "declined" : "no_answer"} ${reason ?? once}`
})

describe("an ask", () => {
  for (const [what, call, polled, asked] of failures) {
    const reason = asked ?? polled
    const isLimited = what === "reports a rate limit"
    const { idempotent, other } = endsOf(reason, /never|reports a timeout/.test(what) ? "timeout" : "carrier_error")
    for (const recognizes of [true, false]) {
      const again = reason === null && (recognizes || isLimited)

      testInWorld(
        `${again ? "is retried once" : "is not retried"} if the adapter ${what} and the carrier ${recognizes ? "is" : "is not"} idempotent`,
        () => {
          const scripted = carrier("asked", (_, nth) => (nth === 1 ? call() : Effect.succeed(offers())), {
            idempotent: recognizes,
            attempt_timeout_ms: 5_000
          })
          return {
            ...carriers(scripted),
            body: Effect.gen(function* () {
              yield* work
              const { id } = yield* start({}, live)
              for (let seconds = 0; seconds < 15; seconds++) yield* pass(1_000)
              assert.deepStrictEqual(yield* outcomes(id), [
                `asked ${again ? "quoted" : recognizes ? idempotent : other}`
              ])
              assert.lengthOf(scripted.asks, again ? 2 : 1)
            })
          }
        }
      )
    }
  }

  for (const recognizes of [true, false]) {
    testInWorld(
      `${recognizes ? "is" : "is not"} retried when the carrier reopens if the carrier ${recognizes ? "is" : "is not"} idempotent`,
      () => {
        const scripted = carrier(
          "asked",
          (_, nth) => Effect.succeed(nth === 1 ? Reply.unavailable("maintenance", 5_000) : offers()),
          { idempotent: recognizes }
        )
        return {
          ...carriers(scripted),
          body: Effect.gen(function* () {
            yield* work
            const { id } = yield* start({}, live)
            for (let seconds = 0; seconds < 15; seconds++) yield* pass(1_000)
            assert.deepStrictEqual(yield* outcomes(id), [`asked ${recognizes ? "quoted" : "no_answer maintenance"}`])
            assert.deepStrictEqual(
              scripted.asks.map(({ at }) => at - beginning),
              recognizes ? [0, 5_000] : [0]
            )
          })
        }
      }
    )
  }
})

describe("an ask over HTTP", () => {
  for (const [what, script, polled, asked] of answers) {
    const reason = asked ?? polled
    const { idempotent, other } = endsOf(reason, what === "no response" ? "timeout" : "carrier_error")
    for (const recognizes of [true, false]) {
      const acme = defineCarrier({
        id: "naic:12345",
        name: "Acme Mutual",
        lines: { renters: { states: ["NY"], idempotent: recognizes, attempt_timeout_ms: 5_000 } },
        http: { base_url: "https://api.acme.example" },
        ask: async ({ http }) =>
          Reply.offers([{ offer_ref: "1", premium: (await http.get("/quotes")).json(Priced).premium, term_months: 12 }])
      })
      testInWorld(
        `${reason === null && recognizes ? "is retried" : "fails permanently"} if it gets ${what} and the carrier ${recognizes ? "is" : "is not"} idempotent`,
        () => {
          let fails = true
          const { client } = FakeCarrier.make((got, count) =>
            fails ? script(got, count) : FakeCarrier.json({ premium: "1,171.10" })
          )
          return {
            carriers: [acme],
            body: Effect.provideService(
              Effect.gen(function* () {
                yield* work
                const { id } = yield* start({}, live)
                // Within this time both retries happen: first that of the HTTP client, then that of the ask.
                for (let tenths = 0; tenths < 4; tenths++) yield* pass(100)
                fails = false
                for (let seconds = 0; seconds < 15; seconds++) yield* pass(1_000)
                assert.deepStrictEqual(yield* outcomes(id), [`naic:12345 ${recognizes ? idempotent : other}`])
              }),
              CarrierTransport,
              client
            )
          }
        }
      )
    }
  }
})

const callbacks: ReadonlyArray<readonly [string, CarrierReply, string]> = [
  ["a fraction of a cent", offers(offer({ premium: { amount_minor: 0.5, currency: "USD" } })), "unreadable_answer"],
  ["a term of five months", offers(offer({ term_months: 5 })), "unreadable_answer"],
  ["an unreadable answer", Reply.unavailable("unreadable_answer"), "unreadable_answer"],
  ["a carrier error", Reply.unavailable("carrier_error"), "carrier_error"]
]

describe("a genuine callback", () => {
  for (const [what, reply, reason] of callbacks) {
    testInWorld(`ends the ask immediately if it contains ${what}`, () => {
      const scripted = callingBack("calls")
      return {
        ...carriers(scripted),
        body: Effect.gen(function* () {
          yield* work
          const { id } = yield* start({}, live)
          yield* pass(1_000)
          const service = yield* Asking
          assert.isTrue(yield* service.callback("calls", callbackOf("no. 1", reply)))
          assert.deepStrictEqual(yield* outcomes(id), [`calls no_answer ${reason}`])
          assert.isBelow((yield* Clock.currentTimeMillis) - beginning, 10_000)
        })
      }
    })
  }

  const throwing = callingBack("calls", { rest: { callback: thrown(new TypeError("no")) } })
  testInWorld(
    "is refused if the adapter throws, and the carrier may call again",
    Effect.gen(function* () {
      yield* work
      const { id } = yield* start({}, live)
      yield* pass(1_000)
      const service = yield* Asking
      assert.isFalse(yield* service.callback("calls", callbackOf("no. 1", offers())))
      assert.deepStrictEqual(yield* outcomes(id), ["calls pending"])
    }),
    carriers(throwing)
  )
})

describe("a price that is not an amount of money", () => {
  const computing = defineCarrier({
    id: "naic:12345",
    name: "Acme Mutual",
    lines: { renters: { states: ["NY"] } },
    ask: () => Reply.offers([{ offer_ref: "1", premium: dollars(10 / 3) }])
  })
  testInWorld(
    "causes a log entry with the broken rule and the location in the adapter",
    Effect.gen(function* () {
      let id = ""
      const lines = yield* logOf(
        Effect.gen(function* () {
          yield* work
          id = (yield* start({}, live)).id
          yield* pass(10)
        })
      )
      assert.deepStrictEqual(yield* outcomes(id), ["naic:12345 no_answer unreadable_answer"])
      const line = single(lines, "Dropped a carrier's answer that breaks the rules")
      assert.match(
        String(line.annotations.broken_rules),
        /^Money\.dollars needs an amount of money\. Must be whole cents/
      )
      assert.deepInclude(line.annotations, { carrier_id: "naic:12345", quote_request_id: id })
      const [exchange] = yield* onRecord()
      assert.deepStrictEqual(
        exchange?.broken_rules.map(({ message }) => message),
        [String(line.annotations.broken_rules)]
      )
      assert.match(line.cause, /failures\.test\.ts:\d+:\d+/)
    }),
    { carriers: [computing] }
  )
})
