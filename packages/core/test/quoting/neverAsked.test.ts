import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { Storage } from "../../src/storage/Storage.ts"
import { minuteMs } from "../../src/wire/Timestamp.ts"
import { live, pass, read, runDue, start, testInWorld, work } from "../support/world.ts"
import { carriers, prompt } from "./carriers.ts"

/**
 * A storage backend that returns no claims after the first job while `isHeld`: as if every host had stopped right after
 * the collection began.
 */
const holding = () => {
  const hold = { isHeld: true }
  let hasCollected = false
  const around = (storage: Storage["Service"]): Storage["Service"] => ({
    ...storage,
    claim: (query) =>
      hold.isHeld && hasCollected
        ? Effect.succeed({ jobs: [], next_due_at: null, busy: false })
        : Effect.tap(storage.claim(query), ({ jobs }) =>
            Effect.sync(() => {
              hasCollected ||= jobs.some(({ kind }) => kind === "collect")
            })
          )
  })
  return { around, hold }
}

describe("a live carrier that was not asked before the deadline", () => {
  for (const [how, run] of [
    ["sequentially", runDue],
    ["concurrently", Effect.asVoid(work)]
  ] as const) {
    testInWorld(`has no asked_at, even if jobs run ${how} afterwards`, () => {
      const never = prompt("never")

      const { around, hold } = holding()
      return {
        ...carriers(never),
        around,
        body: Effect.gen(function* () {
          const stop = yield* work
          const { id } = yield* start({}, live)
          yield* pass(10)
          yield* stop
          yield* pass(2 * minuteMs)
          hold.isHeld = false
          yield* run
          yield* pass(5_000)
          const { quote_request } = yield* read(id, live)
          assert.deepStrictEqual(
            quote_request.carriers.map(({ asked_at, outcome, reason }) => [asked_at, outcome, reason]),
            [[null, "no_answer", "timeout"]]
          )
          assert.lengthOf(never.asks, 0)
        })
      }
    })
  }
})
