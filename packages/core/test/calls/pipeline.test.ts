import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import type { FinishedCall } from "../../src/calls/FinishedCall.ts"
import { OnFinishedCall } from "../../src/calls/FinishedCall.ts"
import { StorageUnavailable } from "../../src/storage/Storage.ts"
import { World } from "../../src/testing/World.ts"
import * as ApiError from "../../src/wire/ApiError.ts"
import { advance, events, list, pass, read, refusal, select, start, testInWorld, work } from "../support/world.ts"

/** Runs a body, and returns its recorded calls. */
const noting = <A, E, R>(body: Effect.Effect<A, E, R>) => {
  const notes: Array<FinishedCall> = []
  return Effect.as(
    Effect.provideService(Effect.exit(body), OnFinishedCall, (call: FinishedCall) => notes.push(call)),
    notes
  )
}

describe("a call", () => {
  testInWorld(
    "is checked in this order: caller, revision, authority, input",
    Effect.gen(function* () {
      const wrong = { revision: "2020-01-01", as: "widget" } as const
      assert.strictEqual((yield* refusal(list({ limit: 0 }, { ...wrong, key: "x" })))._tag, "authentication_failed")
      assert.strictEqual((yield* refusal(list({ limit: 0 }, wrong)))._tag, "invalid_version")
      assert.strictEqual((yield* refusal(list({ limit: 0 }, { as: "widget" })))._tag, "forbidden")
      assert.strictEqual((yield* refusal(list({ limit: 0 })))._tag, "invalid_input")
    })
  )

  testInWorld(
    "is logged even if it is refused, unless its key is invalid",
    Effect.gen(function* () {
      const notes = yield* noting(
        Effect.all([
          start(),
          refusal(list({}, { as: "widget" })),
          refusal(read("qreq_x")),
          refusal(events({ limit: 0 })),
          refusal(list({}, { key: "x" })),
          refusal(list({}, { revision: "x" }))
        ])
      )
      assert.deepStrictEqual(
        notes.map(({ caller, error_code, operation }) => [operation, caller.kind, error_code]),
        [
          ["start_quote_request", "server", null],
          ["list_quote_requests", "widget", "forbidden"],
          ["get_quote_request", "server", "not_found"],
          ["list_events", "server", "invalid_input"],
          ["list_quote_requests", "server", "invalid_version"]
        ]
      )
      const { keys } = yield* World
      assert.notInclude(JSON.stringify(notes), keys.sandbox.server)
    })
  )

  testInWorld(
    "is logged with its duration, but not if its caller disconnected",
    Effect.gen(function* () {
      const { id } = yield* start()
      const noted = yield* Effect.forkChild(noting(read(id, {}, { wait_seconds: 7 })))
      yield* pass(7_000)
      const [call] = yield* Fiber.join(noted)
      assert.deepInclude(call, { duration_ms: 7_000, created_at: Date.parse("2026-11-20T12:00:00.000Z") })
      const hungUp = noting(
        Effect.gen(function* () {
          const reader = yield* Effect.forkChild(read(id, {}, {}))
          yield* TestClock.adjust(0)
          yield* Fiber.interrupt(reader)
        })
      )
      assert.deepStrictEqual(yield* hungUp, [])
    })
  )

  testInWorld("fails with internal_error and no details after a defect; the log entry has the request id", () => {
    let broken = false
    const logged: Array<string> = []
    return {
      around: (storage) => ({
        ...storage,
        page: (query) => (broken ? Effect.die(new Error("the secret inside")) : storage.page(query))
      }),
      body: Effect.gen(function* () {
        broken = true
        const error = yield* refusal(list())
        broken = false
        assert.deepStrictEqual(
          [error._tag, error.status, error.retry_action, error.field_errors],
          ["internal_error", 500, "contact_support", null]
        )
        assert.notInclude(JSON.stringify(ApiError.envelope(error, "req_1", "")), "the secret inside")
        assert.lengthOf(logged, 1)
        assert.match(logged[0] ?? "", /list_quote_requests.*req_/)
        yield* list()
      }).pipe(
        Effect.provideService(
          References.CurrentLoggers,
          new Set([
            Logger.make(({ fiber, message }) => {
              logged.push(JSON.stringify([message, fiber.getRef(References.CurrentLogAnnotations)]))
            })
          ])
        )
      )
    }
  })

  testInWorld("fails with service_unavailable while storage is unavailable, and can be retried afterwards", () => {
    let down = false
    const unlessDown = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.suspend(
        (): Effect.Effect<A, E | StorageUnavailable, R> =>
          down ? Effect.fail(new StorageUnavailable({ retry_after_seconds: 7 })) : effect
      )
    return {
      around: (storage) => ({
        ...storage,
        commit: (change) => unlessDown(storage.commit(change)),
        get: (key) => unlessDown(storage.get(key)),
        page: (query) => unlessDown(storage.page(query)),
        feed: (query) => unlessDown(storage.feed(query)),
        claim: (query) => unlessDown(storage.claim(query))
      }),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({ line: "personal_auto" })
        yield* pass(6_000)
        down = true
        const refused = [yield* refusal(list()), yield* refusal(select("zero_quotes")), yield* refusal(start())]
        for (const error of refused) {
          assert.deepStrictEqual(
            [error._tag, error.status, error.retry_after_seconds, error.retry_action],
            ["service_unavailable", 503, 7, "retry"]
          )
        }
        yield* pass(20_000)
        down = false
        yield* pass(60_000)
        const { quote_request, quotes } = yield* read(id)
        assert.strictEqual(quote_request.status_details.reason, "quotes_ready")
        assert.lengthOf(quotes, quote_request.quote_ids.length)
        assert.strictEqual((yield* select("zero_quotes")).workspace.active_scenario, "zero_quotes")
      })
    }
  })

  testInWorld("runs only once: while the call is running, retries are refused with `wait`", () => {
    let slow = false
    let selections = 0
    return {
      around: (storage) => ({
        ...storage,
        commit: (change) => {
          if (!slow || !change.writes.some(({ kind }) => kind === "workspace")) return storage.commit(change)
          selections += 1
          return Effect.delay(storage.commit(change), "250 seconds")
        }
      }),
      body: Effect.gen(function* () {
        const once = { idempotency_key: "long" }
        // The workspace has been called before, and has its pin.
        yield* list()
        slow = true
        const first = yield* Effect.forkChild(select("zero_quotes", once))
        for (let minutes = 0; minutes < 4; minutes++) {
          yield* pass(60_000)
          const error = yield* refusal(select("zero_quotes", once))
          assert.deepStrictEqual([error._tag, error.retry_action], ["conflict", "wait"])
        }
        slow = false
        yield* pass(60_000)
        const selected = yield* Fiber.join(first)
        assert.strictEqual(selected.workspace.active_scenario, "zero_quotes")
        assert.deepStrictEqual(yield* select("zero_quotes", once), selected)
        assert.strictEqual(selections, 1)
      })
    }
  })

  testInWorld("can be retried half a minute after its host has died, and not before", () => {
    let dies = false
    return {
      around: (storage) => ({
        ...storage,
        commit: (change) =>
          dies && !change.writes.some(({ body, kind }) => kind === "idempotency_record" && body.includes('"running"'))
            ? Effect.die("the host is dead")
            : storage.commit(change)
      }),
      body: Effect.gen(function* () {
        const once = { idempotency_key: "once" }
        // The workspace has been called before, and has its pin.
        yield* list()
        dies = true
        assert.strictEqual((yield* refusal(select("zero_quotes", once)))._tag, "internal_error")
        dies = false
        yield* pass(29_999)
        const error = yield* refusal(select("zero_quotes", once))
        assert.deepStrictEqual([error._tag, error.retry_action], ["conflict", "wait"])
        yield* pass(1)
        assert.strictEqual((yield* select("zero_quotes", once)).workspace.active_scenario, "zero_quotes")
        assert.strictEqual((yield* advance(1)).workspace.active_scenario, "zero_quotes")
      })
    }
  })
})
