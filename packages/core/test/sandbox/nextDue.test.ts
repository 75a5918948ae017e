import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { namesOf } from "../../src/carriers/Scenario.ts"
import * as operations from "../../src/operations.ts"
import { World } from "../../src/testing/World.ts"
import { toMillis } from "../../src/wire/Timestamp.ts"
import { advance, beginning, cancel, feed, forceExpiry, list, reset, start, testInWorld } from "../support/world.ts"

const sandbox = Effect.flatMap(World, ({ call }) => call(operations.getSandbox, {}))

/** Before events are old enough to be erased. */
const longSeconds = 20 * 86_400

/** Moves the clock to the next due time; null if nothing is due soon. */
const moveToNext = Effect.gen(function* () {
  const { next_due, workspace_time } = yield* sandbox
  if (next_due === null || toMillis(next_due.at) > beginning + longSeconds * 1_000) return null
  const seconds = Math.ceil((toMillis(next_due.at) - toMillis(workspace_time)) / 1_000)
  const { workspace } = yield* advance(seconds)
  return { ...next_due, after: workspace }
})

/** Moves the clock from one due step to the next until nothing is due. Returns the steps. */
const moveToEnd = Effect.gen(function* () {
  const seen: Array<Effect.Success<typeof moveToNext>> = []
  for (let next = yield* moveToNext; next !== null; next = yield* moveToNext) {
    assert.isBelow(seen.push(next), 200, "it ends")
  }
  return seen.filter((next) => next !== null)
})

const happened = Effect.map(feed(), (events) => events.map(({ occurred_at, type }) => `${occurred_at} ${type}`))

describe("the next due step", () => {
  testInWorld(
    "is null while no work is due, such as after a cancellation",
    Effect.gen(function* () {
      assert.isNull((yield* sandbox).next_due)
      const { id } = yield* start()
      assert.strictEqual((yield* sandbox).next_due?.quote_request_id, id)
      yield* cancel(id)
      assert.isNull((yield* sandbox).next_due)
      yield* start({ request_key: "second" })
      yield* advance(60)
      assert.strictEqual((yield* sandbox).next_due?.what, "quote_expiry")
      yield* forceExpiry()
      assert.isNull((yield* sandbox).next_due)
    })
  )

  testInWorld(
    "names the affected request, carrier or quote",
    Effect.gen(function* () {
      const { id } = yield* start({ scenario: "quote_expires_soon" })
      const seen = yield* moveToEnd
      const [request] = (yield* list()).quote_requests
      for (const { carrier_id, quote_id, quote_request_id, what } of seen) {
        assert.strictEqual(quote_request_id, id, what)
        if (what === "carrier_answer") {
          assert.isTrue(request?.carriers.some(({ carrier }) => carrier.id === carrier_id))
        }
        if (what === "quote_expiry") assert.match(quote_id ?? "", /^qt_/)
      }
      assert.includeMembers(
        seen.map(({ what }) => what),
        ["carriers_asked", "carrier_answer", "quote_expiry"]
      )
    })
  )

  for (const scenario of namesOf("renters")) {
    testInWorld(
      `lets a caller advance step by step to the same feed as in one long advance (${scenario})`,
      Effect.gen(function* () {
        yield* Effect.exit(start({ scenario }))
        for (const { after, at, what } of yield* moveToEnd) {
          assert.isAtLeast(toMillis(after.workspace_time), toMillis(at), what)
          if (after.next_due !== null) assert.isAbove(toMillis(after.next_due.at), toMillis(at), what)
        }
        const inSteps = yield* happened
        yield* reset()
        yield* Effect.exit(start({ scenario }))
        yield* advance(longSeconds)
        assert.deepStrictEqual(yield* happened, inSteps)
      })
    )
  }
})
