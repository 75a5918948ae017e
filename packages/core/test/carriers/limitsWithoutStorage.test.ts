import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { type Storage, StorageUnavailable } from "../../src/storage/Storage.ts"
import { carriers, prompt } from "../quoting/carriers.ts"
import { live, outcomes, pass, start, testInWorld, work } from "../support/world.ts"

/** Loses changes to a carrier's health, from the given change on, until it is repaired. */
const losing = (first: number) => {
  let count = 0
  let isMended = false
  const around = (storage: Storage["Service"]): Storage["Service"] => ({
    ...storage,
    commit: (change) =>
      Effect.suspend(() => {
        const isHealth = change.writes.some(({ kind }) => kind === "carrier_health")
        if (isHealth) count += 1
        return isHealth && count >= first && !isMended
          ? Effect.fail(new StorageUnavailable({ retry_after_seconds: 1 }))
          : storage.commit(change)
      })
  })
  const mend = () => {
    isMended = true
  }
  return { around, mend }
}

describe("a carrier's limits while storage is unavailable", () => {
  testInWorld("let no ask start until storage is back", () => {
    const carrier = prompt("acme")
    const { around, mend } = losing(1)
    return {
      ...carriers(carrier),
      around,
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        yield* pass(2_000)
        assert.lengthOf(carrier.asks, 0)
        mend()
        for (let passed = 0; passed < 30; passed++) yield* pass(1_000)
        assert.lengthOf(carrier.asks, 1)
        assert.deepStrictEqual(yield* outcomes(id), ["acme quoted"])
      })
    }
  })

  testInWorld("lose no answer and cause no second ask", () => {
    const carrier = prompt("acme")
    return {
      ...carriers(carrier),
      around: losing(2).around,
      body: Effect.gen(function* () {
        yield* work
        const { id } = yield* start({}, live)
        for (let passed = 0; passed < 30; passed++) yield* pass(1_000)
        assert.lengthOf(carrier.asks, 1)
        assert.deepStrictEqual(yield* outcomes(id), ["acme quoted"])
      })
    }
  })
})
