import type { Storage } from "@quotewire/core"
import { Clock, Effect } from "effect"
import * as claims from "./claims.ts"
import type { Database } from "./Database.ts"
import { inRealTime } from "./inRealTime.ts"

/**
 * How long nobody asks for work after a claim that found none. Every commit of a job is a reason to ask: on a busy host
 * most jobs are for later, and one question answers for all the commits of so many milliseconds.
 */
const rest_ms = 5

/** Claims due jobs. */
export const make = (database: Database): Storage.Storage["Service"]["claim"] => {
  let found_nothing_at = Number.NEGATIVE_INFINITY
  const now = inRealTime(Clock.currentTimeMillis)

  const rest = Effect.flatMap(now, (at) => {
    // At most as long as it is, also where the clock of this host is set back.
    const left_ms = Math.min(rest_ms, found_nothing_at + rest_ms - at)
    return left_ms > 0 ? inRealTime(Effect.sleep(left_ms)) : Effect.void
  })

  const claim = (query: Storage.ClaimQuery) =>
    Effect.map(database.write(claims.statement, claims.parameters(query)), claims.read)

  return (query) =>
    query.workspace_id === undefined
      ? Effect.andThen(
          rest,
          Effect.tap(claim(query), ({ jobs }) =>
            Effect.map(now, (at) => {
              found_nothing_at = jobs.length === 0 ? at : Number.NEGATIVE_INFINITY
            })
          )
        )
      : claim(query)
}
