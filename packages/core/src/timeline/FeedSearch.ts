import { Effect, Schema } from "effect"
import { Event } from "../events/Event.ts"
import type { StoredEvent } from "../storage/Change.ts"
import type { Storage } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import { minuteMs, secondMs } from "../wire/Timestamp.ts"

/** The events found, and whether the search covered all of them. */
export interface Found {
  readonly found: ReadonlyArray<Event>
  readonly isComplete: boolean
}

/** The maximum number of events searched. */
const maxScanned = 5_000
const pageSize = 500
/** How much numbers and times can disagree about the order of events when several hosts commit at once. */
const disorderMs = 2 * secondMs

const readEvent = Schema.decodeSync(Schema.fromJsonString(Event))

/**
 * Finds the events of some resources in the feed of a workspace, which has no index by resource.
 *
 * `times` are the moments when something happened to them, in milliseconds of workspace time. The feed is sorted by
 * time, so bisection finds each moment, and only the events around it are read.
 */
export const find = Effect.fnUntraced(function* (
  storage: Pick<Storage["Service"], "feed">,
  workspace_id: WorkspaceId,
  resourceIds: ReadonlySet<string>,
  times: ReadonlyArray<number>
) {
  const firstAfter = (after: number) =>
    Effect.map(storage.feed({ workspace_id, after, limit: 1 }), ({ events }) => events[0] ?? null)

  /** The number before the first event at or after a time. */
  const seek = Effect.fnUntraced(function* (time: number) {
    let step = 1
    let low = 0
    const isBefore = (event: StoredEvent | null) => event !== null && event.occurred_at < time
    // Doubles the step until an event is late enough, then bisects.
    while (isBefore(yield* firstAfter(low + step))) {
      low += step
      step *= 2
    }
    let high = low + step
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (isBefore(yield* firstAfter(middle))) low = middle + 1
      else high = middle
    }
    return low
  })

  const found: Array<Event> = []
  let scanned = 0
  for (const { from, until } of windows(times)) {
    let after = yield* seek(from)
    while (scanned < maxScanned) {
      const page = yield* storage.feed({ workspace_id, after, limit: pageSize })
      const within = page.events.filter(({ occurred_at }) => occurred_at <= until)
      scanned += page.events.length
      found.push(...within.map(({ body }) => readEvent(body)).filter(({ resource }) => resourceIds.has(resource.id)))
      const last = page.events.at(-1)
      if (last === undefined || within.length < page.events.length) break
      after = last.number
    }
  }
  const result: Found = { found, isComplete: scanned < maxScanned }
  return result
})

/** The time ranges around these moments. Moments less than a minute apart share one. */
const windows = (times: ReadonlyArray<number>) => {
  const merged: Array<{ from: number; until: number }> = []
  for (const time of times.toSorted((a, b) => a - b)) {
    const last = merged.at(-1)
    if (last !== undefined && time - last.until <= minuteMs) last.until = time + disorderMs
    else merged.push({ from: time - disorderMs, until: time + disorderMs })
  }
  return merged
}
