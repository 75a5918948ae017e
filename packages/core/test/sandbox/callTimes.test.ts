import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Pipeline from "../../src/calls/Pipeline.ts"
import * as operations from "../../src/operations.ts"
import { World } from "../../src/testing/World.ts"
import { RequestId } from "../../src/wire/Ids.ts"
import * as Json from "../../src/wire/Json.ts"
import {
  advance,
  pass,
  pathsOf,
  read,
  refusal,
  reset,
  start,
  startOf,
  startWith,
  testInWorld
} from "../support/world.ts"

const year = 31_536_000

/** A start call whose body arrives slowly. */
const slowStart = (afterMs: number) =>
  Effect.gen(function* () {
    const { keys } = yield* World
    const reply = yield* Pipeline.call(operations.startQuoteRequest, {
      request_id: RequestId.make("req_00000000000000000000000001"),
      credentials: { key: keys.sandbox.server, read_handle: null, address: "", keyless: false },
      revision: { header: null },
      idempotency_key: null,
      input: Effect.delay(Effect.succeed(startOf({ request_key: "slow" })), afterMs)
    })
    return Json.decode(reply.json)
  })

describe("a call", () => {
  testInWorld(
    "happens at the workspace time at which its body arrives",
    Effect.gen(function* () {
      const slow = yield* Effect.forkChild(slowStart(5_000))
      yield* TestClock.adjust(0)
      yield* advance(3_600)
      yield* pass(5_000)
      const { created_at, id } = yield* Fiber.join(slow)
      const sandbox = yield* Effect.flatMap(World, ({ call }) => call(operations.getSandbox, {}))
      assert.strictEqual(created_at, sandbox.workspace_time)
      yield* advance(60)
      assert.strictEqual((yield* read(id)).quote_request.status, "completed")
    })
  )
})

describe("an Idempotency-Key", () => {
  testInWorld(
    "is remembered even if its call has advanced the clock by a year",
    Effect.gen(function* () {
      const first = yield* advance(year, { idempotency_key: "long" })
      yield* advance(1, { idempotency_key: "short" })
      assert.deepStrictEqual(yield* advance(year, { idempotency_key: "long" }), first)
    })
  )

  testInWorld(
    "is remembered even after later resets if it was used for a reset",
    Effect.gen(function* () {
      const first = yield* reset({ idempotency_key: "first" })
      yield* reset({ idempotency_key: "second" })
      assert.deepStrictEqual(yield* reset({ idempotency_key: "first" }), first)
    })
  )
})

describe("an operation without fields", () => {
  testInWorld(
    "rejects every field, whatever its name",
    Effect.gen(function* () {
      const { call } = yield* World
      const { id } = yield* start()
      for (const name of ["dry_run", "__proto__", "constructor"]) {
        const input: unknown = JSON.parse(`{"${name}":null}`)
        assert.deepStrictEqual(pathsOf(yield* refusal(call(operations.resetSandbox, input))), [name])
        assert.deepStrictEqual(pathsOf(yield* refusal(call(operations.forceExpiry, input))), [name])
      }
      assert.strictEqual((yield* read(id)).quote_request.id, id)
    })
  )
})

describe("a reset", () => {
  testInWorld(
    "ends reads that wait for removed requests",
    Effect.gen(function* () {
      const { id } = yield* start({ scenario: "waits_in_queue" })
      const waiting = yield* Effect.forkChild(refusal(read(id, {}, { wait_seconds: 20 })))
      yield* TestClock.adjust(0)
      yield* reset()
      assert.strictEqual((yield* Fiber.join(waiting))._tag, "not_found")
    })
  )
})

describe("wrong fields", () => {
  testInWorld(
    "are reported together with a missing consent and a wrong Idempotency-Key",
    Effect.gen(function* () {
      const { call } = yield* World
      const nothing = yield* refusal(startWith({}))
      assert.includeMembers([...pathsOf(nothing)], ["line", "request_key", "application", "consent_receipt_id"])
      const time = yield* refusal(call(operations.advanceTime, { seconds: 0, x: 1 }, { idempotency_key: " " }))
      assert.sameMembers([...pathsOf(time)], ["Idempotency-Key", "seconds", "x"])
    })
  )

  testInWorld(
    "include nonexistent dates in a list call's time filters",
    Effect.gen(function* () {
      const { call } = yield* World
      const input = { created_after: "2026-02-30T00:00:00Z", updated_since: "2026-01-01T24:00:00Z" }
      const refused = yield* refusal(call(operations.listQuoteRequests, input))
      assert.sameMembers([...pathsOf(refused)], ["created_after", "updated_since"])
    })
  )
})
