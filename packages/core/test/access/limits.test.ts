import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { type Limits, readLimits, standardLimits } from "../../src/access/limits/Limits.ts"
import type { Operation } from "../../src/calls/Operation.ts"
import { World } from "../../src/testing/World.ts"
import * as Webhooks from "../../src/webhooks/WebhookOperations.ts"
import type { ApiError } from "../../src/wire/ApiError.ts"
import {
  advance,
  agreed,
  cancel,
  keyless,
  list,
  live,
  pass,
  read,
  refusal,
  reset,
  start,
  startWith,
  testInWorld
} from "../support/world.ts"

const standard = { limits: standardLimits }

/** Repeats a call until it is refused. Returns the number of successes and the refusal. */
const exhaust = <A, R>(call: Effect.Effect<A, ApiError, R>, atMost = 10_000) =>
  Effect.gen(function* () {
    for (let passed = 0; passed <= atMost; passed++) {
      const result = yield* Effect.result(call)
      if (result._tag === "Failure") return { passed, refused: result.failure }
    }
    return assert.fail("no limit was reached")
  })

describe("a host's limits", () => {
  it("equal the documented limits unless a setting overrides a limit", () => {
    const setting = {
      keys: { live: { start: { per_minute: 600, per_day: null } }, sandbox: { read: { per_day: 7 } } },
      keyless: { start: { per_minute: 1 } },
      organization_factor: 2
    }
    const { sandbox, live } = standardLimits.keys
    assert.deepStrictEqual(
      readLimits(JSON.stringify(setting)),
      Result.succeed({
        ...standardLimits,
        keys: {
          live: { ...live, start: { per_minute: 600, per_day: null } },
          sandbox: { ...sandbox, read: { per_minute: 600, per_day: 7 } }
        },
        keyless: { ...standardLimits.keyless, start: { per_minute: 1, per_day: null } },
        organization_factor: 2
      })
    )
    assert.deepStrictEqual(readLimits("{}"), Result.succeed(standardLimits))
  })

  it.each([
    ["many", "this is not valid JSON"],
    [
      '{"keys":{"live":{"start":{"per_minute":0}}}}',
      "keys.live.start.per_minute: Must be a whole number of at least 1, or null."
    ],
    ['{"keys":{"test":{}}}', "keys: Every field must be one of live, sandbox."],
    [
      '{"organization_factor":null,"keyless":7}',
      "organization_factor: Must be a whole number of at least 1, or null. keyless: Must be an object."
    ]
  ])("cannot be set to '%s'", (setting, wrong) => {
    assert.deepStrictEqual(readLimits(setting), Result.fail(wrong))
  })
})

