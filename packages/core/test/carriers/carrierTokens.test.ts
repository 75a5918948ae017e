import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { oauth } from "../../src/carriers/http/Auth.ts"
import * as CarrierHttp from "../../src/carriers/http/CarrierHttp.ts"
import { connection, firstOf, type Got, json, type Script, status, withClient } from "./fakeCarrier.ts"

const auth = oauth({ token_path: "/token", scope: "quotes", params: { audience: "rating" } })

const isToken = ({ url }: Got) => url.pathname.endsWith("/token")
const tokenRequests = (requests: ReadonlyArray<Got>) => requests.filter(isToken)
const bearers = (requests: ReadonlyArray<Got>) =>
  requests.filter((got) => !isToken(got)).map(({ headers }) => headers.get("authorization"))

/** A carrier that issues tokens t1, t2, … and accepts only the latest one. */
const issuing = (
  token: (number: number) => unknown = (n) => ({ access_token: `t${n}`, expires_in: 3_600 })
): Script => {
  let issued = 0
  let valid = ""
  return (got) => {
    if (isToken(got)) {
      valid = `Bearer t${++issued}`
      return json(token(issued))
    }
    return got.headers.get("authorization") === valid ? json({}) : status(401)
  }
}

describe("an OAuth token", () => {
  it.effect("is requested with the connection's credentials, and reused until shortly before it expires", () =>
    withClient(
      issuing(),
      (http, requests) =>
        Effect.gen(function* () {
          yield* http.effect.get("/a")
          yield* TestClock.adjust(3_569_000)
          yield* http.effect.get("/b")
          assert.lengthOf(tokenRequests(requests), 1)
          const asked = firstOf(requests)
          assert.strictEqual(asked.url.href, "https://api.acme.example/v2/token")
          assert.strictEqual(asked.body, "grant_type=client_credentials&scope=quotes&audience=rating")
          assert.strictEqual(asked.headers.get("authorization"), `Basic ${btoa("broker-7:s3cret")}`)
          yield* TestClock.adjust(2_000)
          yield* http.effect.get("/c")
          assert.deepStrictEqual(bearers(requests), ["Bearer t1", "Bearer t1", "Bearer t2"])
        }),
      { auth }
    )
  )

  it.effect("can be requested from a different host, with the credentials in the form", () =>
    withClient(
      issuing(),
      (http, requests) =>
        Effect.gen(function* () {
          yield* http.effect.get("/a")
          const asked = firstOf(requests)
          assert.strictEqual(asked.url.href, "https://live.login.example/token")
          assert.strictEqual(asked.body, "grant_type=client_credentials&client_id=k-123&client_secret=s3cret")
          assert.isNull(asked.headers.get("authorization"))
        }),
      {
        auth: oauth({
          token_url: { sandbox: "https://login.example/token", live: "https://live.login.example/token" },
          client_id: "key",
          credentials: "body"
        })
      }
    )
  )

  it.effect("is requested once, however many calls need it concurrently", () =>
    withClient(
      issuing(),
      (http, requests) =>
        Effect.gen(function* () {
          yield* Effect.all(
            Array.from({ length: 20 }, () => http.effect.get("/a")),
            { concurrency: "unbounded" }
          )
          assert.lengthOf(tokenRequests(requests), 1)
          assert.lengthOf(bearers(requests), 20)
        }),
      { auth }
    )
  )

  it.effect("reaches waiting calls even if the call that requested the token is interrupted", () =>
    Effect.gen(function* () {
      const token = yield* Deferred.make<Response>()
      yield* withClient(
        (got) => (isToken(got) ? Deferred.await(token) : json({})),
        (http, requests) =>
          Effect.gen(function* () {
            const givenUp = yield* Effect.forkChild(http.effect.get("/a"))
            yield* TestClock.adjust(1)
            const waiting = yield* Effect.forkChild(http.effect.get("/b"))
            yield* TestClock.adjust(1)
            yield* Fiber.interrupt(givenUp)
            yield* Deferred.succeed(token, json({ access_token: "t1" }))
            assert.strictEqual((yield* Fiber.join(waiting)).status, 200)
            assert.lengthOf(tokenRequests(requests), 1)
          }),
        { auth }
      )
    })
  )

  it.effect("is used for one connection only", () =>
    withClient(
      issuing(),
      (http, requests) =>
        Effect.gen(function* () {
          const other = yield* CarrierHttp.make(
            { base_url: "https://api.acme.example/v2", auth },
            {
              environment: "live",
              connection: { ...connection, client_secret: "other" },
              timeout_ms: 10_000,
              idempotent: false
            }
          )
          yield* http.effect.get("/a")
          yield* other.effect.get("/a")
          assert.deepStrictEqual(bearers(requests), ["Bearer t1", "Bearer t2"])
        }),
      { auth }
    )
  )
})

