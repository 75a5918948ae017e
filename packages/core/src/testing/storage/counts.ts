import { Effect } from "effect"
import type { CountAddition } from "../../storage/Storage.ts"
import { expectSame } from "./expect.ts"
import * as Sample from "./samples.ts"
import { type Case, rule } from "./storageRule.ts"

const minute = 60_000

const addition = (parts: Partial<CountAddition>): CountAddition => ({
  workspace_id: Sample.home,
  name: "reads",
  window_start: 0,
  window_ms: minute,
  added: 1,
  ...parts
})

/** Cases for counts that all hosts share. */
export const counts: ReadonlyArray<Case> = [
  rule(
    "adds to a count, also concurrently, and returns its total",
    Effect.fnUntraced(function* (storage) {
      expectSame("the first count", yield* storage.addCounts(0, [addition({ added: 3 })]), [3])
      expectSame("the second count", yield* storage.addCounts(10, [addition({ added: 4 })]), [7])
      expectSame("read", yield* storage.addCounts(20, [addition({ added: 0 })]), [7])
      expectSame("a count that was reduced", yield* storage.addCounts(30, [addition({ added: -2 })]), [5])
      yield* Effect.forEach(Sample.range(1, 50), () => storage.addCounts(40, [addition({})]), {
        concurrency: "unbounded"
      })
      expectSame("fifty concurrent counts", yield* storage.addCounts(50, [addition({ added: 0 })]), [55])
    })
  ),
  rule(
    "keeps separate counts per name, workspace, window start and window length",
    Effect.fnUntraced(function* (storage) {
      const apart = [
        addition({ added: 1 }),
        addition({ added: 2, name: "starts" }),
        addition({ added: 3, workspace_id: Sample.elsewhere }),
        addition({ added: 4, window_start: minute }),
        addition({ added: 5, window_start: -minute, window_ms: 2 * minute })
      ]
      expectSame("added", yield* storage.addCounts(0, apart), [1, 2, 3, 4, 5])
      expectSame("doubled", yield* storage.addCounts(0, apart.toReversed()), [10, 8, 6, 4, 2])
      expectSame("nothing", yield* storage.addCounts(0, []), [])
    })
  ),
  rule(
    "keeps a count through a reset until the count's window has ended",
    Effect.fnUntraced(function* (storage) {
      yield* storage.addCounts(0, [
        addition({ added: 3 }),
        addition({ added: 5, name: "days", window_ms: 10 * minute })
      ])
      yield* storage.erase({ what: "workspace", workspace_id: Sample.home })
      expectSame("after a reset", yield* storage.addCounts(minute - 1, [addition({ added: 0 })]), [3])
      expectSame("over", yield* storage.addCounts(minute, [addition({ added: 0 })]), [0])
      const day = addition({ added: 0, name: "days", window_ms: 10 * minute })
      expectSame("a count in a longer window", yield* storage.addCounts(minute, [day]), [5])
    })
  )
]
