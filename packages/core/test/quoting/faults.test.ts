import { assert, describe } from "@effect/vitest"
import { NodeCrypto } from "@quotewire/http"
import { Effect, Layer } from "effect"
import { TextCrypto } from "../../src/access/sealing/TextCrypto.ts"
import { OnFinishedCall } from "../../src/calls/FinishedCall.ts"
import type { Revision, Served } from "../../src/calls/Revision.ts"
import type { CarrierAsk } from "../../src/carriers/Carrier.ts"
import { Asking } from "../../src/quoting/asking/Asking.ts"
import { WebhookSender } from "../../src/webhooks/WebhookSender.ts"
import { minuteMs } from "../../src/wire/Timestamp.ts"
import { list, live, outcomes, pass, read, refusal, runDue, start, testInWorld, work } from "../support/world.ts"
import { create } from "../webhooks/support.ts"
import { callbackOf, callingBack, carriers, offer, offers, prompt, type ScriptedCarrier } from "./carriers.ts"
import { logOf, logOfRequest, single } from "./log.ts"

const crashed = "A carrier's adapter failed"
const refused = "Dropped a carrier's answer that breaks the rules"

/** An error whose message repeats everything that the adapter was given. */
const telling = (ask: CarrierAsk) => new TypeError(`cannot price ${JSON.stringify(ask.facts)}`)

const identified = {
  line: "renters",
  application: {
    applicant: { first_name: "Ada", last_name: "Lovelace", date_of_birth: "1985-12-10", email: "ada@lovelace.example" },
    dwelling: {
      address: { line1: "12 Analytical Way", city: "New York", state: "NY", zip: "10001" },
      type: "apartment"
    }
  }
} as const
const facts = /Ada|Lovelace|lovelace|1985-12|Analytical|\b10001\b|apartment/

const needs = ["applicant.first_name", "applicant.last_name", "applicant.email", "dwelling.address.line1"]

describe("the log entry for a failed `ask`", () => {
  const failures: ReadonlyArray<readonly [string, (ask: CarrierAsk) => Effect.Effect<never>, RegExp]> = [
    [
      "throws",
      (ask) => {
        throw telling(ask)
      },
      /^TypeError/
    ],
    ["rejects a promise", (ask) => Effect.promise(() => Promise.reject(telling(ask))), /^TypeError/],
    ["ends with a defect", (ask) => Effect.die(telling(ask)), /^TypeError/],
    [
      "throws an error whose cause has a code",
      (ask) =>
        Effect.sync(() => {
          const inner = Object.assign(telling(ask), { code: "ECONNREFUSED" })
          throw new Error(`fetch failed for ${JSON.stringify(ask.facts)}`, { cause: inner })
        }),
      /^Error[\s\S]*TypeError: ECONNREFUSED/
    ]
  ]
  for (const [how, ask, error] of failures) {
    testInWorld(`names the error and its location, but no facts, if the adapter ${how}`, () => {
      const broken = prompt("broken", offers(), { needs, idempotent: false, rest: { ask } })
      return {
        ...carriers(broken),
        body: Effect.gen(function* () {
          const { id, lines } = yield* logOfRequest(identified)
          const line = single(lines, crashed)
          assert.deepInclude(line.annotations, { carrier_id: "broken", quote_request_id: id })
          assert.match(line.cause, error)
          assert.match(line.cause, /at .*faults\.test\.ts:\d+:\d+/)
          assert.notMatch(JSON.stringify(lines), facts)
        })
      }
    })
  }

  const thrown = prompt("broken", offers(), { idempotent: false, rest: { ask: (ask) => Effect.die(ask.facts) } })
  testInWorld(
    "says only that an object was thrown if the adapter throws the facts",
    Effect.gen(function* () {
      const { lines } = yield* logOfRequest(identified)
      assert.strictEqual(single(lines, crashed).cause, "object: message omitted")
      assert.notMatch(JSON.stringify(lines), facts)
    }),
    carriers(thrown)
  )
})

describe("an adapter's log entries", () => {
  const throwing = () => {
    throw new RangeError("no")
  }
  const elsewhere: ReadonlyArray<readonly [string, number, ScriptedCarrier]> = [
    [
      "poll",
      3_000,
      prompt("broken", { kind: "pending", ref: "r", poll_after_ms: 2_000 }, { rest: { poll: throwing } })
    ],
    [
      "refresh",
      2 * minuteMs,
      prompt("broken", offers(offer({ refresh_after_ms: minuteMs })), { rest: { refresh: throwing } })
    ]
  ]
  for (const [where, millis, broken] of elsewhere) {
    testInWorld(
      `name the carrier, request, error and location of a failure in \`${where}\``,
      Effect.gen(function* () {
        const { id, lines } = yield* logOfRequest({}, millis)
        const line = single(lines, crashed)
        assert.deepInclude(line.annotations, { carrier_id: "broken", quote_request_id: id })
        assert.match(line.cause, /^RangeError: message omitted\n +at .*faults\.test\.ts:\d+:\d+/)
      }),
      carriers(broken)
    )
  }

  testInWorld(
    "name the carrier, error and location of a failure in `callback`",
    Effect.gen(function* () {
      const service = yield* Asking
      const lines = yield* logOf(service.callback("broken", callbackOf("r", offers())))
      const line = single(lines, crashed)
      assert.deepInclude(line.annotations, { carrier_id: "broken" })
      assert.match(line.cause, /^RangeError: message omitted\n +at .*faults\.test\.ts:\d+:\d+/)
    }),
    carriers(callingBack("broken", { rest: { callback: throwing } }))
  )

  const speaking = prompt("speaking", offers(), {
    rest: { ask: () => Effect.as(Effect.logInfo("the carrier's own words"), offers()) }
  })
  testInWorld(
    "name the carrier and the request if the adapter itself writes them",
    Effect.gen(function* () {
      const { lines } = yield* logOfRequest()
      const { annotations } = single(lines, "the carrier's own words")
      assert.strictEqual(annotations.carrier_id, "speaking")
      assert.match(String(annotations.quote_request_id), /^qreq_/)
    }),
    carriers(speaking)
  )
})

