import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Schema, Tracer } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { CarrierTransport } from "../../src/carriers/CarrierTransport.ts"
import { apiKey, basic, bearer, oauth } from "../../src/carriers/http/Auth.ts"
import { CarrierHttpError, CarrierHttpMistake } from "../../src/carriers/http/CarrierHttpError.ts"
import { optionMistakes } from "../../src/carriers/http/CarrierHttpOptions.ts"
import { CurrentRequest, type SentRequest } from "../../src/carriers/http/SentRequest.ts"
import { firstOf, json, status, withClient } from "./fakeCarrier.ts"

const ok = () => json({ premium: "12.00" })

describe("a request to a carrier", () => {
  it.effect("is sent to the path below the base URL, with the query, headers and JSON body", () =>
    withClient(
      ok,
      (http, requests) =>
        Effect.gen(function* () {
          yield* Effect.promise(() =>
            http.post("/quotes/{id}/rates?draft=1", {
              json: { name: "Anna" },
              params: { id: "a/b ?" },
              query: { state: "NY", term: 12, none: undefined },
              headers: { "X-Request": "r-1" }
            })
          )
          const got = firstOf(requests)
          assert.strictEqual(
            got.url.href,
            "https://api.acme.example/v2/quotes/a%2Fb%20%3F/rates?draft=1&state=NY&term=12"
          )
          assert.strictEqual(got.method, "POST")
          assert.strictEqual(got.body, '{"name":"Anna"}')
          const { headers } = got
          assert.deepStrictEqual(
            ["content-type", "accept", "x-producer", "x-request"].map((name) => headers.get(name)),
            ["application/json", "application/json", "p-1", "r-1"]
          )
        }),
      { headers: { "x-producer": "p-1" } }
    )
  )

  it.effect("can have a body of any text type, a form body, or no body", () =>
    withClient(ok, (http, requests) =>
      Effect.gen(function* () {
        yield* http.effect.put("/a", { text: "<Quote/>", content_type: "text/xml" })
        yield* http.effect.patch("/b", { form: { code: "1 2", many: ["x", "y"] } })
        yield* http.effect.delete("/c")
        assert.deepStrictEqual(
          requests.map(({ method, headers, body }) => [method, headers.get("content-type"), body]),
          [
            ["PUT", "text/xml", "<Quote/>"],
            ["PATCH", "application/x-www-form-urlencoded", "code=1+2&many=x&many=y"],
            ["DELETE", null, ""]
          ]
        )
      })
    )
  )

  it.effect("may use an absolute URL only with the base URL's origin", () =>
    withClient(ok, (http, requests) =>
      Effect.gen(function* () {
        yield* http.effect.get("https://api.acme.example/status/7?sig=abc")
        assert.strictEqual(requests[0]?.url.href, "https://api.acme.example/status/7?sig=abc")
        for (const path of [
          "https://evil.example/",
          "https://api.acme.example.evil.example/",
          "quotes",
          "//evil.example"
        ]) {
          yield* Effect.exit(http.effect.get(path))
        }
        assert.deepStrictEqual(
          requests.map(({ url }) => url.host),
          ["api.acme.example", "api.acme.example"]
        )
        assert.strictEqual(requests[1]?.url.pathname, "/v2//evil.example")
      })
    )
  )

  it.effect("is not sent if a path parameter is empty or consists of dots", () =>
    withClient(ok, (http, requests) =>
      Effect.gen(function* () {
        for (const id of ["", ".", ".."]) {
          const exit = yield* Effect.exit(http.effect.get("/quotes/{id}", { params: { id } }))
          assert.isTrue(Exit.isFailure(exit) && Cause.squash(exit.cause) instanceof CarrierHttpMistake)
        }
        assert.lengthOf(requests, 0)
      })
    )
  )
})

