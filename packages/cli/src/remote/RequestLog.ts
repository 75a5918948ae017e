import { Timestamp } from "@quotewire/core"
import type { AnswerOf } from "@quotewire/http/client"
import { Effect, Option, Stream } from "effect"
import type { CommandFailed } from "../CommandErrors.ts"
import * as HostClient from "./HostClient.ts"

/*
 * Follows the request log of a host. The API lists the newest entry first; here the oldest comes first.
 */

/** An entry of the request log: one call. */
export type Entry = AnswerOf<"get_api_request">

/** The operation that reads the log. Its calls are logged, too, and left out here: each look would show the one before. */
const own_operation = "list_api_requests"

/** How many entries are shown at the start. */
const first_entries = 10

/** How long to wait before the next look. Hosts write entries every half second. */
const poll_ms = 2_000

/** How far each look overlaps the one before: hosts write entries late, and several hosts write out of order. */
const overlap_ms = 10_000

/** What was seen so far. */
interface Seen {
  /** Entries before this time are ignored; null until an entry was found. */
  readonly floor: string | null
  /** The time of the newest entry. */
  readonly newest: string | null
  /** The entries that the next look may find again. */
  readonly ids: ReadonlySet<string>
}

const nothing: Seen = { floor: null, newest: null, ids: new Set() }

const page = (client: HostClient.HostClient, input: { readonly since?: string; readonly cursor?: string }) =>
  HostClient.call((signal) => client.list_api_requests({ limit: 100, ...input }, { signal }))

/** The entries since a moment, newest first. */
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

/** The time from which the next look reads: a little before the newest entry, but never before the first look. */
const sinceOf = ({ floor, newest }: Seen): string | null => {
  if (floor === null || newest === null) return null
  const from = Timestamp.fromMillis(Date.parse(newest) - overlap_ms)
  return from > floor ? from : floor
}

const look = Effect.fnUntraced(function* (client: HostClient.HostClient, before: Seen) {
  const since = sinceOf(before)
  const found = since === null ? (yield* page(client, {})).requests : yield* allSince(client, since)
  const unseen = found.filter(({ operation, request_id }) => operation !== own_operation && !before.ids.has(request_id))
  const entries = (since === null ? unseen.slice(0, first_entries) : unseen).toReversed()
  const newest = found[0]?.created_at ?? before.newest
  const after: Seen = {
    floor: before.floor ?? newest,
    newest,
    ids: new Set(found.map(({ request_id }) => request_id))
  }
  return { entries, after }
})

/** Shows the newest entries, and then each new one soon after it is written. A wrong key or address is reported at once. */
export const follow = (settings: HostClient.HostSettings): Stream.Stream<Entry, CommandFailed> => {
  const client = HostClient.make(settings)
  // After the first look the address is known to be right, so a host that is down is waited for.
  const patient = HostClient.make(settings, { max_retries: 20 })
  return Stream.paginate(nothing, (seen) =>
    Effect.gen(function* () {
      if (seen !== nothing) yield* Effect.sleep(poll_ms)
      const { after, entries } = yield* look(seen === nothing ? client : patient, seen)
      return [entries, Option.some(after)] as const
    })
  )
}

/** A call as one line of text, for people. */
export const lineOf = (entry: Entry): string => {
  const { created_at, duration_ms, error_code, method, operation, quote_id, quote_request_id, request_id } = entry
  const what = operation ?? `${method} ${entry.route}`
  const ids = [request_id, quote_request_id, quote_id].filter((id) => id !== null)
  const code = error_code === null ? "" : ` ${error_code}`
  return `${created_at}  ${entry.status}${code}  ${what}  in ${duration_ms} ms  ${ids.join("  ")}`
}