describe("the rate limit", () => {
  testInWorld(
    "allows a key 60 starts, 600 reads and 120 other calls a minute, counted separately",
    Effect.gen(function* () {
      yield* pass(1_500)
      const starts = yield* exhaust(Effect.suspend(() => start({}, live)))
      assert.strictEqual(starts.passed, 60)
      assert.strictEqual(starts.refused._tag, "rate_limited")
      assert.strictEqual(starts.refused.message, "The limit of 60 quote request starts per key per minute was reached.")
      const reads = yield* exhaust(list({}, live))
      assert.strictEqual(reads.passed, 600)
      assert.strictEqual(reads.refused.message, "The limit of 600 reads per key per minute was reached.")
      const others = yield* exhaust(Effect.catchTag(cancel("qreq_x", live), "not_found", () => Effect.void))
      assert.strictEqual(others.passed, 120)
      assert.deepStrictEqual(
        [starts, reads, others].map(({ refused }) =>
          [refused.status, refused.retry_action, refused.retry_after_seconds].join(" ")
        ),
        ["429 wait 59", "429 wait 59", "429 wait 59"]
      )
      // Retry-After is exact: a second earlier the call is still refused, then it passes.
      yield* pass(58_000)
      assert.strictEqual((yield* refusal(list({}, live))).retry_after_seconds, 1)
      yield* pass(1_000)
      yield* list({}, live)
      yield* start({}, live)
    }),
    standard
  )

  testInWorld(
    "applies to all of an organization's keys together, in addition to each key's own limit",
    Effect.gen(function* () {
      const passed: Array<number> = []
      for (const as of ["server", "platform", "widget"] as const) {
        passed.push((yield* exhaust(Effect.suspend(() => start({}, { ...live, as })))).passed)
      }
      assert.deepStrictEqual(passed, [3, 3, 0])
      const { refused } = yield* exhaust(Effect.suspend(() => start({}, { ...live, as: "widget" })))
      assert.strictEqual(
        refused.message,
        "The limit of 6 quote request starts per organization per minute was reached."
      )
    }),
    { limits: withStarts({ per_minute: 3, per_day: null }, 2) }
  )

  testInWorld(
    "limits a sandbox key's calls per day, with a Retry-After until the next day",
    Effect.gen(function* () {
      // Eleven hours and 59 minutes before the day ends.
      yield* pass(60_000)
      assert.strictEqual((yield* exhaust(Effect.suspend(() => start()))).refused.retry_after_seconds, 60)
      yield* pass(60_000)
      const { passed, refused } = yield* exhaust(Effect.suspend(() => start()))
      assert.strictEqual(passed, 2)
      assert.strictEqual(refused.message, "The limit of 5 quote request starts per key per day was reached.")
      assert.strictEqual(refused.retry_after_seconds, 12 * 3_600 - 120)
      yield* pass(12 * 3_600_000 - 120_000 - 1_000)
      assert.strictEqual((yield* refusal(start())).retry_after_seconds, 1)
      yield* pass(1_000)
      yield* start()
    }),
    { limits: withStarts({ per_minute: 3, per_day: 5 }, 100) }
  )

  testInWorld(
    "reports the daily limit if both the per-minute and the daily limit are reached",
    Effect.gen(function* () {
      const { refused } = yield* exhaust(Effect.suspend(() => start()))
      assert.strictEqual(refused.retry_after_seconds, 12 * 3_600)
      assert.match(refused.message, /per day was reached/)
    }),
    { limits: withStarts({ per_minute: 3, per_day: 3 }, 100) }
  )

  testInWorld(
    "counts in real time: neither advancing nor resetting the sandbox restores any calls",
    Effect.gen(function* () {
      yield* exhaust(Effect.suspend(() => start()))
      yield* advance(86_400 * 2)
      assert.strictEqual((yield* refusal(start()))._tag, "rate_limited")
      yield* reset()
      assert.strictEqual((yield* refusal(start()))._tag, "rate_limited")
    }),
    standard
  )

  testInWorld(
    "does not count calls over the limit or calls without permission",
    Effect.gen(function* () {
      for (let i = 0; i < 700; i++) {
        assert.strictEqual((yield* refusal(list({}, { ...live, as: "widget" })))._tag, "forbidden")
      }
      yield* exhaust(list({}, live))
      for (let i = 0; i < 100; i++) yield* refusal(list({}, live))
      yield* pass(60_000)
      assert.strictEqual((yield* exhaust(list({}, live))).passed, 600)
    }),
    standard
  )

  testInWorld(
    "counts a health read, a delivery read and a replay as two calls each",
    Effect.gen(function* () {
      const { call } = yield* World
      const unknown = { id: "sub_x", event_id: "evt_x" }
      const passes = Effect.fnUntraced(function* <Output, R>(
        operation: Operation<string, unknown, Output, R>,
        input: object
      ) {
        const found = Effect.catchTag(call(operation, input, live), "not_found", () => Effect.void)
        const { passed, refused } = yield* exhaust(found)
        assert.strictEqual(refused.message, "The limit of 12 reads per key per minute was reached.")
        yield* pass(60_000)
        return passed
      })
      assert.strictEqual(yield* passes(Webhooks.getEventSubscriptionHealth, { id: "sub_x" }), 6)
      assert.strictEqual(yield* passes(Webhooks.getEventDelivery, unknown), 6)
      assert.strictEqual(yield* passes(Webhooks.listEventDeliveries, { id: "sub_x" }), 12)
      // The checks before a test and a replay. Neither counts against the limit of starts.
      assert.strictEqual(yield* passes(Webhooks.sendTestEvent, { id: "sub_x" }), 12)
      assert.strictEqual(yield* passes(Webhooks.replayEventDelivery, unknown), 6)
      yield* exhaust(
        Effect.catchTag(call(Webhooks.sendTestEvent, { id: "sub_x" }, live), "not_found", () => Effect.void)
      )
      yield* start({}, live)
    }),
    { limits: withLive({ read: { per_minute: 12, per_day: null }, start: { per_minute: 1, per_day: null } }) }
  )

  testInWorld(
    "counts a retry like any other call",
    Effect.gen(function* () {
      const again = { ...live, idempotency_key: "again" }
      const { call } = yield* World
      const test = Effect.catchTag(call(Webhooks.sendTestEvent, { id: "sub_x" }, again), "not_found", () => Effect.void)
      assert.strictEqual((yield* exhaust(test)).passed, 3)
    }),
    { limits: withLive({ read: { per_minute: 3, per_day: null } }) }
  )

  testInWorld(
    "limits calls with invalid keys to 60 a minute per address, but admits known valid keys",
    Effect.gen(function* () {
      yield* list()
      const wrong = exhaust(Effect.catchTag(list({}, { key: "wrong" }), "authentication_failed", () => Effect.void))
      const { passed, refused } = yield* wrong
      assert.strictEqual(passed, 60)
      assert.strictEqual(refused.message, "The limit of 60 failed authentications per address per minute was reached.")
      assert.strictEqual((yield* refusal(list({}, { key: null })))._tag, "rate_limited")
      yield* list()
      // A key that this host has never accepted may be a guess, so it counts against the address.
      assert.strictEqual((yield* refusal(list({}, { as: "platform" })))._tag, "rate_limited")
      yield* pass(2_000)
      yield* list()
      const elsewhere = { key: "wrong", address: "192.0.2.1" }
      assert.strictEqual((yield* refusal(list({}, elsewhere)))._tag, "authentication_failed")
      yield* pass(60_000)
      assert.strictEqual((yield* wrong).passed, 60)
    }),
    standard
  )

  testInWorld("limits callers without a key to 10 starts and 120 reads a minute per address", () => {
    let made = 0
    return {
      ...standard,
      body: Effect.gen(function* () {
        const here = { key: null, address: "192.0.2.1" }
        const startOne = Effect.suspend(() => {
          const request_key = `0b6d7f6e-3c1f-4f0e-9a53-${String(++made).padStart(12, "0")}`
          return startWith(agreed({ request_key }), here)
        })
        const starts = yield* keyless(exhaust(startOne))
        assert.strictEqual(starts.passed, 10)
        assert.match(starts.refused.message, /^The limit of 10 .* per unauthenticated address per minute/)
        const reads = yield* keyless(exhaust(Effect.catchTag(read("qreq_x", here), "not_found", () => Effect.void)))
        assert.strictEqual(reads.passed, 120)
        const there = { key: null, address: "192.0.2.2" }
        assert.strictEqual((yield* keyless(refusal(read("qreq_x", there))))._tag, "not_found")
        yield* start()
      })
    }
  })
})

function withStarts(start: { per_minute: number; per_day: number | null }, organization_factor: number): Limits {
  const keys = { ...standardLimits.keys.live, start }
  return { ...standardLimits, keys: { live: keys, sandbox: keys }, organization_factor }
}

function withLive(kinds: Partial<Limits["keyless"]>): Limits {
  return { ...standardLimits, keys: { ...standardLimits.keys, live: { ...standardLimits.keys.live, ...kinds } } }
}
