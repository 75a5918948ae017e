import type { AnswerOf, Client, EventFeed, OperationMethods } from "./Client.ts"
import { type CheckRules, inRange } from "./InvalidArgument.ts"
import type { Sleep } from "./retryPause.ts"
import { retryPause } from "./retryPause.ts"

type Event = AnswerOf<"list_events">["events"][number]

const defaultPollMs = 1_000
const hourMs = 3_600_000

/** The longest wait for new events, as a multiple of `poll_ms`. */
const longestWaitFactor = 10

/** Makes the `events` method from a function that reads one page. */
export const makeEvents =
  (list: OperationMethods["list_events"], sleep: Sleep, check: CheckRules): Client["events"] =>
  ({ after = null, limit = 100, poll_ms: pollMs = defaultPollMs, signal } = {}) => {
    check("events", [inRange("limit", limit, 1, 100), inRange("poll_ms", pollMs, 1, hourMs)])
    const signals = signal === undefined ? {} : { signal }
    let cursor = after

    /** Reads the page after a cursor. Retries as long as the errors are temporary. */
    const pageAfter = async (place: string | null) => {
      for (let failures = 0; ; failures++) {
        try {
          return await list({ limit, ...(place !== null && { cursor: place }) }, signals)
        } catch (error) {
          const pauseMs = retryPause(error, failures)
          if (pauseMs === null) throw error
          await sleep(pauseMs, signal)
        }
      }
    }

    async function* read(): AsyncGenerator<Event, void> {
      // Each loop has its own position, so that parallel loops do not take events from each other.
      let place = cursor
      let waitMs = pollMs
      while (true) {
        const previousPlace = place
        const { events, next_cursor } = await pageAfter(previousPlace)
        place = next_cursor
        for (const [index, event] of events.entries()) {
          if (signal?.aborted === true) return
          if (index === events.length - 1) cursor = next_cursor
          yield event
        }
        // If a host returns the same page again, the wait keeps growing, so that the host is not polled in a tight
        // loop.
        if (events.length > 0 && next_cursor !== previousPlace) waitMs = pollMs
        else {
          cursor = next_cursor
          await sleep(waitMs, signal)
          waitMs = Math.min(waitMs * 2, pollMs * longestWaitFactor)
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
