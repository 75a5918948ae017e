import { Effect } from "effect"
import type { Storage } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"

/**
 * The number of the newest event of a feed; that of the newest erased one if none is left.
 *
 * A feed can only be read forwards. So this doubles its step until it is past the end, and then bisects: a few reads,
 * however long the feed is.
 */
export const endOfFeed = Effect.fnUntraced(function* (storage: Storage["Service"], workspace_id: WorkspaceId) {
  const next = (after: number) => storage.feed({ workspace_id, after, limit: 1 })
  const first = yield* next(0)
  // There is an event with the number `low`.
  let low = first.events[0]?.number ?? null
  if (low === null) return first.erased_through
  let step = 1
  for (let found = yield* next(low + step); found.events[0] !== undefined; found = yield* next(low + step)) {
    low = found.events[0].number
    step *= 2
  }
  let high = low + step
  while (low < high) {
    const middle: number = Math.ceil((low + high) / 2)
    if ((yield* next(middle - 1)).events.length > 0) low = middle
    else high = middle - 1
  }
  return low
})