describe("a request's authorization", () => {
  it.effect("can be an API key in a header, a bearer token, or a name and password", () =>
    Effect.gen(function* () {
      const sent = (auth: Parameters<typeof optionMistakes>[0]["auth"]) =>
        withClient(
          ok,
          (http, requests) =>
            Effect.map(http.effect.get("/q"), () => {
              const { headers } = requests[0] ?? {}
              return [headers?.get("authorization"), headers?.get("x-api-key")]
            }),
          auth === undefined ? {} : { auth }
        )
      assert.deepStrictEqual(yield* sent(undefined), [null, null])
      assert.deepStrictEqual(yield* sent(apiKey({ header: "X-Api-Key", field: "key" })), [null, "k-123"])
      assert.deepStrictEqual(yield* sent(bearer({ field: "key" })), ["Bearer k-123", null])
      const password = Buffer.from("anna:pässword").toString("base64")
      assert.deepStrictEqual(yield* sent(basic({ user: "user", password: "password" })), [`Basic ${password}`, null])
    })
  )

  it.effect("fails without a request if a connection field is missing, and the error names the field", () =>
    withClient(
      ok,
      (http, requests) =>
        Effect.gen(function* () {
          const exit = yield* Effect.exit(http.effect.get("/q"))
          const thrown = Exit.isFailure(exit) ? Cause.squash(exit.cause) : null
          assert.isTrue(thrown instanceof CarrierHttpMistake)
          assert.include(String(thrown), 'http.auth.field: Names the connection field "apikey"')
          assert.lengthOf(requests, 0)
        }),
      { auth: apiKey({ header: "x-api-key", field: "apikey" }) }
    )
  )
})

describe("an answer", () => {
  it.effect("provides its status, headers, bytes, text, and JSON checked by a schema", () =>
    withClient(
      () => json({ premium: "12.00", extra: 1 }, 201, { "X-Quote": "q-7" }),
      (http) =>
        Effect.gen(function* () {
          const answer = yield* Effect.promise(() => http.get("/q"))
          assert.strictEqual(answer.status, 201)
          assert.strictEqual(answer.headers["x-quote"], "q-7")
          assert.strictEqual(answer.text, '{"premium":"12.00","extra":1}')
          assert.deepStrictEqual(answer.json(), { premium: "12.00", extra: 1 })
          const typed = answer.json(Schema.Struct({ premium: Schema.FiniteFromString }))
          assert.strictEqual(typed.premium, 12)
          const sameAsEffect = yield* Effect.flatMap(http.effect.get("/q"), (again) => again.json())
          assert.deepStrictEqual(sameAsEffect, answer.json())
        })
    )
  )

  it.effect("is empty if it has no body", () =>
    withClient(
      () => status(204),
      (http) =>
        Effect.map(http.effect.delete("/q"), ({ text, bytes }) => assert.deepStrictEqual([text, bytes.length], ["", 0]))
    )
  )

  it.effect("is decoded with the character set that it names", () =>
    withClient(
      () => new Response(new Uint8Array([0x63, 0xe9]), { headers: { "content-type": "text/xml; charset=iso-8859-1" } }),
      (http) => Effect.map(http.effect.get("/q"), ({ text }) => assert.strictEqual(text, "cé"))
    )
  )

  it.effect("causes an error without quoted content if it is not JSON or does not match the schema", () =>
    withClient(
      ({ url }) =>
        url.pathname.endsWith("text") ? new Response("<b>Anna</b>") : json({ offer: { premium: "Anna", anna: 1 } }),
      (http) =>
        Effect.gen(function* () {
          const Offer = Schema.Struct({ offer: Schema.Struct({ premium: Schema.Finite }) })
          const text = yield* http.effect.get("/text?name=Anna")
          const wrong = yield* http.effect.get("/wrong")
          const errors = [yield* Effect.flip(text.json()), yield* Effect.flip(wrong.json(Offer))]
          assert.deepStrictEqual(
            errors.map(({ reason, code, status }) => [reason, code, status]),
            [
              ["unreadable_answer", "NOT_JSON", 200],
              ["unreadable_answer", "SCHEMA_MISMATCH", 200]
            ]
          )
          assert.include(errors[1]?.message, "offer.premium")
          assert.notMatch(errors.map(String).join(), /anna/i)
          const thrown = yield* Effect.promise(async () => {
            try {
              return (await http.get("/text")).json()
            } catch (error) {
              return error
            }
          })
          assert.isTrue(thrown instanceof CarrierHttpError && thrown.reason === "unreadable_answer")
        })
    )
  )

  it.effect("is not read beyond the size limit, and causes an error", () => {
    let pulled = 0
    const endless = () =>
      new Response(
        new ReadableStream({
          pull: (controller) => {
            pulled++
            controller.enqueue(new Uint8Array(1_000))
          }
        })
      )
    return withClient(
      endless,
      (http) =>
        Effect.gen(function* () {
          const { reason, code } = yield* Effect.flip(http.effect.get("/q"))
          assert.deepStrictEqual([reason, code], ["unreadable_answer", "TOO_LARGE"])
          assert.isBelow(pulled, 20)
        }),
      { max_bytes: 5_000 }
    )
  })
})

