import { assert } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { advance, beginning, feed, start } from "../support/world.ts"
import { create, endpoints } from "../webhooks/support.ts"
import * as Hosts from "./hosts.ts"

const eventTypes = [
  ...["queued", "updated", "completed", "failed", "incomplete"].map((type) => `quote_request.${type}`),
  ...["created", "updated", "expired"].map((type) => `quote.${type}`)
]

/** Subscribes the endpoint to all events. */
export const subscribe = create({ event_types: eventTypes }, { idempotency_key: "subscribe" })
/** Starts the nth request, once. */
export const startNth = (nth: number) =>
  start({ line: "renters", scenario: "quotes_ready", request_key: `start-${nth}` })

/** Lets time pass once everything that it caused before is finished. */
const pass = (ms: number) => Effect.andThen(Hosts.still, TestClock.adjust(ms))

/** Lets time pass until something ends, and fails if it does not end within hours. */
export const ending = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const fiber = yield* Effect.forkChild(effect)
  for (let step = 0; fiber.pollUnsafe() === undefined; step++) {
    assert.isBelow(step, 40_000, "It never ends")
    yield* pass(250)
  }
  return yield* Fiber.join(fiber)
})

/** Two hosts that are struck, their callers, and the endpoint of their webhooks. */
export const service = Effect.fnUntraced(function* (
  strike: Hosts.Strike,
  open?: Hosts.HostOptions["open"],
  script?: Parameters<typeof endpoints>[0]
) {
  const endpoint = endpoints(script)
  const options = { webhooks: endpoint.layer, ...(open !== undefined && { open }) }
  const hosts: [Hosts.Host, Hosts.Host] = [yield* Hosts.begin(strike, options), yield* Hosts.begin(strike, options)]
  const call = Hosts.callerOf(hosts, strike, options)
  /** Resumes everything that was paused or held, then reads the outcome. */
  const outcome = Effect.gen(function* () {
    // Dead hosts are restarted, so each one is called once.
    for (const _ of hosts) yield* ending(call(feed()))
    yield* pass(Hosts.pausedMs)
    for (let nth = 0; nth < 12; nth++) yield* pass(5_000)
    const events = yield* ending(call(feed()))
    const { workspace } = yield* ending(call(advance(1, { idempotency_key: "last" })))
    const arrived = new Set(endpoint.sent.map(({ request }) => request.headers["webhook-id"]))
    return {
      events: events.map(({ occurred_at, resource, type }) => `${occurred_at} ${type} ${resource.version}`),
      undelivered: events.filter(({ id }) => !arrived.has(id)).length,
      advanced: workspace.clock_offset_seconds - 1
    }
  })
  /** Calls the first host once, like a caller that then gives up. */
  const callOnce = (effect: Parameters<typeof call>[0]) => ending(Effect.timeoutOption(hosts[0].ask(effect), 40_000))
  return { call, callOnce, outcome, hosts, endpoint }
})

/**
 * Two callers start requests and advance the clock in turn. Sometimes one gives up on an advance and retries it at
 * the end. Returns how far the clock should have advanced.
 */
const load = Effect.fnUntraced(function* (
  { call, hosts }: Effect.Success<ReturnType<typeof service>>,
  chance: () => number
) {
  let seconds = 0
  const givenUp: Array<ReturnType<typeof advance>> = []
  const lane = Effect.fnUntraced(function* (number: number) {
    for (let nth = 0; nth < 6; nth++) {
      yield* call(startNth(10 * number + nth))
      const step = 1 + Math.floor(chance() * 30)
      const advancing = advance(step, { idempotency_key: `advance-${number}-${nth}` })
      if (chance() < 0.2) {
        givenUp.push(advancing)
        const [first, other] = hosts
        yield* Effect.timeoutOption((chance() < 0.5 ? first : other).ask(advancing), 5_000)
      } else {
        yield* call(advancing)
      }
      seconds += step
    }
  })
  yield* call(subscribe)
  yield* Effect.forEach([1, 2], lane, { concurrency: 2 })
  for (const advancing of givenUp) yield* call(advancing)
  return seconds
})

/** Plays a load while faults strike hosts at random, and judges the outcome. */
export const play = Effect.fnUntraced(function* (seed: number, open?: Hosts.HostOptions["open"]) {
  yield* TestClock.setTime(beginning)
  const chance = chanceOf(seed)
  let isOver = false
  let struck = 0
  const played = yield* service(() => {
    if (isOver || chance() >= 0.01) return null
    struck++
    return Hosts.faults[Math.floor(chance() * Hosts.faults.length)] ?? null
  }, open)
  const seconds = yield* ending(load(played, chance))
  isOver = true
  assert.isAbove(struck, 0)
  const { advanced, events, undelivered } = yield* played.outcome
  assert.deepStrictEqual({ advanced, undelivered }, { advanced: seconds, undelivered: 0 })
  assert.lengthOf(
    events.filter((line) => line.includes("quote_request.completed")),
    12
  )
})

/** A seeded random number generator (mulberry32). */
const chanceOf = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
