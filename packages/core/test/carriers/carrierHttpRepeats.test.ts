import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { CarrierHttp } from "../../src/carriers/http/CarrierHttp.ts"
import type { CarrierRequestOptions } from "../../src/carriers/http/CarrierRequest.ts"
import { json, type Script, status, withClient } from "./fakeCarrier.ts"

/**
 * Sends one request and lets time pass until it ends. Returns its status or reason, the number of requests, and the
 * time.
 */
const outcome = (
  script: Script,
  options: CarrierRequestOptions = {},
  context: { readonly idempotent?: boolean; readonly timeout_ms?: number } = { idempotent: true }
) =>
  withClient(
    script,
    (http, requests) =>
      Effect.gen(function* () {
        const began = yield* Clock.currentTimeMillis
        const ended = yield* passing(http, options)
        return { ended, requests: requests.length, after_ms: (yield* Clock.currentTimeMillis) - began }
      }),
    {},
    context
  )

const passing = (http: CarrierHttp, options: CarrierRequestOptions) =>
  Effect.gen(function* () {
    const call = http.effect
      .post("/q", options)
      .pipe(Effect.match({ onSuccess: ({ status }) => status, onFailure: ({ reason }) => reason }))
    const fiber = yield* Effect.forkChild(call)
    yield* Effect.repeat(TestClock.adjust(10), { until: () => fiber.pollUnsafe() !== undefined })
    return yield* Fiber.join(fiber)
  })

const first =
  (failure: ReturnType<Script>): Script =>
  (_got, count) =>
    count === 1 ? failure : status(204)

describe("a failed request", () => {
  const transient: ReadonlyArray<readonly [string, () => ReturnType<Script>]> = [
    ["a 502", () => status(502)],
    ["a 503", () => status(503)],
    ["a 504", () => status(504)],
    ["a 429 with a wait shorter than the timeout", () => status(429, { "retry-after": "2" })],
    ["a broken connection", () => ({ code: "ECONNRESET" })]
  ]
  for (const [name, failure] of transient) {
    it.effect(`is retried once after ${name} if it is safe to repeat`, () =>
      Effect.gen(function* () {
        const repeated = yield* outcome(first(failure()))
        assert.deepStrictEqual([repeated.ended, repeated.requests], [204, 2])
        const once = yield* outcome(first(failure()), {}, { idempotent: false })
        assert.strictEqual(once.requests, 1)
        const asked = yield* outcome(first(failure()), { idempotent: true }, { idempotent: false })
        assert.strictEqual(asked.requests, 2)
        const never = yield* outcome(() => failure())
        assert.strictEqual(never.requests, 2)
      })
    )
  }

  const lasting: ReadonlyArray<readonly [string, () => ReturnType<Script>, string]> = [
    ["a 400", () => status(400), "carrier_error"],
    ["a 500", () => status(500), "carrier_error"],
    ["a 429 without Retry-After", () => status(429), "rate_limited"],
    ["a 429 with a wait longer than the timeout", () => status(429, { "retry-after": "30" }), "rate_limited"],
    ["a 503 for maintenance", () => status(503, { "retry-after": "600" }), "maintenance"],
    ["an expired certificate", () => ({ code: "CERT_HAS_EXPIRED" }), "carrier_error"],
    ["a refused address that is not public", () => ({ code: "REFUSED_ADDRESS" }), "carrier_error"]
  ]
  for (const [name, failure, reason] of lasting) {
    it.effect(`is not retried after ${name}`, () =>
      Effect.gen(function* () {
        const { ended, requests } = yield* outcome(first(failure()))
        assert.deepStrictEqual([ended, requests], [reason, 1])
      })
    )
  }

  it.effect("waits as long as the carrier asks before it is retried", () =>
    Effect.gen(function* () {
      const { after_ms } = yield* outcome(first(status(429, { "retry-after": "2" })))
      assert.isAtLeast(after_ms, 2_000)
      assert.isBelow(after_ms, 3_000)
    })
  )
})

describe("a call's timeout", () => {
  it.effect("is set by the line, can be lowered by a request, and includes the retry", () =>
    Effect.gen(function* () {
      const silent = yield* outcome(() => "silence", {}, { timeout_ms: 4_000 })
      assert.deepStrictEqual([silent.ended, silent.requests, silent.after_ms], ["timeout", 1, 4_000])
      const shorter = yield* outcome(() => "silence", { timeout_ms: 1_000 }, { timeout_ms: 4_000 })
      assert.deepStrictEqual([shorter.ended, shorter.after_ms], ["timeout", 1_000])
      const longer = yield* outcome(() => "silence", { timeout_ms: 9_000 }, { timeout_ms: 4_000 })
      assert.deepStrictEqual([longer.ended, longer.after_ms], ["timeout", 4_000])
      const second = yield* outcome(
        (_got, count) => (count === 1 ? status(503) : "silence"),
        {},
        {
          timeout_ms: 4_000,
          idempotent: true
        }
      )
      assert.deepStrictEqual([second.ended, second.requests, second.after_ms], ["timeout", 2, 4_000])
    })
  )

  it.effect("includes reading the body", () =>
    Effect.gen(function* () {
      const dripping = () => new Response(new ReadableStream({ start: (stream) => stream.enqueue(new Uint8Array(1)) }))
      const { ended, after_ms } = yield* outcome(dripping, {}, { timeout_ms: 4_000 })
      assert.deepStrictEqual([ended, after_ms], ["timeout", 4_000])
    })
  )

  it.effect("must be greater than zero", () =>
    withClient(
      () => json({}),
      (http) =>
        Effect.gen(function* () {
          for (const timeout_ms of [0, -1, Number.NaN]) {
            assert.isTrue(Exit.isFailure(yield* Effect.exit(http.effect.get("/q", { timeout_ms }))))
          }
        })
    )
  )
})
