import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { HttpClientRequest } from "effect/http"
import { Asking } from "../../src/quoting/asking/Asking.ts"
import { minuteMs, secondMs } from "../../src/wire/Timestamp.ts"
import {
  callbackOf,
  callingBack,
  carrier,
  declined,
  offer,
  offers,
  polled,
  prompt,
  unavailable
} from "../quoting/carriers.ts"
import { pass } from "../support/world.ts"

import { ask, onRecord, send, stored, testRecorded, testRecordedBy } from "./onRecord.ts"
import { appointing, given, set } from "./support.ts"

describe("an exchange record", () => {
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
    "contains no declared facts, secrets, undeclared headers or query values",
    Effect.gen(function* () {
      const id = yield* ask()
      const [exchange, ...others] = yield* onRecord()
      assert.deepStrictEqual(others, [])
      assert.strictEqual(exchange?.quote_request_id, id)
      // The exchange: who was asked, about what, and the outcome.
      assert.deepInclude(exchange, {
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
      // Its HTTP message: names of query fields without values, and only declared headers.
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
      // The bodies, without facts about the person and without secrets.
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
    "shows that a token was requested, without any values",
    Effect.gen(function* () {
      yield* ask()
      const [exchange] = yield* onRecord()
      assert.strictEqual(exchange?.http[0]?.request.body, "grant_type=[redacted]&client_secret=[redacted]")
      assert.strictEqual(exchange?.http[0]?.response?.body, '{"access_token":"[redacted]","expires_in":60}')
    }),
    token,
    { answer: () => Response.json({ access_token: "hidden", expires_in: 60 }) }
  )

  const csv = () =>
    carrier("acme", () =>
      send(HttpClientRequest.post("https://api.acme.example/").pipe(HttpClientRequest.bodyText("Ada;40", "text/csv")))
    )
  const keeping = csv()
  for (const [what, scripted, kept] of [
    ["only as type and length", csv(), { body: null, kept: "left_out" }],
    [
      "completely if the carrier allows it",
      { ...keeping, adapter: { ...keeping.adapter, keeps_text_bodies: true } },
      { body: "Ada;40", kept: "whole" }
    ]
  ] as const) {
    testRecorded(
      `contains bodies other than JSON and XML ${what}`,
      Effect.gen(function* () {
        yield* ask()
        const [exchange] = yield* onRecord()
        assert.deepInclude(exchange?.http[0]?.request, { content_type: "text/csv", bytes: 6, ...kept })
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
    "is bounded: long bodies are truncated, and only the first HTTP exchanges are kept",
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
    attempt_timeout_ms: secondMs,
    idempotent: false
  })
  testRecorded(
    "shows which HTTP exchange a timeout aborted, and how long it took",
    Effect.gen(function* () {
      yield* ask(2 * secondMs)
      const [exchange] = yield* onRecord()
      assert.deepInclude(exchange, { outcome: "unavailable", reason: "timeout", duration_ms: secondMs })
      assert.deepInclude(exchange?.http[0], { status: null, error: "aborted", response: null })
    }),
    hanging,
    { answer: () => "never" }
  )

  testRecorded(
    "shows the error's class and code if no server is reached",
    Effect.gen(function* () {
      yield* ask()
      const found = yield* onRecord()
      assert.deepInclude(found[0], { outcome: "unavailable", reason: "carrier_error" })
      assert.deepInclude(found[0]?.http[0], { status: null, error: "TransportError ECONNREFUSED" })
      assert.notInclude(JSON.stringify(found), "hidden")
    }),
    carrier("acme", () => send(HttpClientRequest.get("https://api.acme.example/")), { idempotent: false }),
    { answer: () => "refused" }
  )

  const appointed = appointing(
    {
      ask: ({ connection }) =>
        send(
          HttpClientRequest.post(`https://api.acme.example/${connection?.api_key}/quotes`).pipe(
            HttpClientRequest.bodyJsonUnsafe({ producer: connection?.producer_code, login: connection?.api_key })
          )
        )
    },
    { idempotent: false }
  )
  testRecorded(
    "contains no secret from the connection, wherever the adapter puts it",
    Effect.gen(function* () {
      yield* set(given)
      yield* ask()
      const [exchange] = yield* onRecord()
      assert.strictEqual(exchange?.http[0]?.path, "/[redacted]/quotes")
      assert.strictEqual(exchange?.http[0]?.request.body, `{"producer":"${given.producer_code}","login":"[redacted]"}`)
    }),
    appointed
  )

  const encoded = appointing(
    {
      ask: ({ connection }) =>
        send(HttpClientRequest.get(`https://api.acme.example/${encodeURIComponent(connection?.api_key ?? "")}/quotes`))
    },
    { idempotent: false }
  )
  testRecorded(
    "contains no secret from the connection, even in a URL that encodes the secret differently",
    Effect.gen(function* () {
      yield* set({ ...given, api_key: "Zq7x/Zq+7x==" })
      yield* ask()
      const [exchange] = yield* onRecord()
      assert.strictEqual(exchange?.http[0]?.path, "/[redacted]/quotes")
    }),
    encoded
  )

  const thrown = prompt("acme", offers(), {
    idempotent: false,
    rest: { ask: () => Effect.die(Object.assign(new TypeError("hidden"), { code: "ECONNRESET" })) }
  })
  testRecorded(
    "shows the error's class and code, but no message, if the adapter throws",
    Effect.gen(function* () {
      yield* ask()
      const found = yield* onRecord()
      assert.deepInclude(found[0], { outcome: "unavailable", reason: "carrier_error", fault: "TypeError ECONNRESET" })
      assert.notInclude(JSON.stringify(found), "hidden")
    }),
    thrown
  )

  testRecorded(
    "names broken rules by path",
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

describe("exchange records", () => {
  testRecorded(
    "include each attempt of an ask",
    Effect.gen(function* () {
      yield* ask(10 * secondMs)
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
    "include polls whose answer is pending",
    Effect.gen(function* () {
      yield* ask(30 * secondMs)
      assert.deepStrictEqual(
        (yield* onRecord()).map(({ exchange, outcome }) => `${exchange} ${outcome}`),
        ["ask pending", "poll pending", "poll offers"]
      )
    }),
    polled("acme", 2)
  )

  testRecordedBy("include callbacks and their content, even if a callback is late", () => {
    const calling = callingBack("acme")

    return {
      scripted: calling,
      body: Effect.gen(function* () {
        yield* ask()
        const service = yield* Asking
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
      })
    }
  })

  testRecorded(
    "include refreshes",
    Effect.gen(function* () {
      yield* ask(2 * minuteMs)
      assert.deepStrictEqual(
        (yield* onRecord()).map(({ exchange, outcome }) => `${exchange} ${outcome}`),
        ["ask offers", "refresh withdrawn"]
      )
    }),
    prompt("acme", offers(offer({ refresh_after_ms: minuteMs })), {
      rest: { refresh: () => Effect.succeed({ kind: "withdrawn" }) }
    })
  )

  const endless = prompt("acme", offers(offer({ refresh_after_ms: minuteMs })), {
    rest: {
      refresh: () =>
        Effect.succeed({ kind: "offer", reason: "rechecked", offer: offer({ refresh_after_ms: minuteMs }) })
    }
  })
  testRecorded(
    "include only the first refreshes of an offer that is refreshed repeatedly",
    Effect.gen(function* () {
      yield* ask()
      for (let i = 0; i < 150; i++) yield* pass(minuteMs)
      const found = yield* onRecord()
      assert.isAbove(found.length, 50)
      assert.isBelow(found.length, 120)
    }),
    endless
  )
})
