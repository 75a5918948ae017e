import { Effect } from "effect"
import type { DatabaseRefused } from "../connection/DatabaseRefused.ts"
import type { ConnectedEnd, Progress } from "./Move.ts"
import { refused } from "./MoveRefused.ts"
import { tableBytes } from "./Replication.ts"
import * as Source from "./Source.ts"
import * as Target from "./Target.ts"

/** How often a copy's progress is read, and how often it is reported, in milliseconds. */
const pollMs = 200
const reportEveryMs = 2_000
/** The cell is held only when the lag is at most this many bytes, so that the rest arrives during the hold. */
const maxLagBytes = 256 * 1_024
/** If a subscription has not run for this long, in milliseconds, it will not restart by itself. */
const maxStoppedMs = 60_000
/** If a copy has made no progress for this long, in milliseconds, it is stuck. */
const maxStalledMs = 600_000
/**
 * If a slot that a copied table needs is missing for this long, in milliseconds, it was lost. In a healthy copy, a slot
 * is missing only briefly.
 */
const maxMissingMs = 5_000

const notRunning = refused(
  "The new server is not copying. See that server's log: the server may need a higher max_logical_replication_workers, or may not be able to reach the old server. Then run the command again, or with --undo."
)

const slotIsLost = refused(
  "The old server has invalidated the replication slot of this move, and has lost the changes that the new database had not received yet: the slot retained more WAL than max_slot_wal_keep_size allows, or was idle for longer than idle_replication_slot_timeout. Raise that limit, run the command with --undo, and move the cell again."
)

/** Reads the copy's progress and lag. Fails if the subscription or the move's slot is gone. */
const readState = Effect.fnUntraced(function* (source: ConnectedEnd, target: ConnectedEnd, moveId: string) {
  const copied = yield* target.step((session) => Target.copied(session, moveId))
  const lag = yield* source.step((session) => Source.lag(session, moveId, copied?.needed_slots ?? []))
  if (lag?.is_lost) return yield* slotIsLost
  if (copied === null || lag === null) return yield* notRunning
  const { needed_slots, is_running, tables_left } = copied
  const is_missing = yield* source.step((session) => Source.lacksSlot(session, needed_slots))
  const confirmed = tables_left > 0 ? lag.copies_confirmed : lag.confirmed
  return { is_running, is_missing, tables_left, lag_bytes: lag.bytes, confirmed }
})

/** The progress of the copy, or of the replication that follows it. */
const progressOf = Effect.fnUntraced(function* (
  source: ConnectedEnd,
  target: ConnectedEnd,
  { lag_bytes, tables_left }: { readonly lag_bytes: number; readonly tables_left: number }
): Effect.fn.Return<Progress, DatabaseRefused> {
  if (tables_left === 0) return { step: "following", lag_bytes }
  const copied_bytes = yield* target.step(tableBytes)
  const total_bytes = yield* source.step(tableBytes)
  return { step: "copying", copied_bytes, total_bytes, tables_left }
})

/**
 * How far a subscription has progressed. The lag does not show this, because hosts keep writing. While tables are being
 * copied, `confirmed` is the position of the copies, because the subscription itself follows the log even if a copy is
 * stuck.
 */
interface Reached {
  readonly tables_left: number
  readonly copied_bytes: number
  readonly confirmed: number
}

const isFurther = (now: Reached, best: Reached): boolean =>
  now.tables_left < best.tables_left || now.copied_bytes > best.copied_bytes || now.confirmed > best.confirmed

/**
 * Waits until all tables are copied and the replication lag is small. Returns false if the copy of a table can never
 * end, because its slot was lost. That can happen because PostgreSQL drops a table's slot before it records that the
 * slot is no longer needed. If the new server crashes in between, the table waits for a slot that does not exist.
 */
export const catchUp = Effect.fnUntraced(function* (
  source: ConnectedEnd,
  target: ConnectedEnd,
  moveId: string,
  report: (progress: Progress) => Effect.Effect<void>
): Effect.fn.Return<boolean, DatabaseRefused> {
  let missingMs = 0
  let stoppedMs = 0
  let stalledMs = 0
  let unreportedMs = reportEveryMs
  let reported: Progress | null = null
  let best: Reached | null = null
  for (;;) {
    const now = yield* readState(source, target, moveId)
    missingMs = now.is_missing ? missingMs + pollMs : 0
    stoppedMs = now.is_running ? 0 : stoppedMs + pollMs
    const step = now.tables_left > 0 ? "copying" : "following"
    if (step !== reported?.step || unreportedMs >= reportEveryMs) {
      const progress: Progress = yield* progressOf(source, target, now)
      const copied_bytes: number = progress.step === "copying" ? progress.copied_bytes : 0
      const reached: Reached = { tables_left: now.tables_left, copied_bytes, confirmed: now.confirmed }
      const isBetter: boolean = best === null || isFurther(reached, best)
      stalledMs = isBetter ? 0 : stalledMs + unreportedMs
      if (isBetter) best = reached
      reported = progress
      unreportedMs = 0
      yield* report(progress)
    }
    if (step === "following" && now.is_running && now.lag_bytes <= maxLagBytes) return true
    if (missingMs >= maxMissingMs) return false
    if (stoppedMs >= maxStoppedMs || stalledMs >= maxStalledMs) return yield* notRunning
    yield* Effect.sleep(pollMs)
    unreportedMs += pollMs
  }
})
