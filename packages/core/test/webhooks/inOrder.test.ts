import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { advance, feed, pass, start, work } from "../support/world.ts"
import { answered, confirmed, create, log, testScripted } from "./support.ts"

const eventTypes = [
  "quote_request.queued",
  "quote_request.updated",
  "quote_request.completed",
  "quote.created",
  "quote.expired"
]

/** Endpoints that take long for one POST and no time for the next, so that concurrent POSTs arrive out of order. */
const uneven = (nth: number): number => (nth % 2 === 0 ? 1 : 40)

describe("deliveries that become due in one advance", () => {
  testScripted("arrive in feed order, even if some POSTs take longer", () => {
    const arrived: Array<string> = []
    return {
      script: {
        send_takes_ms: uneven,
        send: ({ headers }) => {
          arrived.push(headers["webhook-id"] ?? "")
          return confirmed
        }
      },
      body: () =>
        Effect.gen(function* () {
          const { id } = yield* create({ event_types: eventTypes })
          yield* work
          yield* start({ line: "personal_auto", scenario: "quotes_ready" })
          yield* pass(100)
          yield* start({ line: "renters", scenario: "quotes_ready" })
          yield* pass(100)
          yield* advance(60)
          yield* pass(5_000)
          const ids = (yield* feed()).map((event) => event.id)
          assert.isAbove(ids.length, 8)
          assert.deepStrictEqual(arrived, ids)
          assert.lengthOf(yield* log(id), ids.length)
        })
    }
  })

  testScripted("arrive in the order of their due times, with retries among new events", () => {
    const attempts: Array<string> = []
    return {
      script: {
        send_takes_ms: uneven,
        send: ({ headers }) => {
          attempts.push(headers["webhook-id"] ?? "")
          return attempts.filter((id) => id === headers["webhook-id"]).length < 2 ? answered(500) : confirmed
        }
      },
      body: () =>
        Effect.gen(function* () {
          // A request is accepted before the clock moves.
          const { id } = yield* create({ event_types: eventTypes.filter((type) => type !== "quote_request.queued") })
          yield* start({ scenario: "quotes_ready" })
          yield* work
          yield* advance(60)
          yield* pass(5_000)
          const times = new Map(
            (yield* log(id)).map(({ event_id, attempts }) => [
              event_id,
              attempts.map(({ attempted_at }) => attempted_at)
            ])
          )
          // The log lists the latest attempt of an event first.
          const due = attempts.map((eventId) => times.get(eventId)?.pop() ?? assert.fail("not in the log"))
          assert.isAtLeast(due.length, 14)
          assert.deepStrictEqual(due, due.toSorted())
        })
    }
  })
})
