import { Timestamp } from "@quotewire/core/program"
import type { AnswerOf } from "@quotewire/http/client"
import { Effect, Option, Stream } from "effect"
import type { CommandFailed } from "../settings/CommandErrors.ts"
import * as HostClient from "./HostClient.ts"

/*
 * Follows a host's request log. The API lists the newest entry first, but this module returns the oldest first.
 */

/** An entry of the request log: one call. */
export type Entry = AnswerOf<"list_api_requests">["requests"][number]

/**
 * The operation that reads the log. Its own calls are logged too, but omitted here. Otherwise each poll would show the
 * previous poll.
 */
const ownOperation = "list_api_requests"

/** Whether a call was made by this command, or by `quotewire listen` to wait for events. */
const isOwn = ({ agent, operation }: Entry): boolean =>
  operation === ownOperation || (operation === "list_events" && agent.user_agent === HostClient.listener)

/** How many entries are shown at the beginning. */
const firstEntries = 10

/** How long to wait before the next poll, in milliseconds. Hosts write entries every half second. */
const pollMs = 2_000

/**
 * How far each poll overlaps the previous one, in milliseconds. Hosts write entries with a delay, and entries of
 * several hosts can arrive out of order.
 */
const overlapMs = 10_000

/** What the polls have read so far. */
interface LogPosition {
  /** Entries before this time are ignored; null until the first entry is found. */
  readonly floor: string | null
  /** The time of the newest entry. */
  readonly newest: string | null
  /** The IDs of entries that the next poll may find again. */
  readonly ids: ReadonlySet<string>
}

const nothing: LogPosition = { floor: null, newest: null, ids: new Set() }

const page = (client: HostClient.HostClient, input: { readonly since?: string; readonly cursor?: string }) =>
  HostClient.call((signal) => client.list_api_requests({ limit: 100, ...input }, { signal }))

/** Reads the entries since a time, newest first. */
const allSince = (client: HostClient.HostClient, since: string): Effect.Effect<ReadonlyArray<Entry>, CommandFailed> =>
  Stream.runCollect(
    Stream.paginate<string | null, Entry, CommandFailed>(null, (cursor) =>
      Effect.gen(function* () {
        const { next_cursor, requests } = yield* page(client, { since, ...(cursor !== null && { cursor }) })
        yield* HostClient.refuseRepeated(cursor, next_cursor)
        return [requests, Option.fromNullOr(next_cursor)] as const
      })
    )
  )

/**
 * The time from which the next poll reads: slightly before the newest entry, but never before `floor`.
 */
const sinceOf = ({ floor, newest }: LogPosition): string | null => {
  if (floor === null || newest === null) return null
  const from = Timestamp.fromMillis(Date.parse(newest) - overlapMs)
  return from > floor ? from : floor
}

const look = Effect.fnUntraced(function* (client: HostClient.HostClient, position: LogPosition) {
  const since = sinceOf(position)
  const polled = since === null ? (yield* page(client, {})).requests : yield* allSince(client, since)
  const unseen = polled.filter((entry) => !isOwn(entry) && !position.ids.has(entry.request_id))
  const entries = (since === null ? unseen.slice(0, firstEntries) : unseen).toReversed()
  const newest = polled[0]?.created_at ?? position.newest
  const nextPosition: LogPosition = {
    floor: position.floor ?? newest,
    newest,
    ids: new Set(polled.map(({ request_id }) => request_id))
  }
  return { entries, after: nextPosition }
})

/**
 * Shows the newest entries, then each new entry soon after it is written. A wrong key or address is reported
 * immediately.
 */
export const follow = (settings: HostClient.HostSettings): Stream.Stream<Entry, CommandFailed> => {
  const client = HostClient.make(settings)
  // The first poll has shown that the address is right, so this client keeps retrying while the host is down.
  const patient = HostClient.make(settings, { max_retries: 20 })
  return Stream.paginate(nothing, (position) =>
    Effect.gen(function* () {
      if (position !== nothing) yield* Effect.sleep(pollMs)
      const { after, entries } = yield* look(position === nothing ? client : patient, position)
      return [entries, Option.some(after)] as const
    })
  )
}

/** Formats a call as one line of text for people. */
export const lineOf = (entry: Entry): string => {
  const { created_at, duration_ms, error_code, method, operation, quote_id, quote_request_id, request_id } = entry
  const called = operation ?? `${method} ${entry.route}`
  const ids = [request_id, quote_request_id, quote_id].filter((id) => id !== null)
  const code = error_code === null ? "" : ` ${error_code}`
  return `${created_at}  ${entry.status}${code}  ${called}  in ${duration_ms} ms  ${ids.join("  ")}`
}