describe("an unsuccessful status", () => {
  const cases: ReadonlyArray<readonly [number, Readonly<Record<string, string>>, string, number | null]> = [
    [429, {}, "rate_limited", null],
    [429, { "retry-after": "7" }, "rate_limited", 7_000],
    [429, { "retry-after": "Thu, 01 Jan 1970 00:01:30 GMT" }, "rate_limited", 90_000],
    [429, { "retry-after": "999999999" }, "rate_limited", 86_400_000],
    [429, { "retry-after": "soon" }, "rate_limited", null],
    [503, {}, "carrier_error", null],
    [503, { "retry-after": "5" }, "carrier_error", 5_000],
    [503, { "retry-after": "60" }, "maintenance", 60_000],
    [500, { "retry-after": "3600" }, "carrier_error", 3_600_000],
    [502, {}, "carrier_error", null],
    [400, {}, "carrier_error", null],
    [404, {}, "carrier_error", null],
    [302, { location: "http://10.0.0.1/" }, "carrier_error", null]
  ]
  for (const [code, headers, reason, retry_after_ms] of cases) {
    it.effect(
      `becomes ${reason} with ${retry_after_ms ?? "no"} retry_after_ms if it is ${code} with the headers ${JSON.stringify(headers)}`,
      () =>
        withClient(
          () => status(code, headers),
          (http, requests) =>
            Effect.gen(function* () {
              const error = yield* Effect.flip(http.effect.get("/quotes/{id}?name=Anna", { params: { id: "Anna" } }))
              assert.deepStrictEqual([error.reason, error.retry_after_ms, error.status], [reason, retry_after_ms, code])
              assert.match(error.message, new RegExp(`^GET /quotes/\\{id\\} at api.acme.example: answered ${code}`))
              assert.notInclude(error.message, "Anna")
              assert.lengthOf(requests, 1)
            })
        )
    )
  }

  it.effect("is returned as an answer if the adapter accepts that status", () =>
    withClient(
      () => json({ errors: ["no such quote"] }, 404),
      (http) =>
        Effect.gen(function* () {
          const answer = yield* http.effect.get("/q", { accept: [404] })
          assert.strictEqual(answer.status, 404)
          assert.deepStrictEqual(yield* answer.json(), { errors: ["no such quote"] })
        })
    )
  )
})

describe("a failed connection", () => {
  for (const code of ["ECONNRESET", "CERT_HAS_EXPIRED"]) {
    it.effect(`becomes a carrier_error that contains only the error code (${code})`, () =>
      withClient(
        () => ({ code }),
        (http) =>
          Effect.gen(function* () {
            const error = yield* Effect.flip(http.effect.get("/q"))
            assert.deepStrictEqual([error.reason, error.status, error.code], ["carrier_error", null, code])
            assert.include(error.message, code)
            assert.notInclude(JSON.stringify(error) + error.stack, "anna@example.com")
          })
      )
    )
  }
})

