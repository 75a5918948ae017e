import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { Storage } from "../../src/storage/Storage.ts"
import { advance, anotherHost, beginning, feed, read, start, story, world } from "../quoting/support.ts"
import { create, endpoints } from "../webhooks/support.ts"
import * as Hosts from "./hosts.ts"

const event_types = [
  ...["queued", "updated", "completed", "failed", "incomplete"].map((type) => `quote_request.${type}`),
  ...["created", "updated", "expired"].map((type) => `quote.${type}`)
]

const subscribe = create({ event_types }, { idempotency_key: "subscribe" })
const startNth = (nth: number) => start({ line: "renters", scenario: "quotes_ready", request_key: `start-${nth}` })

/** Lets time pass until something has come to its end, and fails where it does not within hours. */
const ending = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const fiber = yield* Effect.forkChild(effect)
  for (let step = 0; fiber.pollUnsafe() === undefined; step++) {
    assert.isBelow(step, 40_000, "It never ends")
    yield* TestClock.adjust(250)
  }
  return yield* Fiber.join(fiber)
})

/** Two hosts that are struck, and who calls them; the endpoint that their webhooks go to. */
const service = Effect.fnUntraced(function* (strike: Hosts.Strike) {
  const endpoint = endpoints()
  const options = { webhooks: endpoint.layer }
  const hosts: [Hosts.Host, Hosts.Host] = [yield* Hosts.begin(strike, options), yield* Hosts.begin(strike, options)]
  const call = Hosts.callerOf(hosts, strike, options)
  /** Lets everything go on that was paused or held; then reads what has come of all. */
  const outcome = Effect.gen(function* () {
    // Whoever has died is started again: each is called once.
    for (const _ of hosts) yield* ending(call(feed()))
    yield* TestClock.adjust(Hosts.paused_ms)
    for (let nth = 0; nth < 12; nth++) yield* TestClock.adjust(5_000)
    const events = yield* ending(call(feed()))
    const { workspace } = yield* ending(call(advance(1, { idempotency_key: "last" })))
    const arrived = new Set(endpoint.sent.map(({ request }) => request.headers["webhook-id"]))
    return {
      told: events.map(({ occurred_at, resource, type }) => `${occurred_at} ${type} ${resource.version}`),
      undelivered: events.filter(({ id }) => !arrived.has(id)).length,
      advanced: workspace.clock_offset_seconds - 1
    }
  })
  /** Calls the first host once, as a caller does that gives up. */
  const callOnce = (effect: Parameters<typeof call>[0]) => ending(Effect.timeoutOption(hosts[0].ask(effect), 40_000))
  return { call, callOnce, outcome }
})

/** One advance of a minute, whose nth commit is struck; its caller repeats it until it is answered, or never. */
const struckAt = (nth: number, fault: Hosts.Fault, isRepeated: boolean) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(beginning)
    let commits = 0
    let isCounting = false
    const { call, callOnce, outcome } = yield* service((operation) =>
      isCounting && operation === "commit" && ++commits === nth ? fault : null
    )
    yield* ending(call(subscribe))
    yield* ending(call(startNth(1)))
    isCounting = true
    const minute = advance(60, { idempotency_key: "minute" })
    yield* isRepeated ? ending(call(minute)) : callOnce(minute)
    isCounting = false
    if (!isRepeated) yield* ending(call(startNth(2)))
    return { ...(yield* outcome), isOver: commits < nth }
  }).pipe(Effect.provide(world()), Effect.scoped)

describe("an advance of a sandbox's clock", () => {
  for (const fault of Hosts.faults) {
    it.effect(
      `happens once and whole, whichever of its commits a host ${fault}`,
      () =>
        Effect.gen(function* () {
          const calm = yield* struckAt(0, fault, true)
          assert.deepInclude(calm, { undelivered: 0, advanced: 60 })
          for (let nth = 1; ; nth++) {
            const { isOver, ...outcome } = yield* struckAt(nth, fault, true)
            const { isOver: _, ...expected } = calm
            assert.deepStrictEqual(outcome, expected, `commit ${nth}`)
            if (isOver) break
          }
        }),
      120_000
    )
  }
})

