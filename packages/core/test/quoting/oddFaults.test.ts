import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import type { CarrierAsk } from "../../src/carriers/Carrier.ts"
import { Asking } from "../../src/quoting/asking/Asking.ts"
import { outcomes, pass, testInWorld } from "../support/world.ts"
import { callbackOf, callingBack, carriers, offers, prompt } from "./carriers.ts"
import { logOf, logOfRequest, single } from "./log.ts"

/** An error whose message repeats every fact. */
const telling = (ask: CarrierAsk) => new TypeError(`cannot price ${JSON.stringify(ask.facts)}`)

const throwingGetter = (ask: CarrierAsk) =>
  Object.defineProperty(telling(ask), "_tag", {
    get: () => {
      throw telling(ask)
    }
  })

const odd: ReadonlyArray<readonly [string, (ask: CarrierAsk) => Error]> = [
  ["has no stack", (ask) => Object.assign(telling(ask), { stack: null })],
  ["has a getter that throws", throwingGetter]
]

describe("an adapter that fails unusually", () => {
  for (const [what, error] of odd) {
    testInWorld(
      `causes one log entry without facts if its error ${what}`,
      Effect.gen(function* () {
        const { id, lines } = yield* logOfRequest()
        assert.include(single(lines, "A carrier's adapter failed").cause, "Error")
        assert.notInclude(JSON.stringify(lines), "10001")
        assert.deepStrictEqual(yield* outcomes(id), ["broken no_answer carrier_error"])
      }),
      carriers(prompt("broken", offers(), { idempotent: false, rest: { ask: (ask) => Effect.die(error(ask)) } }))
    )
  }

  testInWorld(
    "is logged after 15 seconds if it never finishes a callback, and the callback is refused",
    Effect.gen(function* () {
      const service = yield* Asking
      const lines = yield* logOf(
        Effect.gen(function* () {
          const reading = yield* Effect.forkChild(service.callback("broken", callbackOf("r", offers())))
          yield* pass(15_000)
          assert.isFalse(yield* Fiber.join(reading))
        })
      )
      assert.deepInclude(single(lines, "A carrier's callback was not read in time").annotations, {
        carrier_id: "broken"
      })
    }),
    carriers(callingBack("broken", { rest: { callback: () => Effect.never } }))
  )
})
