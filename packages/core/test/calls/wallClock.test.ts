import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Mailboxes } from "../../src/calls/Mailboxes.ts"
import { ExchangeRecording } from "../../src/carriers/recorder/CarrierExchange.ts"
import { World } from "../../src/testing/World.ts"
import { secondMs } from "../../src/wire/Timestamp.ts"
import { all, onRecord } from "../carriers/onRecord.ts"
import { carriers, slow } from "../quoting/carriers.ts"
import { beginning, type InWorld, live, pass, read, start, startOf, work, world } from "../support/world.ts"
import { requests } from "./support.ts"

/** A test in a world whose wall clock can be set with `jump`, which affects neither monotonic time nor sleeps. */
const testJumping = (name: string, body: (jump: () => void) => InWorld<unknown>) =>
  it.effect.each([-20, 20])(`${name} (%i s)`, (seconds) =>
    Effect.gen(function* () {
      yield* TestClock.setTime(beginning)
      let aheadMs = 0
      const clock = yield* Clock.Clock
      const millis = () => clock.currentTimeMillisUnsafe() + aheadMs
      const jumping: Clock.Clock = {
        ...clock,
        currentTimeMillisUnsafe: millis,
        currentTimeMillis: Effect.sync(millis),
        currentTimeNanosUnsafe: () => BigInt(millis()) * 1_000_000n,
        currentTimeNanos: Effect.sync(() => BigInt(millis()) * 1_000_000n)
      }
      const jump = () => {
        aheadMs += seconds * secondMs
      }
      const acme = slow("acme", 4 * secondMs)
      const surroundings = Layer.succeed(ExchangeRecording, all)
      const layer = world({ ...carriers(acme), surroundings })
      yield* body(jump).pipe(Effect.scoped, Effect.provide(layer), Effect.provideService(Clock.Clock, jumping))
    })
  )

describe("a wall clock change during a call", () => {
  testJumping("does not affect the measured durations of calls, waits and exchanges with carriers", (jump) =>
    Effect.gen(function* () {
      yield* work
      const { id } = yield* start({}, live)
      const waiting = yield* Effect.forkChild(read(id, live, { wait_seconds: 7, since_version: 3 }))
      yield* pass(secondMs)
      jump()
      yield* pass(3 * secondMs)
      const [exchange] = yield* onRecord()
      assert.strictEqual(exchange?.duration_ms, 4 * secondMs)
      yield* pass(4 * secondMs)
      const [entry] = (yield* requests({ operation: "get_quote_request" }, live)).requests
      assert.isDefined(waiting.pollUnsafe())
      assert.strictEqual(entry?.duration_ms, 4 * secondMs)
    })
  )

  testJumping("neither shortens nor lengthens a long poll or a wait for a message", (jump) =>
    Effect.gen(function* () {
      const { organization } = yield* World
      const { id } = yield* start(startOf({ scenario: "waits_in_queue" }))
      const poll = yield* Effect.forkChild(read(id, {}, { wait_seconds: 7 }))
      const box = { workspace_id: organization.workspaces.sandbox, name: "one" }
      const message = yield* Effect.forkChild((yield* Mailboxes).receive(box, 7 * secondMs))
      yield* pass(secondMs)
      jump()
      yield* pass(5 * secondMs)
      assert.isUndefined(poll.pollUnsafe())
      assert.isUndefined(message.pollUnsafe())
      yield* pass(secondMs)
      assert.strictEqual((yield* Fiber.join(poll)).quote_request.id, id)
      assert.isNull(yield* Fiber.join(message))
    })
  )
})
