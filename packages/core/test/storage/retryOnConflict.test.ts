import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect } from "effect"
import { retryOnConflict, VersionConflict } from "../../src/storage/Storage.ts"

describe("a decision", () => {
  const conflictTimes = (times: number) => {
    const made = { attempts: 0 }
    const decision = Effect.suspend(() => {
      made.attempts += 1
      return made.attempts <= times
        ? Effect.fail(new VersionConflict({ kind: "quote", id: "qte_1" }))
        : Effect.succeed(made.attempts)
    })
    return { decision, made }
  }

  it.effect("is made again after each conflict", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* retryOnConflict(conflictTimes(3).decision), 4)
    })
  )

  it.effect("dies if it conflicts forever; the error names the record and the number of attempts", () =>
    Effect.gen(function* () {
      const { decision, made } = conflictTimes(Number.POSITIVE_INFINITY)
      const cause = yield* Effect.flip(Effect.sandbox(retryOnConflict(decision)))
      const defect = Cause.squash(cause)
      assert.instanceOf(defect, Error)
      assert.include(String(defect), "quote qte_1")
      assert.include(String(defect), `attempt ${made.attempts}`)
    })
  )
})
