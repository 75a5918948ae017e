import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Lines, linesOf } from "../../src/lines/Lines.ts"
import { renters } from "../../src/lines/renters/line.ts"
import { anotherHost, live, read, runDue, start, testInWorld } from "../support/world.ts"
import { logOf } from "./log.ts"

describe("a request that cannot start", () => {
  testInWorld(
    "is logged if its facts no longer match the line's rules",
    Effect.gen(function* () {
      const { id } = yield* start({}, live)
      const changed = linesOf([{ ...renters, complete: () => null }])
      const there = yield* Effect.provideService(anotherHost({ carriers: [] }), Lines, changed)
      const lines = yield* logOf(there(runDue))
      const said = lines.filter(({ text }) => text.startsWith("A quote request could not start: its facts"))
      assert.deepStrictEqual(
        said.map(({ annotations }) => annotations.quote_request_id),
        [id]
      )
      assert.strictEqual((yield* read(id, live)).quote_request.status_details.reason, "could_not_start")
    })
  )
})
