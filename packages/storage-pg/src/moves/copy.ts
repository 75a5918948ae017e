import { Effect } from "effect"
import type { DatabaseRefused } from "../connection/DatabaseRefused.ts"
import type { Connected } from "./Move.ts"
import { refused } from "./MoveRefused.ts"
import type { Progress } from "./Progress.ts"
import * as Source from "./Source.ts"
import * as Target from "./Target.ts"

/** How often the progress of a copy is looked at, and told. */
const look_ms = 200
const tell_ms = 2_000
/** The cell is not held before as little as this is still to be sent. */
const small_lag_bytes = 256 * 1_024
/** A subscription that has not worked for so long will not work by itself. */
const patience_ms = 60_000
/** A copy or a lag that has not changed for so long will not change by itself. */
const standstill_ms = 600_000

const notRunning = refused(
  "The new server does not copy: see its log; it may need more max_logical_replication_workers, or not reach the old server. Then run the command again, or with --undo."
)

/** How far the subscription is. */
const lookAt = Effect.fnUntraced(function* (source: Connected, target: Connected, move_id: string) {
  const copied = yield* target.step((session) => Target.copied(session, move_id))
  const lag_bytes = yield* source.step((session) => Source.lag(session, move_id))
  return copied === null || lag_bytes === null ? yield* notRunning : { ...copied, lag_bytes }
})

/** The progress of a copy, or of what follows it. */
const progressOf = Effect.fnUntraced(function* (
  source: Connected,
  target: Connected,
  { lag_bytes, tables_left }: { readonly lag_bytes: number; readonly tables_left: number }
): Effect.fn.Return<Progress, DatabaseRefused> {
  if (tables_left === 0) return { step: "following", lag_bytes }
  const copied_bytes = yield* target.step(Source.bytes)
  const total_bytes = yield* source.step(Source.bytes)
  return { step: "copying", copied_bytes, total_bytes, tables_left }
})

/** Waits until all tables are copied, and the changes since then have nearly all arrived. */
export const followUp = Effect.fnUntraced(function* (
  source: Connected,
  target: Connected,
  move_id: string,
  tell: (progress: Progress) => Effect.Effect<void>
): Effect.fn.Return<void, DatabaseRefused> {
  let idle_ms = 0
  let still_ms = 0
  let untold_ms = tell_ms
  let told: Progress | null = null
  for (;;) {
    const now = yield* lookAt(source, target, move_id)
    idle_ms = now.is_running ? 0 : idle_ms + look_ms
    const step = now.tables_left > 0 ? "copying" : "following"
    if (step !== told?.step || untold_ms >= tell_ms) {
      const progress: Progress = yield* progressOf(source, target, now)
      still_ms = JSON.stringify(progress) === JSON.stringify(told) ? still_ms + untold_ms : 0
      told = progress
      untold_ms = 0
      yield* tell(progress)
    }
    if (step === "following" && now.is_running && now.lag_bytes <= small_lag_bytes) return
    if (idle_ms >= patience_ms || still_ms >= standstill_ms) return yield* notRunning
    yield* Effect.sleep(look_ms)
    untold_ms += look_ms
  }
})
