import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { carriers, offer, offers, polled, prompt, unavailable } from "../quoting/carriers.ts"
import { live, outcomes, pass, read, start, testInWorld, work } from "../support/world.ts"
import { appointing, carrierId, fields, given, remove, set } from "./support.ts"

/** Starts a live request, lets its carriers answer, and returns their outcomes. */
const ask = Effect.gen(function* () {
  const { id } = yield* start({}, live)
  yield* pass(10)
  const { quote_request } = yield* read(id, live)
  return quote_request.carriers.map(({ outcome, reason }) => (reason === null ? outcome : `${outcome} ${reason}`))
})

describe("an ask", () => {
  testInWorld("carries the values that the organization has set for the carrier", () => {
    const carrier = appointing()
    return {
      ...carriers(carrier),
      body: Effect.gen(function* () {
        yield* work
        yield* set(given)
        assert.deepStrictEqual(yield* ask, ["quoted"])
        assert.deepStrictEqual(
          carrier.asks.map(({ ask }) => ask.connection),
          [given]
        )
      })
    }
  })

  testInWorld("is not made for an organization without a connection, whatever the facts", () => {
    const carrier = appointing({}, { needs: ["applicant.first_name"] })
    const open = prompt("open")
    return {
      ...carriers(carrier, open),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        const { quote_request } = yield* read(id, live)
        assert.deepInclude(quote_request.carriers[0], {
          outcome: "not_asked",
          reason: "not_appointed",
          missing_facts: [],
          asked_at: null
        })
        assert.strictEqual(quote_request.status_details.reason, "quotes_ready")
        assert.lengthOf(carrier.asks, 0)
        assert.isFalse("connection" in (open.asks[0]?.ask ?? {}))
      })
    }
  })

  testInWorld("uses only the connection of its own organization and environment", () => {
    const carrier = appointing()
    return {
      ...carriers(carrier),
      body: Effect.gen(function* () {
        yield* work
        yield* set(given, { environment: "sandbox" })
        assert.deepStrictEqual(yield* ask, ["not_asked not_appointed"])
        yield* set({ ...given, producer_code: "LIVE" })
        assert.deepStrictEqual(yield* ask, ["quoted"])
        yield* start()
        yield* pass(1_010)
        assert.deepStrictEqual(
          carrier.asks.map(({ ask }) => ask.connection?.producer_code),
          ["LIVE", "PROD-4711"]
        )
      })
    }
  })

  testInWorld("is not repeated after the connection was removed", () => {
    const carrier = prompt(carrierId, unavailable("carrier_error"), { rest: { connection: fields } })
    return {
      ...carriers(carrier),
      body: Effect.gen(function* () {
        yield* work
        yield* set(given)
        const { id } = yield* start({}, live)
        yield* pass(10)
        yield* remove
        yield* pass(2_000)
        assert.lengthOf(carrier.asks, 1)
        assert.deepStrictEqual(yield* outcomes(id), [`${carrierId} no_answer timeout`])
      })
    }
  })

  testInWorld("is not polled while its connection is missing, and is polled once the connection is set again", () => {
    const carrier = polled(carrierId, 1)
    const adapter = { ...carrier.adapter, connection: fields }
    return {
      carriers: [adapter],
      body: Effect.gen(function* () {
        yield* work
        yield* set(given)
        const { id } = yield* start({}, live)
        yield* pass(10)
        yield* remove
        yield* pass(5_000)
        assert.lengthOf(carrier.polls, 0)
        yield* set(given)
        yield* pass(10_000)
        assert.lengthOf(carrier.polls, 1)
        assert.deepStrictEqual(yield* outcomes(id), [`${carrierId} quoted`])
      })
    }
  })

  testInWorld("is followed by no refresh after the connection was removed", () => {
    let refreshed = 0
    const carrier = prompt(carrierId, offers(offer({ refresh_after_ms: 60_000 })), {
      rest: {
        connection: fields,
        refresh: () =>
          Effect.sync(() => {
            refreshed += 1
            return { kind: "withdrawn" as const }
          })
      }
    })
    return {
      ...carriers(carrier),
      body: Effect.gen(function* () {
        yield* work
        yield* set(given)
        const { id } = yield* start({}, live)
        yield* pass(10)
        yield* remove
        yield* pass(61_000)
        assert.strictEqual(refreshed, 0)
        assert.deepStrictEqual(yield* outcomes(id), [`${carrierId} quoted`])
      })
    }
  })
})
