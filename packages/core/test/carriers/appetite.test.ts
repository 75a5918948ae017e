import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { CarrierAsk, Decline } from "../../src/carriers/Carrier.ts"
import { carriers, offers, prompt } from "../quoting/carriers.ts"
import { logOfRequest, single } from "../quoting/log.ts"
import { live, outcomes, pass, read, start, testInWorld, work } from "../support/world.ts"

const message = "We do not insure <b>apartments</b> in New York this month."

describe("a carrier's appetite function", () => {
  testInWorld("declines a request without calling the carrier or waiting for a free slot", () => {
    const asked: Array<CarrierAsk> = []
    const closed = prompt("closed", offers(), {
      max_concurrent: 0,
      rest: {
        appetite: (ask) => {
          asked.push(ask)
          return { kind: "declined", reason: "binding_moratorium", message }
        }
      }
    })
    const open = prompt("open", offers(), { rest: { appetite: () => null } })
    return {
      ...carriers(closed, open),
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(10)
        assert.lengthOf(closed.asks, 0)
        assert.deepInclude(asked[0]?.facts, { effective_date: "2026-11-21" })
        assert.deepStrictEqual(yield* outcomes(id), ["closed declined binding_moratorium", "open quoted"])
        const [result] = (yield* read(id, live)).quote_request.carriers
        assert.strictEqual(result?.message, "We do not insure apartments in New York this month.")
      })
    }
  })

  const failures: ReadonlyArray<readonly [string, () => Decline | null, string]> = [
    [
      "throws",
      () => {
        throw new RangeError("no")
      },
      "A carrier's adapter failed"
    ],
    [
      "returns an unknown reason",
      () => JSON.parse('{ "kind": "declined", "reason": "full_moon" }'),
      "Dropped a carrier's answer that breaks the rules"
    ]
  ]
  for (const [how, appetite, line] of failures) {
    const broken = prompt("broken", offers(), { rest: { appetite } })
    testInWorld(
      `is ignored if it ${how}, and the log names the carrier and the request`,
      Effect.gen(function* () {
        const { id, lines } = yield* logOfRequest()
        assert.deepStrictEqual(yield* outcomes(id), ["broken quoted"])
        assert.deepInclude(single(lines, line).annotations, { carrier_id: "broken", quote_request_id: id })
      }),
      carriers(broken)
    )
  }
})

describe("a decline's message", () => {
  const wordy = prompt("wordy", {
    kind: "declined",
    reason: "prior_claims",
    message: `Too many claims\u0007${"!".repeat(600)}`
  })
  const silent = prompt("silent", { kind: "declined", reason: "prior_claims", message: " <br> " })
  testInWorld(
    "is truncated and loses its control characters",
    Effect.gen(function* () {
      yield* work
      const { id } = yield* start({}, live)
      yield* pass(10)
      const messages = (yield* read(id, live)).quote_request.carriers.map((result) => result.message)
      assert.deepStrictEqual(messages, [`Too many claims ${"!".repeat(484)}`, null])
    }),
    carriers(wordy, silent)
  )
})