describe("the log entry for a refused answer", () => {
  const money = (amount_minor: number) => ({ amount_minor, currency: "USD" }) as const
  const subject = { subject_id: "vehicle-9", kind: "vehicle", label: null, coverages: [] }
  const rules: ReadonlyArray<readonly [string, unknown, string]> = [
    [
      "a zero premium",
      offers(offer(), offer({ premium: money(0) })),
      "offers.1.premium.amount_minor: Must be a whole number of cents, at least 1 and below 100000000."
    ],
    [
      "a negative fee",
      offers(offer({ fees: [{ code: "fee", amount: money(-1) }] })),
      "offers.0.fees.0.amount.amount_minor: Must be a whole number of cents, at least 0."
    ],
    ["a term of seven months", offers(offer({ term_months: 7 })), "offers.0.term_months: Must be one of 1, 6, 12."],
    [
      "an expiry in the past and a foreign host",
      offers(offer({ expires_at: "2020-01-01T00:00:00.000Z", handoff_url: "https://evil.example/Ada" })),
      "offers.0.expires_at: Must be a time in the future. offers.0.handoff_url: Must be an https URL on one of the adapter's handoff_hosts, without a user name or password."
    ],
    [
      "an unknown subject",
      offers(offer({ subjects: [subject] })),
      "offers.0.subjects.0.subject_id: Must be a subject of this application, such as vehicle-1, pet-1 or dwelling-1."
    ],
    ["no offer", { kind: "offers", offers: [] }, "offers: Must have at least one offer."],
    ["no answer", undefined, "The answer must be an object."],
    ["an unknown kind", { kind: "maybe" }, "kind: Must be one of offers, declined, pending, question, unavailable."],
    [
      "a premium that is text",
      { kind: "offers", offers: [{ ...offer(), premium: { amount_minor: "12", currency: "USD" } }] },
      "offers.0.premium.amount_minor: "
    ],
    [
      "an incomplete offer",
      { kind: "offers", offers: [{ offer_ref: "1" }] },
      "offers.0.product: This field is required."
    ]
  ]
  for (const [what, answer, rule] of rules) {
    const broken = prompt("broken")
    Object.assign(broken.adapter, { ask: () => Effect.succeed(answer) })
    testInWorld(
      `names the carrier, the request and the broken rule: ${what}`,
      Effect.gen(function* () {
        const { id, lines } = yield* logOfRequest()
        const { annotations } = single(lines, refused)
        assert.deepInclude(annotations, { carrier_id: "broken", quote_request_id: id })
        assert.include(String(annotations.broken_rules), rule)
        assert.notInclude(JSON.stringify(lines), "Ada")
        assert.deepStrictEqual(yield* outcomes(id), ["broken no_answer unreadable_answer"])
      }),
      carriers(broken)
    )
  }

  for (const [what, found, rule] of [
    [
      "an invalid offer",
      { kind: "offer", reason: "rechecked", offer: offer({ term_months: 5 }) },
      "offer.term_months: Must be one of 1, 6, 12."
    ],
    ["no answer", undefined, "The answer must be an object."]
  ] as const) {
    const broken = prompt("broken", offers(offer({ refresh_after_ms: minuteMs })))
    Object.assign(broken.adapter, { refresh: () => Effect.succeed(found) })
    testInWorld(
      `names the carrier, the request and the rule that a refresh broke: ${what}`,
      Effect.gen(function* () {
        const { lines } = yield* logOfRequest({}, 2 * minuteMs)
        assert.include(String(single(lines, refused).annotations.broken_rules), rule)
      }),
      carriers(broken)
    )
  }

  testInWorld("names the carrier, the rule that a callback broke, and the request if it is known", () => {
    const calls = callingBack("calls")
    return {
      ...carriers(calls),
      body: Effect.gen(function* () {
        const service = yield* Asking
        const lines = yield* logOf(
          Effect.gen(function* () {
            yield* work
            yield* start({}, live)
            yield* pass(10)
            const ref = calls.asks[0]?.ask.idempotency_key ?? ""
            assert.isFalse(yield* service.callback("calls", callbackOf("\0", offers())))
            assert.isTrue(yield* service.callback("calls", callbackOf(ref, offers(offer({ term_months: 5 })))))
          })
        )
        const [first, second] = lines.filter(({ text }) => text === refused)
        assert.deepInclude(first?.annotations, {
          carrier_id: "calls",
          broken_rules: "ref: Must be the idempotency_key of an ask to this carrier, or the ref of its pending reply."
        })
        assert.match(String(second?.annotations.quote_request_id), /^qreq_/)
        assert.include(String(second?.annotations.broken_rules), "offers.0.term_months")
      })
    }
  })

  testInWorld(
    "reports that only the first ten offers are used",
    Effect.gen(function* () {
      const { lines } = yield* logOfRequest()
      single(lines, "A carrier made too many offers; using the first 10")
    }),
    carriers(prompt("many", offers(...Array.from({ length: 11 }, (_, nth) => offer({ offer_ref: `${nth}` })))))
  )
})