describe("an OAuth token that the carrier rejects", () => {
  /** Tokens that stop working long before they expire. */
  const ending = (): Script => {
    const carrier = issuing()
    let calls = 0
    return (got, count) => (isToken(got) || ++calls !== 2 ? carrier(got, count) : status(401))
  }

  it.effect("is renewed, and the call is repeated even if the call is not idempotent", () =>
    withClient(
      ending(),
      (http, requests) =>
        Effect.gen(function* () {
          yield* http.effect.post("/a")
          yield* http.effect.post("/b")
          assert.deepStrictEqual(bearers(requests), ["Bearer t1", "Bearer t1", "Bearer t2"])
        }),
      { auth }
    )
  )

  it.effect("is renewed once for all calls that the carrier rejects", () => {
    const carrier = issuing()
    let isRevoked = false
    return withClient(
      (got, count) =>
        isRevoked && got.headers.get("authorization") === "Bearer t1" ? status(401) : carrier(got, count),
      (http, requests) =>
        Effect.gen(function* () {
          yield* http.effect.get("/a")
          isRevoked = true
          const calls = Array.from({ length: 20 }, () => http.effect.get("/b"))
          const answers = yield* Effect.all(calls, { concurrency: "unbounded" })
          assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [200])
          assert.lengthOf(tokenRequests(requests), 2)
        }),
      { auth }
    )
  })

  it.effect("is not renewed again by a call whose rejection arrives after the renewal", () =>
    Effect.gen(function* () {
      const late = yield* Deferred.make<Response>()
      let issued = 0
      const isOld = ({ headers }: Got) => headers.get("authorization") === "Bearer t1"
      yield* withClient(
        (got) => {
          if (isToken(got)) return json({ access_token: `t${++issued}` })
          if (!isOld(got)) return json({})
          return got.url.pathname.endsWith("/late") ? Deferred.await(late) : status(401)
        },
        (http) =>
          Effect.gen(function* () {
            const waiting = yield* Effect.forkChild(http.effect.get("/late"))
            yield* Effect.repeat(Effect.yieldNow, { until: () => issued === 1 })
            yield* TestClock.adjust(1)
            assert.strictEqual((yield* http.effect.get("/early")).status, 200)
            yield* Deferred.succeed(late, status(401))
            assert.strictEqual((yield* Fiber.join(waiting)).status, 200)
            assert.strictEqual(issued, 2)
          }),
        { auth }
      )
    })
  )

  it.effect("is renewed only once: the call fails if the carrier rejects the new token", () =>
    withClient(
      (got) => (isToken(got) ? json({ access_token: "t" }) : status(401)),
      (http, requests) =>
        Effect.gen(function* () {
          const { reason, status } = yield* Effect.flip(http.effect.get("/a"))
          assert.deepStrictEqual([reason, status], ["carrier_error", 401])
          assert.lengthOf(tokenRequests(requests), 2)
          assert.lengthOf(bearers(requests), 2)
        }),
      { auth },
      { idempotent: true }
    )
  )
})

describe("an OAuth token that cannot be obtained", () => {
  it.effect("makes the call fail with the token endpoint's error, and is requested again by the next call", () =>
    withClient(
      (got, count) => (!isToken(got) ? json({}) : count === 1 ? status(401) : json({ access_token: "t1" })),
      (http, requests) =>
        Effect.gen(function* () {
          const { reason, message } = yield* Effect.flip(http.effect.get("/a"))
          assert.strictEqual(reason, "carrier_error")
          assert.strictEqual(message, "POST /v2/token at api.acme.example: answered 401")
          yield* http.effect.get("/b")
          assert.lengthOf(requests, 3)
        }),
      { auth }
    )
  )

  it.effect("is requested again after a temporary error, even for a call that is not idempotent", () =>
    withClient(
      (got, count) => (!isToken(got) ? json({}) : count === 1 ? status(503) : json({ access_token: "t1" })),
      (http, requests) =>
        Effect.gen(function* () {
          const call = yield* Effect.forkChild(http.effect.post("/a"))
          yield* Effect.repeat(TestClock.adjust(10), { until: () => call.pollUnsafe() !== undefined })
          assert.strictEqual((yield* Fiber.join(call)).status, 200)
          assert.lengthOf(requests, 3)
        }),
      { auth }
    )
  )

  it.effect("times out if the token endpoint hangs, even if new calls start waiting", () =>
    withClient(
      (got, count) => (count === 1 ? "silence" : isToken(got) ? json({ access_token: "t1" }) : json({})),
      (http, requests) =>
        Effect.gen(function* () {
          const first = yield* Effect.forkChild(Effect.flip(http.effect.get("/a")))
          yield* TestClock.adjust(9_000)
          const second = yield* Effect.forkChild(Effect.flip(http.effect.get("/b")))
          yield* TestClock.adjust(5_000)
          assert.strictEqual((yield* Fiber.join(first)).reason, "timeout")
          assert.strictEqual((yield* Fiber.join(second)).reason, "timeout")
          yield* http.effect.get("/c")
          assert.lengthOf(tokenRequests(requests), 2)
        }),
      { auth },
      { timeout_ms: 60_000 }
    )
  )

  for (const token of [
    {},
    { access_token: "" },
    { access_token: "a\nb" },
    "t",
    { access_token: "t", expires_in: "soon" }
  ]) {
    it.effect(`makes the call fail without quoting the token endpoint's answer: ${JSON.stringify(token)}`, () =>
      withClient(
        (got) => (isToken(got) ? json(token) : json({})),
        (http) =>
          Effect.gen(function* () {
            const { reason, code, message } = yield* Effect.flip(http.effect.get("/a"))
            assert.deepStrictEqual([reason, code], ["unreadable_answer", "SCHEMA_MISMATCH"])
            assert.notMatch(message, /soon|a\nb/)
          }),
        { auth }
      )
    )
  }
})
