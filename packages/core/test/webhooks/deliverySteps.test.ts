import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { noting } from "../quoting/noting.ts"
import { pass, start, work } from "../support/world.ts"
import { create, testWebhooks } from "./support.ts"

const live = { environment: "live" } as const

const aboutDeliveries = new Set(["delivery", "endpoint_health", "subscription"])

describe("eight concurrent deliveries to one endpoint", () => {
  const { around, count, since } = noting()
  testWebhooks(
    "read the subscription once, and end in one change",
    () =>
      Effect.gen(function* () {
        yield* create({}, live)
        // After some changes without another writer, the endpoint is known and need not be read.
        yield* work
        for (let i = 0; i < 8; i++) {
          yield* start({}, live)
          yield* pass(200)
        }
        const before = count()
        for (let i = 0; i < 8; i++) yield* start({}, live)
        yield* pass(200)
        const deliveries = Array.from({ length: 8 }, () => "delivery")
        const { changes, reads } = since(before)
        assert.deepStrictEqual(
          reads.filter((kind) => aboutDeliveries.has(kind)),
          [...deliveries, "subscription"]
        )
        assert.deepStrictEqual(
          changes.filter((kinds) => kinds.includes("endpoint_health")),
          [[...deliveries, "endpoint_health"].join(" ")]
        )
      }),
    {},
    { around }
  )
})
