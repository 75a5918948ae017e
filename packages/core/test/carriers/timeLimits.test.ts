import { assert, describe, it } from "@effect/vitest"
import { CarrierTransport } from "@quotewire/core"
import { CarrierHttp } from "@quotewire/core/testing"
import { Effect, Fiber } from "effect"
import { HttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import fc from "fast-check"

/** Requests that begin one after another and whose carrier never answers. Times are in milliseconds. */
const requests = fc.array(
  fc.record({ after: fc.integer({ min: 0, max: 300 }), limit: fc.integer({ min: 1, max: 2_000 }) }),
  { minLength: 1, maxLength: 12 }
)

describe("the time limits of requests that run at once", () => {
  it("each end their own request in time, whatever the others do", () =>
    fc.assert(
      fc.asyncProperty(requests, fc.integer({ min: 1, max: 400 }), (begun, step) =>
        Effect.gen(function* () {
          const { effect: http } = yield* CarrierHttp.make(
            { base_url: "https://api.acme.example" },
            { environment: "live", connection: {}, timeout_ms: 10_000, idempotent: false }
          )
          let now = 0
          const running: Array<{ readonly due: number; readonly fiber: Fiber.Fiber<string> }> = []
          const checkAll = Effect.sync(() => {
            for (const { due, fiber } of running) assert.strictEqual(fiber.pollUnsafe() !== undefined, due <= now)
          })
          const pass = Effect.fnUntraced(function* (ms: number) {
            yield* TestClock.adjust(ms)
            now += ms
            yield* checkAll
          })
          for (const { after, limit } of begun) {
            yield* pass(after)
            const request = Effect.flip(http.get("/quotes", { timeout_ms: limit }))
            const fiber = yield* Effect.forkChild(
              Effect.map(Effect.orDie(request), ({ code }) => code),
              { startImmediately: true }
            )
            running.push({ due: now + limit, fiber })
          }
          while (now < 6_000) yield* pass(step)
          for (const { fiber } of running) assert.strictEqual(yield* Fiber.join(fiber), "TIMED_OUT")
        }).pipe(
          Effect.provideService(
            CarrierTransport,
            HttpClient.make(() => Effect.never)
          ),
          Effect.provide(TestClock.layer()),
          Effect.scoped,
          Effect.runPromise
        )
      ),
      { numRuns: 30 }
    ))
})
