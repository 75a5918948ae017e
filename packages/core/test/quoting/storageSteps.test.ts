import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { Storage } from "../../src/storage/Storage.ts"
import { carriers, prompt } from "./carriers.ts"
import { live, outcomes, pass, start, testInWorld, work } from "./support.ts"

/** Notes the kinds of the records that are read one by one, and of those that each change writes. */
const noting = () => {
  const reads: Array<string> = []
  const changes: Array<string> = []
  const around = (storage: Storage["Service"]): Storage["Service"] => ({
    ...storage,
    get: (key) =>
      Effect.suspend(() => {
        reads.push(key.kind)
        return storage.get(key)
      }),
    commit: (change) =>
      Effect.suspend(() => {
        changes.push([...new Set(change.writes.map(({ kind }) => kind))].toSorted().join(" "))
        return storage.commit(change)
      })
  })
  /** How many reads and changes there are so far. */
  const count = () => ({ reads: reads.length, changes: changes.length })
  const since = (before: ReturnType<typeof count>) => ({
    reads: reads.slice(before.reads).toSorted(),
    changes: changes.slice(before.changes)
  })
  return { around, count, since }
}

describe("in storage", () => {
  {
    const { around, count, since } = noting()
    testInWorld(
      "a start is one change, and reads no record",
      Effect.gen(function* () {
        yield* start({}, live)
        const before = count()
        yield* start({}, live)
        assert.deepStrictEqual(since(before), {
          reads: [],
          changes: ["application consent quote_request request_key"]
        })
      }),
      { ...carriers(prompt("acme")), around }
    )
  }

  {
    const { around, count, since } = noting()
    testInWorld(
      "an ask loads its request and its facts once, and is three changes, two of them for the carrier's limits",
      Effect.gen(function* () {
        const { id } = yield* start({}, live)
        const before = count()
        yield* work
        yield* pass(10)
        // The choice of carriers comes before the ask: it reads the same records, and is a change of its own.
        assert.deepStrictEqual(since(before), {
          reads: [
            ...["application", "application"],
            ...["carrier_health", "carrier_health", "carrier_health"],
            ...["quote_request", "quote_request"]
          ],
          changes: ["quote_request", "carrier_health", "carrier_health", "offer quote quote_request"]
        })
        assert.deepStrictEqual(yield* outcomes(id), ["acme quoted"])
      }),
      { ...carriers(prompt("acme")), around }
    )
  }
})
