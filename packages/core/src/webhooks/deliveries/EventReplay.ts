import { Schema } from "effect"
import * as Kind from "../../storage/Kind.ts"
import { ReplayId, SubscriptionId } from "../../wire/Ids.ts"
import { minuteMs } from "../../wire/Timestamp.ts"

/** A way in which a sandbox sends its events again. */
export const ReplayCode = Schema.Literals(["as_recorded", "duplicated", "reversed", "delayed", "gap"])
export type ReplayCode = typeof ReplayCode.Type

/** At most this many events are replayed: the newest. */
export const maxReplayed = 1_000

const atMost = `of more than ${maxReplayed}, the newest.`
const dropStale = "Drop events whose resource.version is not newer than the one you hold."

/** What each way of replaying does, and how a correct consumer reacts. */
export const descriptions: {
  readonly [C in ReplayCode]: { readonly notice: string; readonly recovery: string | null }
} = {
  as_recorded: { notice: `Every recorded event was sent again, in its order; ${atMost}`, recovery: dropStale },
  duplicated: { notice: `Every recorded event was sent again, twice; ${atMost}`, recovery: dropStale },
  reversed: { notice: `Every recorded event was sent again, the newest first; ${atMost}`, recovery: dropStale },
  delayed: {
    notice: `Every recorded event is sent again in 15 minutes of workspace time; ${atMost}`,
    recovery: dropStale
  },
  gap: {
    notice: `Every recorded event but the first was sent again, which is only in the feed; ${atMost}`,
    recovery: "Read GET /v1/events from your stored cursor."
  }
}

/** A replay: what it sends, and its progress. */
export const EventReplay = Schema.Struct({
  id: ReplayId,
  /** The moment of the replay and that of its attempts, in milliseconds of workspace time. */
  at: Schema.Int,
  due_at: Schema.Int,
  /** A reset cancels it. */
  reset_count: Schema.Int,
  subscriptions: Schema.Array(SubscriptionId),
  /** The numbers of the first event that is sent and of the last. */
  first: Schema.Int,
  last: Schema.Int,
  /** How many of its steps are done: each event of each subscription is one. */
  turns: Schema.Int,
  /** How many attempts were queued. */
  deliveries: Schema.Int
})
export type EventReplay = typeof EventReplay.Type

/** Replays in storage, by ids derived from their calls. */
export const kind = Kind.make({
  name: "event_replay",
  schema: EventReplay,
  survives_reset: true,
  kept_for: { period: "quotes", clock: "workspace" }
})

/** When the attempts of a replay accepted now are due. */
export const dueAt = (code: ReplayCode, now: number): number => (code === "delayed" ? now + 15 * minuteMs : now)

/** The numbers of the events that a replay sends, in the order of their attempts. */
export const orderOf = (code: ReplayCode, { first, last }: EventReplay): ReadonlyArray<number> => {
  const numbers = Array.from({ length: last - first + 1 }, (_, place) => first + place)
  switch (code) {
    case "duplicated":
      return numbers.flatMap((number) => [number, number])
    case "reversed":
      return numbers.toReversed()
    case "gap":
      return numbers.slice(1)
    case "as_recorded":
    case "delayed":
      return numbers
  }
}
