import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import * as operations from "../../src/operations.ts"
import { World } from "../../src/testing/World.ts"
import * as Webhooks from "../../src/webhooks/WebhookOperations.ts"
import { advance, beginning, feed, forceExpiry, read, reset, world } from "../support/world.ts"
import { ending, service, startNth, subscribe } from "./crashes.ts"
import * as Hosts from "./hosts.ts"

/** Strikes once: at the nth of these storage calls after it was armed. */
const striking = (operation: Hosts.Operation, fault: Hosts.Fault, nth: number) => {
  let left = Number.POSITIVE_INFINITY
  const strike: Hosts.Strike = (at) => (at === operation && --left === 0 ? fault : null)
  return {
    strike,
    arm: () => {
      left = nth
    },
    isOver: () => left > 0,
    disarm: () => {
      left = Number.POSITIVE_INFINITY
    }
  }
}

const at = <A, E, R>(test: Effect.Effect<A, E, R>) => Effect.andThen(TestClock.setTime(beginning), test)

/** Calls a host that is not struck. */
const on = <A>(host: Hosts.Host, call: Parameters<typeof host.ask<A>>[0]) =>
  Effect.flatMap(ending(host.ask(call)), (answer) => Option.getOrThrow(answer))

describe("a host that resumes another host's finished sandbox control", () => {
  it.effect("erases nothing that was created after the reset", () =>
    Effect.gen(function* () {
      const { strike, arm, isOver } = striking("erase", "pauses before", 1)
      const { callOnce, hosts } = yield* service(strike)
      const [, other] = hosts
      yield* on(other, subscribe)
      yield* on(other, startNth(1))
      const again = reset({ idempotency_key: "again" })
      arm()
      yield* callOnce(again)
      assert.isFalse(isOver())
      const { workspace } = yield* on(other, again)
      assert.strictEqual(workspace.reset_count, 1)
      const { id } = yield* on(other, startNth(2))
      yield* TestClock.adjust(Hosts.pausedMs)
      for (const host of hosts) yield* on(host, feed())
      const { quote_request } = yield* on(other, read(id))
      assert.strictEqual(quote_request.id, id)
    }).pipe(at, Effect.provide(world()), Effect.scoped)
  )

  it.effect("shows no event that the reset has erased", () =>
    Effect.gen(function* () {
      const { strike, arm } = striking("erase", "pauses before", 1)
      const { callOnce, hosts } = yield* service(strike)
      const [, other] = hosts
      yield* on(other, startNth(1))
      assert.lengthOf(yield* on(other, feed()), 1)
      const again = reset({ idempotency_key: "again" })
      arm()
      yield* callOnce(again)
      assert.lengthOf(yield* on(other, feed()), 0)
      yield* on(other, again)
      yield* on(other, startNth(2))
      assert.lengthOf(yield* on(other, feed()), 1)
    }).pipe(at, Effect.provide(world()), Effect.scoped)
  )

  it.effect("expires no quote that was created after the expiry", () =>
    Effect.gen(function* () {
      const { strike, arm, isOver } = striking("page", "pauses before", 1)
      const { callOnce, hosts } = yield* service(strike)
      const [, other] = hosts
      yield* on(other, startNth(1))
      yield* on(other, advance(60, { idempotency_key: "first" }))
      const expiry = forceExpiry({ idempotency_key: "expiry" })
      arm()
      yield* callOnce(expiry)
      assert.isFalse(isOver())
      yield* on(other, expiry)
      const { id } = yield* on(other, startNth(2))
      yield* on(other, advance(60, { idempotency_key: "second" }))
      yield* TestClock.adjust(Hosts.pausedMs)
      for (const host of hosts) yield* on(host, feed())
      const { quotes } = yield* on(other, read(id))
      assert.isAbove(quotes.length, 0)
      for (const { status } of quotes) assert.strictEqual(status, "active")
    }).pipe(at, Effect.provide(world()), Effect.scoped)
  )
})

const replay = Effect.flatMap(World, ({ call }) =>
  call(operations.replayEvents, { scenario: "reversed" }, { idempotency_key: "replay" })
)

/** The attempts of every delivery, and how many the replay counted, if its nth commit is struck. */
const replayStruckAt = (nth: number, fault: Hosts.Fault) =>
  Effect.gen(function* () {
    const { strike, arm, disarm, isOver } = striking("commit", fault, nth)
    const { call, hosts } = yield* service(strike)
    const { id } = yield* ending(call(subscribe))
    yield* ending(call(startNth(1)))
    yield* ending(call(advance(60, { idempotency_key: "minute" })))
    yield* TestClock.adjust(5_000)
    const events = yield* ending(call(feed()))
    arm()
    const result = yield* ending(call(replay))
    const wasOver = isOver()
    disarm()
    for (const _ of hosts) yield* ending(call(feed()))
    for (let waited = 0; waited < 40; waited++) yield* TestClock.adjust(5_000)
    const attempts: Array<string> = []
    for (const event of events) {
      const delivery = yield* ending(
        call(Effect.flatMap(World, ({ call }) => call(Webhooks.getEventDelivery, { id, event_id: event.id })))
      )
      attempts.push(delivery.attempts.map(({ trigger }) => trigger).join(" "))
    }
    return { attempts, events: events.length, deliveries: result.replay?.deliveries, isOver: wasOver }
  }).pipe(at, Effect.provide(world()), Effect.scoped)

describe("a replay of events", () => {
  for (const fault of ["dies after", "pauses after", "storage fails after"] as const) {
    it.effect(
      `makes one more attempt for each event, whichever commit a fault hits (${fault})`,
      () =>
        Effect.gen(function* () {
          for (let nth = 1, isOver = false; !isOver; nth++) {
            const outcome = yield* replayStruckAt(nth, fault)
            assert.strictEqual(outcome.deliveries, outcome.events, `commit ${nth}`)
            for (const triggers of outcome.attempts) {
              assert.strictEqual(triggers, "manual scheduled", `commit ${nth}`)
            }
            isOver = outcome.isOver
          }
        }),
      120_000
    )
  }
})
