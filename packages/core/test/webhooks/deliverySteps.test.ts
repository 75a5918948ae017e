import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { Storage } from "../../src/storage/Storage.ts"
import { pass, start, work } from "../quoting/support.ts"
import { create, testWebhooks } from "./support.ts"

const live = { environment: "live" } as const

/** Notes the kinds of the records that are read, and of those that each change about deliveries writes. */
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
        const kinds = change.writes.map(({ kind }) => kind).toSorted()
        if (kinds.includes("endpoint_health")) changes.push(kinds.join(" "))
        return storage.commit(change)
      })
  })
  return { around, reads, changes }
}

const aboutDeliveries = new Set(["delivery", "endpoint_health", "subscription"])

describe("in storage", () => {
  {
    const { around, changes, reads } = noting()
    testWebhooks(
      "eight deliveries to an endpoint that start and end together read its subscription once, and end in one change",
      () =>
        Effect.gen(function* () {
          yield* create({}, live)
          // After some changes without another writer, the endpoint is known and need not be read.
          yield* work
          for (let i = 0; i < 8; i++) {
            yield* start({}, live)
            yield* pass(200)
          }
          const before = { reads: reads.length, changes: changes.length }
          for (let i = 0; i < 8; i++) yield* start({}, live)
          yield* pass(200)
          const deliveries = Array.from({ length: 8 }, () => "delivery")
          assert.deepStrictEqual(
            reads
              .slice(before.reads)
              .filter((kind) => aboutDeliveries.has(kind))
              .toSorted(),
            [...deliveries, "subscription"]
          )
          assert.deepStrictEqual(changes.slice(before.changes), [[...deliveries, "endpoint_health"].join(" ")])
        }),
      {},
      { around }
    )
  }
})
