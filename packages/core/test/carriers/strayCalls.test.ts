import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { status, withClient } from "./fakeCarrier.ts"

describe("a request to a carrier", () => {
  it.effect("causes no unhandled rejection if it fails before any code awaits it", () =>
    withClient(
      () => status(503),
      (http) =>
        Effect.gen(function* () {
          const stray: Array<unknown> = []
          const listener = (reason: unknown) => void stray.push(reason)
          yield* Effect.acquireRelease(
            Effect.sync(() => process.prependListener("unhandledRejection", listener)),
            () => Effect.sync(() => process.off("unhandledRejection", listener))
          )
          void http.get("/q")
          // Node reports the rejection at the end of a turn of the event loop.
          yield* Effect.promise(() => new Promise((resolve) => setImmediate(() => setImmediate(resolve))))
          assert.deepStrictEqual(stray, [])
        }).pipe(Effect.scoped)
    )
  )
})
