import { Schema } from "effect"
import * as Kind from "../../storage/Kind.ts"
import { ReplayId, SubscriptionId } from "../../wire/Ids.ts"
import { minuteMs } from "../../wire/Timestamp.ts"

/** The ways in which a sandbox can resend its events. */
export const ReplayCode = Schema.Literals(["as_recorded", "duplicated", "reversed", "delayed", "gap"])
export type ReplayCode = typeof ReplayCode.Type

/** A replay sends at most this many events: the newest events. */
export const maxReplayed = 1_000

const atMost = `at most the newest ${maxReplayed} are sent.`
const dropStale = "Drop events whose resource.version is not newer than the one you hold."

/** What each kind of replay does, and how a correct consumer reacts. */
export const descriptions: {
  readonly [C in ReplayCode]: { readonly notice: string; readonly recovery: string | null }
} = {
  as_recorded: { notice: `Every recorded event was sent again, in its original order; ${atMost}`, recovery: dropStale },
  duplicated: { notice: `Every recorded event was sent again, twice; ${atMost}`, recovery: dropStale },
  reversed: { notice: `Every recorded event was sent again, newest first; ${atMost}`, recovery: dropStale },
  delayed: {
    notice: `Every recorded event will be sent again in 15 minutes of workspace time; ${atMost}`,
    recovery: dropStale
  },
  gap: {
    notice: `Every recorded event was sent again except the first, which is only in the feed; ${atMost}`,
    recovery: "Read GET /v1/events from your stored cursor."
  }
}

/** A replay, with what it sends and its progress. */
export const EventReplay = Schema.Struct({
  id: ReplayId,
  /** When the replay was accepted and when its attempts are due, in milliseconds of workspace time. */
  at: Schema.Int,
  due_at: Schema.Int,
  /** How many times the workspace had been reset when the replay was accepted. A later reset cancels the replay. */
  reset_count: Schema.Int,
  subscriptions: Schema.Array(SubscriptionId),
  /** The numbers of the first and the last event to send. */
  first: Schema.Int,
  last: Schema.Int,
  /** How many steps are done. There is one step for each event and subscription. */
  turns: Schema.Int,
  /** How many attempts were queued. */
  deliveries: Schema.Int
})
export type EventReplay = typeof EventReplay.Type

/** The record kind for replays, keyed by IDs that are derived from their calls. */
export const kind = Kind.make({
  name: "event_replay",
  schema: EventReplay,
  survives_reset: true,
  kept_for: { period: "quotes", clock: "workspace" }
})

/** When the attempts of a replay are due if the replay is accepted now. */
export const dueAt = (code: ReplayCode, now: number): number => (code === "delayed" ? now + 15 * minuteMs : now)

/** The numbers of the events that a replay sends, in the order in which it sends them. */
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
