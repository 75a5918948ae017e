import { assert, describe, it } from "@effect/vitest"
import { operations } from "@quotewire/core"
import { Effect } from "effect"
import { explain, run } from "./Run.ts"

describe("a randomly generated request", () => {
  it.live(
    "gets a response that the OpenAPI document describes, even if the request is invalid",
    () =>
      Effect.gen(function* () {
        const found = yield* run({ seed: 20_261_120, requests: 2_500 })
        assert.isNull(found.failure, explain(found))
        assert.isAtLeast(found.requests, 2_500)
        const rows = [...found.tally.keys()]
        for (const { name, route } of operations) {
          assert.include(rows, `${name} ${route.status}`)
          assert.include(rows, `${name} 422`)
          assert.include(rows, `${name} 401`)
        }
      }),
    120_000
  )
})
