import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type AttemptOutcome, shutOffAfterMs } from "../../src/webhooks/records/Delivery.ts"
import * as EndpointHealth from "../../src/webhooks/records/EndpointHealth.ts"
import { SubscriptionId } from "../../src/wire/Ids.ts"
import { toMillis } from "../../src/wire/Timestamp.ts"
import { pass, refusal, runDue, start, work } from "../support/world.ts"
import { answered, confirmed, create, disable, health, sendTest, silence, testWebhooks } from "./support.ts"

const live = { environment: "live" } as const

describe("a subscription's health", () => {
  testWebhooks(
    "reflects the latest attempt, and gives a reason",
    () =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        const shown = Effect.map(health(id, live), ({ reason, ...rest }) => {
          assert.match(reason, /^[A-Z].*\.$/)
          return { ...rest, reason }
        })
        assert.deepStrictEqual(yield* shown, {
          subscription_id: id,
          state: "healthy",
          last_attempt: null,
          reason: "Nothing has been sent yet."
        })
        // Each attempt, successful or not, changes the state.
        const reasons: Array<string> = []
        for (const [state, status, response_status_code] of [
          ["healthy", "succeeded", 200],
          ["failing", "failed", 500],
          ["failing", "failed", null],
          ["healthy", "succeeded", 200]
        ] as const) {
          yield* pass(1)
          yield* sendTest(id, live)
          yield* runDue
          const now = yield* shown
          assert.strictEqual(now.state, state)
          assert.deepStrictEqual(
            [now.last_attempt?.status, now.last_attempt?.response_status_code],
            [status, response_status_code]
          )
          reasons.push(now.reason)
        }
        assert.include(reasons[1] ?? "", "500")
        assert.include(reasons[2] ?? "", "no HTTP response")
        // A disabled subscription says so; an unknown one has no health.
        yield* disable(id, live)
        assert.deepStrictEqual(
          [(yield* shown).state, (yield* shown).reason],
          ["disabled", "The subscription is disabled."]
        )
        assert.strictEqual((yield* refusal(health("sub_x", live)))._tag, "not_found")
      }),
    { send: (_, nth) => [confirmed, answered(500), silence][nth - 1] ?? confirmed }
  )

  testWebhooks(
    "reflects the attempt that started last, whichever ends last",
    () =>
      Effect.gen(function* () {
        const { id } = yield* create({}, live)
        yield* work
        yield* start({}, live)
        yield* pass(1_000)
        yield* start({}, live)
        yield* pass(4_000)
        assert.deepStrictEqual((yield* health(id, live)).last_attempt?.attempted_at, "2026-11-20T12:00:01.000Z")
        yield* pass(10_000)
        const { state, last_attempt } = yield* health(id, live)
        assert.deepStrictEqual([state, last_attempt?.attempted_at], ["healthy", "2026-11-20T12:00:01.000Z"])
      }),
    {
      send: (_, nth) => (nth === 1 ? silence : confirmed),
      send_takes_ms: (nth) => (nth === 1 ? 14_000 : 10)
    }
  )

  it("is the same, whatever the order in which attempts end", () => {
    const outcomes = [
      [0, false],
      [10, true],
      [20, false],
      [30, false]
    ] as const
    const after = (order: ReadonlyArray<number>): EndpointHealth.EndpointHealth =>
      order.reduce<EndpointHealth.EndpointHealth>(
        (health, index) => {
          const [at, confirms] = outcomes[index] ?? assert.fail("no outcome")
          const outcome: AttemptOutcome = {
            attempted_at: at,
            ended_at: at,
            confirmed: confirms,
            response_status_code: at,
            response_duration_ms: 0,
            failure: null,
            trigger: "scheduled"
          }
          return EndpointHealth.afterAttempt(health, outcome)
        },
        EndpointHealth.unknown(SubscriptionId.make(`sub_${"0".repeat(26)}`))
      )
    const inOrder = after([0, 1, 2, 3])
    assert.deepStrictEqual([inOrder.failing_since, inOrder.succeeded_at], [20, 10])
    for (const order of permutations([0, 1, 2, 3])) {
      const health = after(order)
      assert.strictEqual(toMillis(health.last_attempt?.attempted_at ?? ""), 30, String(order))
      assert.strictEqual(health.succeeded_at, 10)
      // A success that is reported late clears the failures in between, but not the fact that the endpoint is
      // failing now.
      assert.include([20, 30], health.failing_since, String(order))
    }
    assert.isFalse(EndpointHealth.isShutOff(inOrder, 20 + shutOffAfterMs - 1))
    assert.isTrue(EndpointHealth.isShutOff(inOrder, 20 + shutOffAfterMs))
  })
})

const permutations = (items: ReadonlyArray<number>): ReadonlyArray<ReadonlyArray<number>> =>
  items.length === 0
    ? [[]]
    : items.flatMap((item) => permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]))
