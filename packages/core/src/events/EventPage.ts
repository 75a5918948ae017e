import { Schema } from "effect"
import { aboutFields } from "../wire/AboutIds.ts"
import { pageFields } from "../wire/Pagination.ts"
import { Event } from "./Event.ts"

/** The input for reading the feed. Events are listed oldest first. */
export const FeedInput = Schema.Struct({
  ...pageFields,
  ...aboutFields,
  from: Schema.optionalKey(Schema.Literals(["oldest", "newest"])).annotateKey({
    description:
      "Where to start without a cursor: at the oldest event (the default), or so that the first page ends with the newest event."
  })
})
export type FeedInput = typeof FeedInput.Type

/** A page of the feed. An empty page means that the reader has caught up, even with filters. */
export const EventPage = Schema.Struct({
  events: Schema.Array(Event).annotateKey({ description: "The events, oldest first" }),
  next_cursor: Schema.String.annotate({
    description: "Present on every page. Store it once the page's work is saved."
  })
})
export type EventPage = typeof EventPage.Type
