import { Clock, Effect } from "effect"
import type { DatabaseRefused } from "../connection/DatabaseRefused.ts"
import { monotonicMs } from "../connection/monotonicMs.ts"
import type { Connected } from "./Move.ts"
import type { Progress } from "./Progress.ts"
import * as Source from "./Source.ts"
import * as Target from "./Target.ts"

/** How long a hold waits for the last changes to arrive: less than the hold lasts, so that there is time to decide. */
const arrival_ms = Source.hold_ms - 150
const look_ms = 5

/** Waits until everything before a mark has arrived; false if that takes too long. */
const awaitArrival = Effect.fnUntraced(function* (target: Connected, mark: string) {
  const now_ms = Effect.map(Clock.Clock, monotonicMs)
  const until_ms = (yield* now_ms) + arrival_ms
  while ((yield* now_ms) < until_ms) {
    if (yield* target.step((session) => Target.hasArrived(session, mark))) return true
    yield* Effect.sleep(look_ms)
  }
  return false
})

/**
 * Holds the cell, and decides the move as soon as everything has arrived. If that takes too long, the cell is released; then
 * it returns false, and can be tried again.
 */
export const trySwitch = Effect.fnUntraced(function* (
  source: Connected,
  target: Connected,
  tell: (progress: Progress) => Effect.Effect<void>
): Effect.fn.Return<boolean, DatabaseRefused> {
  const now_ms = Effect.map(Clock.Clock, monotonicMs)
  const isQuiet = yield* source.step(Source.keepQuiet)
  const began_ms = yield* now_ms
  const sinceBegin = Effect.map(now_ms, (now) => Math.round(now - began_ms))
  const mark = isQuiet ? yield* source.step((session) => Source.hold(session, source.schema)) : null
  if (mark !== null) {
    yield* tell({ step: "held" })
    const isDecided =
      (yield* awaitArrival(target, mark)) && (yield* source.step((session) => Source.decide(session, mark)))
    if (isDecided) {
      yield* tell({ step: "switched", held_ms: yield* sinceBegin })
      return true
    }
    yield* source.step((session) => Source.release(session, source.schema))
  }
  yield* tell({ step: "released", held_ms: yield* sinceBegin })
  return false
})
