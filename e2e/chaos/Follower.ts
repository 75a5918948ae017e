import type { Caller } from "./Caller.ts"
import { type FeedEvent, isFinal } from "./Feed.ts"
import { after } from "./Hosts.ts"

/** The pause between two polls of the feed, in milliseconds. */
const restsMs = 100

/** Reads the feed from its beginning, or from a cursor, to its end. */
export const read = async (caller: Caller, into: Array<FeedEvent>, from: string | null): Promise<string | null> => {
  let cursor = from
  while (true) {
    const query = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`
    const { status, body } = await caller.call(`/v1/events?limit=100${query}`)
    if (status !== 200) throw new Error(`The feed returned ${status}: ${JSON.stringify(body)}`)
    into.push(...body.events)
    cursor = body.next_cursor
    if (body.events.length === 0) return cursor
  }
}

/** Follows the feed while others write, until it is stopped and has caught up. */
export const follow = (caller: Caller) => {
  const events: Array<FeedEvent> = []
  let stopping = false
  let looked = 0
  let ended = 0
  const run = async () => {
    let cursor: string | null = null
    while (!stopping) {
      cursor = await read(caller, events, cursor)
      await after(restsMs)
    }
    await read(caller, events, cursor)
    return events
  }
  const followed = run()
  return {
    /** The events seen so far. */
    events,
    /** How many requests it has seen end. */
    ended: () => {
      for (const { type } of events.slice(looked)) if (isFinal(type)) ended += 1
      looked = events.length
      return ended
    },
    /** Stops, and returns all events seen, in order. */
    stop: (): Promise<ReadonlyArray<FeedEvent>> => {
      stopping = true
      return followed
    }
  }
}

/** A reader that is following a feed. */
export type Follower = ReturnType<typeof follow>