describe("an HTTP client's options", () => {
  const faults = (options: Parameters<typeof optionMistakes>[0]) =>
    optionMistakes(options, ["key"]).map(({ path }) => path)

  it("allow plain http only in the sandbox and to localhost", () => {
    assert.deepStrictEqual(faults({ base_url: "https://api.acme.example" }), [])
    assert.deepStrictEqual(faults({ base_url: "http://localhost:4010" }), [])
    assert.deepStrictEqual(faults({ base_url: "http://api.acme.example" }), ["base_url"])
    assert.deepStrictEqual(faults({ base_url: { sandbox: "http://mock:1", live: "http://api.acme.example" } }), [
      "base_url.live"
    ])
  })

  it("report every mistake by its path", () => {
    assert.deepStrictEqual(
      faults({ base_url: "api.acme.example", auth: oauth({ token_path: "token", client_id: "key" }), max_bytes: 0 }),
      ["base_url", "auth.token_path", "auth.client_secret", "max_bytes"]
    )
    assert.deepStrictEqual(faults({ base_url: "https://u:p@acme.example/?a=1" }), ["base_url"])
    assert.deepStrictEqual(faults({ base_url: "https://acme.example/?a=1" }), ["base_url"])
  })

  it.effect("can contain a different base URL for each environment", () =>
    withClient(
      ok,
      (http, requests) =>
        Effect.map(http.effect.get("/q"), () => assert.strictEqual(requests[0]?.url.host, "sandbox.acme.example")),
      { base_url: { sandbox: "https://sandbox.acme.example", live: "https://api.acme.example" } },
      { environment: "sandbox" }
    )
  )
})

describe("a carrier request", () => {
  it.effect("has a span without query and parameter values, and sends no trace headers", () =>
    Effect.gen(function* () {
      const spans: Array<Tracer.NativeSpan> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
      yield* withClient(ok, (http, requests) =>
        Effect.gen(function* () {
          yield* http.effect.get("/quotes/{id}", { params: { id: "Anna" }, query: { name: "Anna" } })
          assert.isNull(requests[0]?.headers.get("traceparent"))
        })
      ).pipe(Effect.withTracer(tracer))
      assert.lengthOf(spans, 1)
      const [span] = spans
      assert.deepStrictEqual(Object.fromEntries(span?.attributes ?? []), {
        "http.request.method": "GET",
        "server.address": "api.acme.example",
        "url.template": "/quotes/{id}",
        "http.response.status_code": 200
      })
      assert.notInclude(span?.name, "Anna")
    })
  )

  it.effect("tells a custom transport the request's purpose and which values must not be recorded", () =>
    Effect.gen(function* () {
      const seen: Array<SentRequest | null> = []
      const recorder = HttpClient.make((request) =>
        Effect.gen(function* () {
          seen.push(yield* CurrentRequest)
          return HttpClientResponse.fromWeb(
            request,
            request.url.endsWith("/token") ? json({ access_token: "t" }) : ok()
          )
        })
      )
      yield* withClient(ok, (http) => Effect.provideService(http.effect.get("/q"), CarrierTransport, recorder), {
        redact: ["applicant"],
        auth: oauth({ token_path: "/token" })
      })
      const host = "api.acme.example"
      assert.deepStrictEqual(seen, [
        { method: "POST", path: "/v2/token", host, purpose: "token", redact: [], accept: [] },
        { method: "GET", path: "/q", host, purpose: "call", redact: ["applicant"], accept: [] }
      ])
    })
  )

  it.effect("is not sent once the signal is aborted", () =>
    Effect.gen(function* () {
      const controller = new AbortController()
      yield* withClient(
        () => "silence",
        (http, requests) =>
          Effect.gen(function* () {
            const waiting = yield* Effect.forkChild(http.effect.get("/q"))
            const promised = http.get("/q").then(
              () => "answered",
              () => "rejected"
            )
            yield* TestClock.adjust(1)
            controller.abort()
            const exit = yield* Fiber.await(waiting)
            assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
            assert.strictEqual(yield* Effect.promise(() => promised), "rejected")
            yield* Effect.exit(Effect.forkChild(http.effect.get("/q")).pipe(Effect.flatMap(Fiber.await)))
            assert.lengthOf(requests, 2)
          }),
        {},
        { signal: controller.signal }
      )
    })
  )
})
