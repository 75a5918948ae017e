import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { advance, beginning, type InWorld, pass, runDue, start, work, world } from "../support/world.ts"
import { answered, confirmed, create, endpoints, health, list, log, type Script } from "./support.ts"

const hourS = 3_600
const dayS = 86_400
const eventTypes = ["quote_request.queued", "quote_request.updated", "quote_request.completed", "quote.created"]

/** Moves the clock by days and lets every due attempt be made, which takes fourteen seconds of real time. */
type Days = (days: number) => InWorld<void>

const inSteps: Days = (days) =>
  Effect.gen(function* () {
    for (let passedS = 0; passedS < days * dayS; passedS += hourS) {
      yield* advance(hourS)
      yield* runDue
    }
    yield* pass(14_000)
  })

/** With a worker that runs many jobs concurrently. */
const inOneJump: Days = (days) =>
  Effect.gen(function* () {
    const stop = yield* work
    yield* advance(days * dayS)
    for (let turns = 0; turns < 400; turns++) yield* pass(10)
    yield* stop
  })

/** The log of a week, without event names: delivery can turn off within its second half. */
const week = Effect.fnUntraced(function* (pass: Days) {
  const { id } = yield* create({ event_types: eventTypes })
  yield* start({ scenario: "quotes_ready" })
  yield* pass(4)
  for (let requests = 0; requests < 3; requests++) yield* start({ scenario: "quotes_ready" })
  yield* pass(3)
  return {
    // Which deliveries are queued while delivery is off is known only after the attempts, which run later in a jump.
    log: (yield* log(id)).filter(({ attempts }) => attempts.length > 0).map(({ event_id: _, ...rest }) => rest),
    health: (yield* health(id)).state,
    delivery_enabled: (yield* list()).event_subscriptions[0]?.delivery_enabled
  }
})

/** An endpoint that confirms events of this type on the third attempt. */
const patient = (type: string): Script => {
  const attempts = new Map<string, number>()
  return {
    send: ({ body, headers }) => {
      const id = headers["webhook-id"] ?? ""
      const nth = (attempts.get(id) ?? 0) + 1
      attempts.set(id, nth)
      return nth >= 3 && body.includes(type) ? confirmed : answered(500)
    }
  }
}

const scripts: { readonly [name: string]: () => Script } = {
  "fails forever": () => ({ send: () => answered(500) }),
  "fails slowly": () => ({ send: () => answered(503, 9_000) }),
  "eventually confirms some events": () => patient("quote_request.completed"),
  "confirms late attempts": () => patient("quote.created")
}

/** A week in a world of its own, with a new endpoint. */
const weekWith = (script: Script, pass: Days) => {
  const webhooks = endpoints(script)
  return Effect.andThen(TestClock.setTime(beginning), week(pass)).pipe(
    Effect.scoped,
    Effect.provide(world({ webhooks: webhooks.layer }))
  )
}

describe("an endpoint's deliveries in one jump of the clock", () => {
  for (const [name, script] of Object.entries(scripts)) {
    it.effect(`are the same as in small steps if the endpoint ${name}`, () =>
      Effect.gen(function* () {
        const smallSteps = yield* weekWith(script(), inSteps)
        assert.deepStrictEqual(yield* weekWith({ ...script(), send_takes_ms: () => 3 }, inOneJump), smallSteps)
      })
    )
  }
})
