import type { AnswerOf, Client, EventFeed, OperationMethods } from "./Client.ts"
import { inRange } from "./inRange.ts"
import { retryPause } from "./retryPause.ts"
import type { Sleep } from "./Sleep.ts"

type Event = AnswerOf<"list_events">["events"][number]

const default_poll_ms = 1_000
const hour_ms = 3_600_000

/** The longest wait for new events, as a multiple of `poll_ms`. */
const longest_wait_factor = 10

/** Makes `events` from a function that reads one page. */
export const makeEvents =
  (list: OperationMethods["list_events"], sleep: Sleep): Client["events"] =>
  ({ after = null, limit: asked = 100, poll_ms: poll = default_poll_ms, signal } = {}) => {
    const limit = inRange("limit", asked, 1, 100)
    const poll_ms = inRange("poll_ms", poll, 1, hour_ms)
    const signals = signal === undefined ? {} : { signal }
    let cursor = after

    /** Reads the page after a cursor, and retries temporary errors for as long as they last. */
    const pageAfter = async (place: string | null) => {
      for (let failures = 0; ; failures++) {
        try {
          return await list({ limit, ...(place !== null && { cursor: place }) }, signals)
        } catch (error) {
          const pause_ms = retryPause(error, failures)
          if (pause_ms === null) throw error
          await sleep(pause_ms, signal)
        }
      }
    }

    async function* read(): AsyncGenerator<Event, void> {
      // Each loop has its own place, so that parallel loops do not take events from each other.
      let place = cursor
      let wait_ms = poll_ms
      while (true) {
        const before = place
        const { events, next_cursor } = await pageAfter(before)
        place = next_cursor
        for (const [index, event] of events.entries()) {
          if (signal?.aborted === true) return
          if (index === events.length - 1) cursor = next_cursor
          yield event
        }
        // Do not poll a host in a tight loop if it returns the same page again.
        if (events.length > 0 && next_cursor !== before) wait_ms = poll_ms
        else {
          cursor = next_cursor
          await sleep(wait_ms, signal)
          wait_ms = Math.min(wait_ms * 2, poll_ms * longest_wait_factor)
        }
      }
    }

    async function* readUntilAborted(): AsyncGenerator<Event, void> {
      try {
        yield* read()
      } catch (error) {
        if (signal?.aborted !== true) throw error
      }
    }

    const feed: EventFeed = {
      get cursor() {
        return cursor
      },
      [Symbol.asyncIterator]: readUntilAborted
    }
    return feed
  }