describe("an advance that was broken off and is never repeated", () => {
  for (const fault of ["dies after", "pauses after"] as const) {
    it.effect(
      `is finished by the next one, and holds up no webhook, whichever of its commits a host ${fault}`,
      () =>
        Effect.gen(function* () {
          for (let nth = 1, isOver = false; !isOver; nth++) {
            const outcome = yield* struckAt(nth, fault, false)
            assert.include([0, 60], outcome.advanced, `commit ${nth}`)
            assert.strictEqual(outcome.undelivered, 0, `commit ${nth}`)
            assert.lengthOf(
              outcome.told.filter((line) => line.includes("quote_request.completed")),
              2
            )
            isOver = outcome.isOver
          }
        }),
      120_000
    )
  }
})

/** Two callers start requests and advance the clock, one after the other; answers how far it was to be advanced. */
const load = Effect.fnUntraced(function* (call: ReturnType<typeof Hosts.callerOf>, chance: () => number) {
  let seconds = 0
  const lane = Effect.fnUntraced(function* (lane: number) {
    for (let nth = 0; nth < 6; nth++) {
      yield* call(startNth(10 * lane + nth))
      const step = 1 + Math.floor(chance() * 30)
      yield* call(advance(step, { idempotency_key: `advance-${lane}-${nth}` }))
      seconds += step
    }
  })
  yield* call(subscribe)
  yield* Effect.forEach([1, 2], lane, { concurrency: 2 })
  return seconds
})

/** Chance that is the same for the same seed (mulberry32). */
const chanceOf = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

describe("hosts that die, are paused and lose storage while two callers advance a clock", () => {
  for (let seed = 1; seed <= 12; seed++) {
    it.effect(
      `leave it where the answered advances sum to, and deliver every event: seed ${seed}`,
      () =>
        Effect.gen(function* () {
          yield* TestClock.setTime(beginning)
          const chance = chanceOf(seed)
          let isOver = false
          let struck = 0
          const { call, outcome } = yield* service(() => {
            if (isOver || chance() >= 0.01) return null
            struck++
            return Hosts.faults[Math.floor(chance() * Hosts.faults.length)] ?? null
          })
          const seconds = yield* ending(load(call, chance))
          isOver = true
          assert.isAbove(struck, 0)
          const { advanced, told, undelivered } = yield* outcome
          assert.deepStrictEqual([advanced, undelivered], [seconds, 0])
          assert.lengthOf(
            told.filter((line) => line.includes("quote_request.completed")),
            12
          )
        }).pipe(Effect.provide(world()), Effect.scoped),
      120_000
    )
  }
})

const nothing: Effect.Effect<unknown, unknown> = Effect.void

/** Another host moves the clock one step while this one has looked when the next job is due, and not moved it yet. */
const overtaken = {
  other: nothing,
  hasLooked: false,
  moved: Deferred.makeUnsafe<void>(),
  goesOn: Deferred.makeUnsafe<void>(),
  /** How far the clock stood behind what was told, at the most. */
  late_ms: 0
}

const overtaking = (storage: Storage["Service"]): Storage["Service"] => {
  let offset_ms = 0
  return {
    ...storage,
    claim: (query) =>
      Effect.tap(storage.claim(query), ({ jobs, next_due_at }) => {
        if (overtaken.hasLooked || query.workspace_id === undefined || jobs.length > 0 || next_due_at === null) {
          return Effect.void
        }
        overtaken.hasLooked = true
        return Effect.andThen(Effect.forkDetach(overtaken.other), Deferred.await(overtaken.moved))
      }),
    commit: (change) =>
      Effect.tap(storage.commit(change), () => {
        const before_ms = offset_ms
        offset_ms = change.clock_offset_ms ?? offset_ms
        for (const { occurred_at } of change.events) {
          // Real time stands still.
          overtaken.late_ms = Math.max(overtaken.late_ms, beginning + offset_ms - occurred_at)
        }
        if (offset_ms === before_ms) return Effect.void
        const isFirst = Deferred.doneUnsafe(overtaken.moved, Exit.void)
        return isFirst ? Deferred.await(overtaken.goesOn) : Deferred.succeed(overtaken.goesOn, undefined)
      })
  }
}

describe("an advance that another host overtakes", () => {
  story(
    "passes over nothing that is due: what happens is told when the clock stands at its time",
    Effect.gen(function* () {
      const elsewhere = yield* anotherHost()
      overtaken.other = elsewhere(advance(60))
      const { id } = yield* start({ line: "personal_auto", scenario: "quotes_ready" })
      yield* advance(60)
      assert.isTrue(overtaken.hasLooked)
      assert.strictEqual((yield* read(id)).quote_request.status, "completed")
      assert.strictEqual(overtaken.late_ms, 0)
    }),
    { around: overtaking }
  )
})
