import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Deadlines from "../src/connection/Deadlines.ts"

const after_ms = 1_000

describe("a deadline", () => {
  it.effect("expires when its own time is over, unless it was ended", () =>
    Effect.gen(function* () {
      const ended: Array<string> = []
      const deadlines = yield* Deadlines.make(after_ms)
      deadlines.begin(() => ended.push("first"))
      yield* TestClock.adjust(400)
      const kept = deadlines.begin(() => ended.push("kept"))
      deadlines.begin(() => ended.push("second"))
      yield* TestClock.adjust(599)
      assert.deepStrictEqual(ended, [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(ended, ["first"])
      deadlines.end(kept)
      yield* TestClock.adjust(399)
      assert.deepStrictEqual(ended, ["first"])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(ended, ["first", "second"])
    })
  )

  it.effect("is watched again after a time without any", () =>
    Effect.gen(function* () {
      const ended: Array<string> = []
      const deadlines = yield* Deadlines.make(after_ms)
      deadlines.end(deadlines.begin(() => ended.push("kept")))
      yield* TestClock.adjust(10 * after_ms)
      deadlines.begin(() => ended.push("late"))
      yield* TestClock.adjust(after_ms)
      assert.deepStrictEqual(ended, ["late"])
    })
  )
})
