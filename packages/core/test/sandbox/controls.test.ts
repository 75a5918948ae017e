import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Pipeline from "../../src/calls/Pipeline.ts"
import { namesOf } from "../../src/carriers/Scenario.ts"
import * as operations from "../../src/operations.ts"
import { type CallOptions, World } from "../../src/testing/World.ts"
import * as ApiError from "../../src/wire/ApiError.ts"
import { RequestId } from "../../src/wire/Ids.ts"
import * as Json from "../../src/wire/Json.ts"
import {
  advance,
  feed,
  forceExpiry,
  list,
  pass,
  pathsOf,
  read,
  refusal,
  reset,
  select,
  start,
  testInWorld,
  work
} from "../support/world.ts"

const key = "once"
const once: CallOptions = { idempotency_key: key }

const workspace = Effect.flatMap(World, ({ call }) => call(operations.getSandbox, {}))

/** An advance as a host makes it, with the key that was sent. Returns whether the response is a replay. */
const advanceWith = (idempotency_key: string | null, seconds = 60) =>
  Effect.gen(function* () {
    const { keys } = yield* World
    const reply = yield* Pipeline.call(operations.advanceTime, {
      request_id: RequestId.make("req_00000000000000000000000001"),
      credentials: { key: keys.sandbox.server, read_handle: null, address: "", keyless: false },
      revision: { header: null },
      idempotency_key,
      input: Effect.succeed({ seconds })
    })
    return { body: Json.decode(reply.json), replayed: reply.replayed, text: reply.json.text }
  })

describe("a sandbox control with an Idempotency-Key", () => {
  testInWorld(
    "returns the first response, marked as a replay, when the key and body are repeated",
    Effect.gen(function* () {
      const first = yield* advanceWith(key)
      yield* advance(30)
      yield* pass(5_000)
      const second = yield* advanceWith(key)
      assert.deepStrictEqual([first.replayed, second.replayed], [false, true])
      assert.strictEqual(second.text, first.text)
      assert.strictEqual((yield* workspace).clock_offset_seconds, 90)
    })
  )

  testInWorld(
    "rejects a different body, but leaves the key usable for a different control",
    Effect.gen(function* () {
      yield* advance(60, once)
      const error = yield* refusal(advance(61, once))
      assert.deepStrictEqual([error._tag, error.retry_action], ["conflict", "use_new_request_key"])
      assert.strictEqual((yield* select("zero_quotes", once)).workspace.active_scenario, "zero_quotes")
      assert.strictEqual((yield* workspace).clock_offset_seconds, 60)
    })
  )

  testInWorld(
    "is refused with `wait` while the first call is running",
    Effect.gen(function* () {
      yield* Effect.forEach(Array.from({ length: 50 }), () => start({ line: "personal_auto" }))
      const all = yield* Effect.forEach(Array.from({ length: 20 }), () => Effect.result(advance(60, once)), {
        concurrency: "unbounded"
      })
      const refused = all.flatMap((result) => (result._tag === "Failure" ? [result.failure] : []))
      assert.isNotEmpty(refused)
      for (const error of refused) assert.deepStrictEqual([error._tag, error.retry_action], ["conflict", "wait"])
      assert.strictEqual((yield* workspace).clock_offset_seconds, 60)
      yield* advance(60, once)
      assert.strictEqual((yield* workspace).clock_offset_seconds, 60)
    })
  )

  testInWorld(
    "runs to its end even if its caller disconnects",
    Effect.gen(function* () {
      yield* work
      for (let i = 0; i < 20; i++) yield* start({ line: "personal_auto" })
      const caller = yield* Effect.forkChild(advance(60, once))
      yield* Effect.yieldNow
      const hungUp = yield* Effect.forkChild(Fiber.interrupt(caller))
      yield* pass(1_000)
      yield* Fiber.join(hungUp)
      assert.strictEqual((yield* workspace).clock_offset_seconds, 60)
      assert.strictEqual((yield* advance(60, once)).workspace.clock_offset_seconds, 60)
      assert.strictEqual((yield* workspace).clock_offset_seconds, 60)
    })
  )

  testInWorld(
    "requires a key of 1 to 255 visible ASCII characters",
    Effect.gen(function* () {
      for (const wrong of [null, "", " ", "a b", "ü", "k".repeat(256), "a\n"]) {
        const error = yield* refusal(advanceWith(wrong))
        assert.deepStrictEqual([error._tag, pathsOf(error)], ["invalid_input", ["Idempotency-Key"]])
      }
      yield* advanceWith("~".repeat(255))
      assert.strictEqual((yield* workspace).clock_offset_seconds, 60)
    })
  )

  testInWorld(
    "frees its key if it is refused, so that a different body is accepted",
    Effect.gen(function* () {
      assert.strictEqual((yield* refusal(select("no_such", once)))._tag, "invalid_input")
      assert.strictEqual((yield* refusal(advance(0, once)))._tag, "invalid_input")
      assert.strictEqual((yield* select("zero_quotes", once)).workspace.active_scenario, "zero_quotes")
      assert.strictEqual((yield* advance(5, once)).workspace.clock_offset_seconds, 5)
    })
  )

  testInWorld(
    "is remembered for more than a day of workspace time",
    Effect.gen(function* () {
      yield* select("zero_quotes", once)
      yield* advance(86_400 * 2)
      yield* select("quotes_ready", { idempotency_key: "another" })
      assert.strictEqual((yield* select("zero_quotes", once)).workspace.active_scenario, "zero_quotes")
      assert.strictEqual((yield* workspace).active_scenario, "quotes_ready")
    })
  )
})

