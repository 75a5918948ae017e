import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import { type Cost, type Limits, standardLimits } from "../../src/access/limits/Limits.ts"
import { caller, host, shared } from "./support.ts"

const limit = fc.record({
  per_minute: fc.option(fc.integer({ min: 1, max: 6 })),
  per_day: fc.option(fc.integer({ min: 1, max: 12 }))
})

const limits: fc.Arbitrary<Limits> = fc
  .record({ start: limit, read: limit, other: limit, organization_factor: fc.integer({ min: 1, max: 3 }) })
  .map(({ organization_factor, ...kinds }) => ({
    ...standardLimits,
    keys: { live: kinds, sandbox: kinds },
    organization_factor
  }))

const cost: fc.Arbitrary<Cost> = fc.oneof(
  fc.constant<Cost>({ start: 1 }),
  fc.integer({ min: 1, max: 2 }).map((read): Cost => ({ read })),
  fc.record({ read: fc.integer({ min: 1, max: 3 }), other: fc.constant(1) })
)

/** A call, and the time since the previous one. */
const step = fc.record({
  cost,
  key: fc.integer({ min: 1, max: 2 }),
  after_ms: fc.oneof(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 0, max: 40_000_000 }))
})

describe("Retry-After", () => {
  it.effect("is exact: a call one second early is refused, and a call on time is accepted", () =>
    Effect.gen(function* () {
      let refusals = 0
      const check = ([limits, steps]: [Limits, ReadonlyArray<typeof step extends fc.Arbitrary<infer S> ? S : never>]) =>
        Effect.scoped(
          Effect.gen(function* () {
            const { service } = yield* shared
            const { spend } = yield* host(service, { limits })
            for (const { cost, key, after_ms } of steps) {
              yield* TestClock.adjust(after_ms)
              const call = spend(cost, caller(key))
              const first = yield* Effect.result(call)
              if (first._tag === "Success") continue
              refusals++
              const seconds = first.failure.retry_after_seconds ?? 0
              yield* TestClock.adjust((seconds - 1) * 1_000)
              assert.isTrue(Exit.isFailure(yield* Effect.exit(call)), "it passes a second earlier")
              yield* TestClock.adjust(1_000)
              assert.isTrue(Exit.isSuccess(yield* Effect.exit(call)), "it does not pass then")
            }
          })
        )
      const samples = fc.sample(fc.tuple(limits, fc.array(step, { minLength: 5, maxLength: 25 })), {
        numRuns: 150,
        seed: 20_261_121
      })
      yield* Effect.forEach(samples, check, { discard: true })
      assert.isAbove(refusals, 300)
    })
  )
})
