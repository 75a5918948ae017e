import { type Change, Ids, Supervise } from "@quotewire/core"
import { Cause, Effect, Option, Queue, Schema, type Scope } from "effect"
import { inRealTime } from "../connection/inRealTime.ts"
import type { Database } from "../database/Database.ts"
import * as Columns from "../rows/Columns.ts"

/** The shortest time between two announcements by a host, in milliseconds. */
const everyMs = 50
/** How long to wait before retrying hints that could not be sent, in milliseconds. */
const againMs = 1_000
/** How long a host that is stopping waits for its last hints to be sent, in milliseconds. */
const leaveMs = 1_000
// PostgreSQL limits the payload of a notification to less than 8,000 bytes.
const maxPayload = 7_500
const maxPayloads = 8
const longestLine = 200
const maxPending = 2_000

const textArray = Columns.texts(Schema.Array(Schema.String))

const lineOf = (hint: Change.Hint): string => {
  switch (hint.about) {
    case "everything":
      return hint.about
    case "record":
      return `${hint.about} ${hint.id}`
    default:
      return `${hint.about} ${hint.workspace_id}`
  }
}

const workspaceId = Schema.decodeUnknownOption(Ids.WorkspaceId)

/** Reads another host's announcement. Announcements by this host itself give no hints. */
export const parseAnnouncement = (host: string, payload: string): ReadonlyArray<Change.Hint> => {
  const [from, ...lines] = payload.split("\n")
  if (from === host) return []
  return lines.flatMap((line): ReadonlyArray<Change.Hint> => {
    if (line === "everything") return [{ about: line }]
    const space = line.indexOf(" ")
    const subject = line.slice(0, space)
    const id = line.slice(space + 1)
    if (subject === "record") return [{ about: subject, id }]
    // A newer host may announce kinds of hints that this host does not know.
    if (subject !== "events" && subject !== "jobs" && subject !== "workspace") return []
    return Option.toArray(Option.map(workspaceId(id), (workspace_id) => ({ about: subject, workspace_id })))
  })
}

/** Packs lines into a few payloads. Lines that do not fit are dropped, because they are only hints. */
const payloads = (host: string, lines: Iterable<string>): ReadonlyArray<string> => {
  const packed: Array<string> = []
  let payload = host
  for (const line of lines) {
    if (line.length > longestLine) continue
    // A character takes up to four bytes.
    if (payload.length + line.length + 1 > maxPayload / (isAscii(line) ? 1 : 4)) {
      packed.push(payload)
      payload = host
    }
    payload += `\n${line}`
  }
  return [...packed, payload].slice(0, maxPayloads)
}

const isAscii = (text: string): boolean => /^[\x20-\x7e]*$/.test(text)

/** Queues hints that are announced to other hosts soon. */
export type Announce = (hints: ReadonlyArray<Change.Hint>) => void

/**
 * Announces commits to other hosts, on a channel that is named after the schema. An announcement is sent immediately,
 * but at most every 50 milliseconds, and contains no duplicate hints. When the scope closes, the remaining hints are
 * sent first.
 *
 * The announcement is not part of the commit, because `pg_notify` in a transaction locks the whole database
 * (docs/decisions/tuning.md).
 */
export const make = Effect.fnUntraced(function* (
  host: string,
  database: Database
): Effect.fn.Return<Announce, never, Scope.Scope> {
  const wake = yield* Queue.sliding<void>(1)
  let pending = new Set<string>()

  // If the caller is interrupted, it is unknown whether the hints were sent, so they are sent again. Duplicates do no
  // harm.
  const sendPending = Effect.suspend(() => {
    const lines = pending
    pending = new Set()
    return Effect.onError(
      database.write("select pg_notify($1, payload) from unnest($2::text[]) payload", [
        database.schema,
        textArray.one(payloads(host, lines))
      ]),
      (cause) =>
        Effect.sync(() => {
          if (!Cause.hasDies(cause)) pending = new Set([...lines, ...pending])
        })
    )
  })
  const announce = Effect.gen(function* () {
    yield* Queue.take(wake)
    const isSent = yield* sendPending.pipe(
      Effect.as(true),
      Effect.catchTag("StorageUnavailable", () => Effect.succeed(false))
    )
    if (!isSent) Queue.offerUnsafe(wake, undefined)
    yield* Effect.sleep(isSent ? everyMs : againMs)
  })
  // This finalizer is registered before the fiber starts, so it runs after the fiber has ended.
  yield* Effect.addFinalizer(() =>
    pending.size === 0 ? Effect.void : inRealTime(Effect.ignore(Effect.timeout(sendPending, leaveMs)))
  )
  yield* Effect.forkScoped(inRealTime(Supervise.repeatForever("Announcing to other hosts", announce, everyMs)))

  return (hints) => {
    if (pending.size < maxPending) for (const hint of hints) pending.add(lineOf(hint))
    if (hints.length > 0) Queue.offerUnsafe(wake, undefined)
  }
})
