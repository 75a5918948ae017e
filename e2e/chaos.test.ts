import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { play } from "./chaos/chaos.ts"
import { endConnections, killHost, restartDatabase } from "./chaos/Faults.ts"

describe("hosts that share a database", () => {
  it.live(
    "keep every promise while hosts are killed, connections are cut and the database restarts under load",
    () =>
      Effect.gen(function* () {
        const faults = [
          killHost,
          endConnections,
          killHost,
          restartDatabase,
          killHost,
          killHost,
          endConnections,
          killHost
        ]
        const run = yield* Effect.promise(() => play({ seed: 1, faults, most_ms: 120_000, say: () => undefined }))
        assert.deepStrictEqual(run.findings, [])
        assert.strictEqual(run.faults, faults.length)
        assert.isAbove(run.accepted, 0)
        // Without a fault that was felt nothing would have been shown.
        assert.isAbove(run.repeated_calls, 0)
      }),
    240_000
  )
})