describe("a sandbox reset", () => {
  testInWorld(
    "removes and counts all data, and returns the clock to real time",
    Effect.gen(function* () {
      yield* select("quotes_ready")
      yield* start({ line: "personal_auto" })
      yield* start({ scenario: "waits_in_queue" })
      yield* advance(60)
      yield* forceExpiry()
      const { control, removed, replay, workspace: after } = yield* reset()
      assert.deepStrictEqual([control, replay], ["reset", null])
      assert.deepStrictEqual(removed, {
        quote_requests: 2,
        quotes: 5,
        events: 18,
        deliveries: 0,
        // The queued request's event, and the expiry of five quotes.
        scheduled: 6
      })
      assert.deepStrictEqual(after, {
        partner_id: after.partner_id,
        environment: "sandbox",
        active_scenario: null,
        clock_offset_seconds: 0,
        workspace_time: "2026-11-20T12:00:00.000Z",
        quotes_expired_at: null,
        reset_count: 1,
        next_due: null,
        scenario_catalog_version: "2026-09-26.1"
      })
      assert.deepStrictEqual((yield* list()).quote_requests, [])
      assert.deepStrictEqual(yield* feed(), [])
      yield* advance(3_600)
      assert.deepStrictEqual(yield* feed(), [])
    })
  )

  testInWorld(
    "keeps the responses stored for idempotency keys, but frees every request_key",
    Effect.gen(function* () {
      const { id } = yield* start({ request_key: "mine" })
      const advanced = yield* advance(60, once)
      const first = yield* reset(once)
      yield* start({ request_key: "another" })
      const again = yield* reset(once)
      assert.deepStrictEqual(again, first)
      assert.strictEqual(again.workspace.reset_count, 1)
      assert.lengthOf((yield* list()).quote_requests, 1)
      assert.strictEqual((yield* refusal(read(id)))._tag, "not_found")
      assert.notStrictEqual((yield* start({ request_key: "mine" })).id, id)
      assert.deepStrictEqual(yield* advance(60, once), advanced)
      assert.strictEqual((yield* refusal(advance(7, once)))._tag, "conflict")
    })
  )

  testInWorld(
    "does not affect the live workspace",
    Effect.gen(function* () {
      const { id } = yield* start({}, { environment: "live" })
      yield* reset()
      assert.strictEqual((yield* read(id, { environment: "live" })).quote_request.id, id)
    })
  )

  testInWorld(
    "leaves no data from before the reset, even while a runner is running jobs",
    Effect.gen(function* () {
      yield* work
      for (let round = 1; round <= 5; round++) {
        yield* Effect.forEach(Array.from({ length: 10 }), () => start({ line: "personal_auto" }))
        yield* pass(round * 2_500)
        yield* reset()
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(yield* feed(), [])
      }
      yield* pass(120_000)
      assert.deepStrictEqual(yield* feed(), [])
      const { id } = yield* start()
      yield* pass(60_000)
      assert.strictEqual((yield* read(id)).quote_request.status, "completed")
    })
  )
})

describe("the sandbox's scenarios", () => {
  testInWorld(
    "are all listed in the error for an unknown scenario",
    Effect.gen(function* () {
      const { call } = yield* World
      const { scenario_catalog_version, scenarios } = yield* call(operations.listSandboxScenarios, {})
      assert.strictEqual(scenario_catalog_version, "2026-09-26.1")
      assert.lengthOf(scenarios, 24)
      const error = yield* refusal(select("no_such"))
      assert.deepStrictEqual(error.field_errors, [
        { path: "scenario", message: "Must be one of the allowed values.", allowed_values: namesOf() }
      ])
      assert.strictEqual(error.status, ApiError.definitions.invalid_input.status)
      assert.notInclude(error.message, "no_such")
    })
  )
})