describe("a failure in a host's own code", () => {
  const secret = "the secret inside"
  const throwing = (): never => {
    throw new EvalError(secret)
  }
  const place = /EvalError: message omitted\n +at .*faults\.test\.ts:\d+:\d+/

  testInWorld(
    "is logged if an OnFinishedCall hook throws, and does not affect the call",
    Effect.gen(function* () {
      const lines = yield* logOf(Effect.provideService(list(), OnFinishedCall, throwing))
      const line = single(lines, "OnFinishedCall failed")
      assert.match(line.cause, place)
      assert.match(String(line.annotations.request_id), /^req_/)
      assert.notInclude(JSON.stringify(lines), secret)
      const missing = yield* logOf(Effect.provideService(refusal(read("qreq_x")), OnFinishedCall, throwing))
      single(missing, "OnFinishedCall failed")
    })
  )

  testInWorld(
    "is logged if the promise of an OnFinishedCall hook rejects, and does not end the process",
    Effect.gen(function* () {
      const rejecting = async () => throwing()
      const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      const called = Effect.provideService(list(), OnFinishedCall, rejecting)
      const lines = yield* logOf(Effect.andThen(called, turn))
      assert.match(single(lines, "OnFinishedCall failed").cause, place)
      assert.notInclude(JSON.stringify(lines), secret)
    })
  )

  const older: Revision = {
    date: "2026-01-01",
    differences: [{ summary: "", inputs: { start_quote_request: { upgrade: throwing, path: (path) => path } } }]
  }
  const served: Served = [{ date: "2026-09-26", differences: [] }, older]
  testInWorld(
    "is logged without the call's input if a revision throws",
    Effect.gen(function* () {
      const lines = yield* logOf(refusal(start({}, { revision: older.date })))
      const line = single(lines, "A call failed")
      assert.match(line.cause, place)
      assert.notInclude(JSON.stringify(lines), secret)
    }),
    { served }
  )

  testInWorld("is logged without the text if a TextCrypto fails", () => {
    const failing = { encrypt: false }
    const cryptography = Layer.effect(
      TextCrypto,
      Effect.map(TextCrypto, (crypto) => ({
        keyed: (keys) =>
          Effect.map(crypto.keyed(keys), (keyed) => ({
            ...keyed,
            encrypt: (nonce, purpose, text) =>
              failing.encrypt ? Effect.die(new EvalError(text)) : keyed.encrypt(nonce, purpose, text),
            encryptSync: null
          }))
      }))
    ).pipe(Layer.provideMerge(NodeCrypto.layer))
    return {
      cryptography,
      body: Effect.gen(function* () {
        failing.encrypt = true
        const lines = yield* logOf(refusal(start(identified)))
        failing.encrypt = false
        assert.match(single(lines, "A call failed").cause, place)
        assert.notMatch(JSON.stringify(lines), facts)
      })
    }
  })

  const sender = Layer.succeed(WebhookSender, { send: throwing, lookUp: () => Effect.succeed("public") })
  testInWorld(
    "is logged with the job if a webhook sender fails",
    Effect.gen(function* () {
      yield* create({ url: "https://a.example/hooks?token=secret" })
      yield* start()
      const lines = yield* logOf(runDue)
      const line = lines.find(({ annotations }) => annotations.job === "deliver")
      assert.strictEqual(line?.text, "A job failed")
      assert.match(line?.cause ?? "", place)
      assert.notInclude(JSON.stringify(lines), secret)
    }),
    { webhooks: sender }
  )

  testInWorld("is logged with the job and the cause if a storage backend fails", () => {
    const broken = { get: false }
    return {
      ...carriers(prompt("well")),
      around: (storage) => ({
        ...storage,
        get: (key) => (broken.get ? Effect.die(new Error("the disk is gone")) : storage.get(key))
      }),
      body: Effect.gen(function* () {
        yield* start({}, live)
        broken.get = true
        const lines = yield* logOf(runDue)
        broken.get = false
        const line = lines.find(({ annotations }) => annotations.job === "collect")
        assert.strictEqual(line?.text, "A job failed")
        assert.match(line?.cause ?? "", /the disk is gone[\s\S]*faults\.test\.ts:\d+:\d+/)
      })
    }
  })
})
