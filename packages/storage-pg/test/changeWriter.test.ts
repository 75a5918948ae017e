import { assert, describe, it } from "@effect/vitest"
import { Change, Storage } from "@quotewire/core"
import { Effect } from "effect"
import * as ChangeWriter from "../src/changes/ChangeWriter.ts"
import { workspace } from "./support/hosts.ts"

const lost = Effect.fail(new Storage.StorageUnavailable({ retry_after_seconds: 1 }))

describe("changes that share a statement with a failing change", () => {
  it.effect("fail together as soon as the database is lost, not one after another", () =>
    Effect.gen(function* () {
      let statements = 0
      const write = () => Effect.suspend(() => (++statements === 1 ? Effect.die("a statement that cannot be") : lost))
      const commit = yield* ChangeWriter.make(
        { schema: "quotewire", call_ms: 10_000, read: write, write },
        { queues: 1, stored: () => Effect.void }
      )
      const changes = Array.from({ length: 50 }, () => Change.make(workspace(1), {}))
      const outcomes = yield* Effect.forEach(changes, (change) => Effect.flip(commit(change)), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(new Set(outcomes.map(({ _tag }) => _tag)), new Set(["StorageUnavailable"]))
      assert.strictEqual(statements, 2)
    }).pipe(Effect.scoped)
  )
})
