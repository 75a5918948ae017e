import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Lines, linesOf } from "../../src/lines/Lines.ts"
import { renters } from "../../src/lines/renters/line.ts"
import * as operations from "../../src/operations.ts"
import { World } from "../../src/testing/World.ts"
import { beginning, startOf, world } from "../support/world.ts"

const rentersOnly = Layer.provide(world(), Layer.succeed(Lines, linesOf([renters])))

describe("a host that offers one line", () => {
  it.effect("serves that line, and rejects requests for a different line", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(beginning)
      const { call } = yield* World
      const { capabilities } = yield* call(operations.getCapabilities, { line: "renters" })
      assert.strictEqual(capabilities.line, "renters")
      assert.strictEqual((yield* call(operations.startQuoteRequest, startOf({ line: "renters" }))).line, "renters")
      const refusals = [
        yield* Effect.flip(call(operations.getCapabilities, { line: "pet" })),
        yield* Effect.flip(call(operations.startQuoteRequest, startOf({ line: "pet" })))
      ]
      for (const { code, field_errors } of refusals) {
        assert.strictEqual(code, "invalid_input")
        assert.deepStrictEqual(field_errors, [
          { path: "line", message: "Must be one of the allowed values.", allowed_values: ["renters"] }
        ])
      }
    }).pipe(Effect.scoped, Effect.provide(rentersOnly))
  )
})
