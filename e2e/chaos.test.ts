import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { play } from "./chaos/chaos.ts"
import { allFaults, draw } from "./chaos/Plan.ts"

// `npm run chaos` also plays the other faults: those that outlast a lease, and cell moves.
const faults = allFaults.filter(({ isLong }) => isLong !== true)
const [round] = draw({ seed: 1, cycles: 20, cycles_per_round: 20, grounds: ["standby"], faults })

describe("hosts that share a database with a standby", () => {
  it.live(
    "keep every guarantee through twenty cycles of faults under load",
    () =>
      Effect.gen(function* () {
        if (round === undefined) return assert.fail("The plan is empty")
        const ends_at = Date.now() + 240_000
        const told = yield* Effect.promise(() => play(round, { ends_at, say: () => undefined }))
        assert.deepStrictEqual(told.findings, [])
        assert.isAbove(told.accepted, 0)
        // Without a noticeable fault, the test would prove nothing.
        assert.isAbove(told.repeated_calls, 0)
      }),
    480_000
  )
})
