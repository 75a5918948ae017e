import { Event } from "@quotewire/core"
import type { AnswerOf } from "@quotewire/http/client"
import { Effect, Option, Stream } from "effect"
import { Flag } from "effect/cli"
import type { CommandFailed } from "../settings/CommandErrors.ts"
import { closest } from "./closest.ts"
import * as HostClient from "./HostClient.ts"

/** An event from the feed, as `list_events` returns it. */
export type FeedEvent = AnswerOf<"list_events">["events"][number]

/** Where to begin following the feed: with new events, with the oldest event, or after a cursor. */
export const sinceFlag = Flag.String("since").pipe(
  Flag.withDefault("now"),
  Flag.withMetavar("now|start|cursor"),
  Flag.withDescription("Where to start: now (the default), start (the oldest stored event), or a next_cursor")
)

/** Where to begin listing the feed. */
export const listedSinceFlag = Flag.String("since").pipe(
  Flag.filter(
    (text) => text !== "now",
    () => "--since must be start or a next_cursor; to see new events, use quotewire events tail"
  ),
  Flag.withDefault("start"),
  Flag.withMetavar("start|cursor"),
  Flag.withDescription("Where to start: start (the default), or a next_cursor")
)

/** The event types to show; all types if the flag is not set. */
export const typesFlag = Flag.String("types").pipe(
  Flag.filterMap(
    (text) => {
      const types = text.split(",").map((type) => type.trim())
      return types.every(isType) ? Option.some(types) : Option.none()
    },
    (text) => `--types must be event types, such as quote.created, separated by commas${meant(text)}`
  ),
  Flag.withDefault<ReadonlyArray<string>>([]),
  Flag.withDescription("Event types, separated by commas, such as quote.created; all by default")
)

const isType = (type: string): boolean => Event.choosable.includes(type)

const meant = (text: string): string => {
  const wrongType = text.split(",").find((type) => !isType(type.trim()))
  return wrongType === undefined ? "" : closest(wrongType.trim(), Event.choosable)
}

/** Creates a function that says whether an event has one of these types. If there are no types, every event matches. */
export const isOf =
  (types: ReadonlyArray<string>) =>
  ({ type }: FeedEvent): boolean =>
    types.length === 0 || types.includes(type)

type Page = AnswerOf<"list_events">

const firstCursor = (position: string): string | null => (position === "start" || position === "now" ? null : position)

/** The pages of the feed up to its end. An empty page marks the end. */
const pages = (client: HostClient.HostClient, after: string | null): Stream.Stream<Page, CommandFailed> =>
  Stream.paginate(after, (cursor) =>
    Effect.gen(function* () {
      const page = yield* HostClient.call((signal) =>
        client.list_events({ limit: 100, ...(cursor !== null && { cursor }) }, { signal })
      )
      if (page.events.length === 0) return [[page], Option.none()] as const
      yield* HostClient.refuseRepeated(cursor, page.next_cursor)
      return [[page], Option.some(page.next_cursor)] as const
    })
  )

/** The events up to the end of the feed. */
export const stored = (client: HostClient.HostClient, position: string): Stream.Stream<FeedEvent, CommandFailed> =>
  Stream.flatMap(pages(client, firstCursor(position)), ({ events }) => Stream.fromIterable(events))

/**
 * How long to wait between polls for new events, in milliseconds. The feed has no long poll. While no events arrive,
 * the wait grows to ten times this value, so there are at most 43,200 reads on a quiet day. A sandbox key may make
 * 50,000 calls a day, so other calls remain possible.
 */
const pollMs = 200

/**
 * Finds the cursor to begin after. For new events, that is the end of the feed.
 *
 * Makes at least one call, so that a wrong key or address is reported immediately.
 */
const start = Effect.fnUntraced(function* (client: HostClient.HostClient, position: string) {
  if (position !== "now") {
    const cursor = firstCursor(position)
    yield* HostClient.call((signal) => client.list_events({ limit: 1, ...(cursor !== null && { cursor }) }, { signal }))
    return cursor
  }
  const last = yield* Stream.runLast(pages(client, null))
  return Option.match(last, { onNone: () => null, onSome: ({ next_cursor }) => next_cursor })
})

/** An endless stream of events. While the host is down, the stream waits. */
export interface Following {
  readonly events: Stream.Stream<FeedEvent, CommandFailed>
  /** The cursor after the last page that was read; null to begin with the oldest event. */
  readonly cursor: () => string | null
}

/** Starts following the feed. Once this returns, no new event is missed. */
export const follow = Effect.fnUntraced(function* (client: HostClient.HostClient, position: string) {
  const after = yield* start(client, position)
  const { signal } = yield* Effect.acquireRelease(
    Effect.sync(() => new AbortController()),
    (controller) => Effect.sync(() => controller.abort())
  )
  const feed = client.events({ after, poll_ms: pollMs, signal })
  const following: Following = {
    events: Stream.catch(
      Stream.fromAsyncIterable(feed, (error) => error),
      (error) => Stream.fromEffect(HostClient.refused(error))
    ),
    cursor: () => feed.cursor
  }
  return following
})

/** Formats an event as one line of text for people. */
export const lineOf = ({ id, occurred_at, resource, type }: FeedEvent): string =>
  `${occurred_at}  ${type.padEnd(24)}  ${id}  ${resource.id} version ${resource.version}`
