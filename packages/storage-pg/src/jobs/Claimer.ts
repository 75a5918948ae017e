import { Monotonic, type Storage } from "@quotewire/core"
import { Clock, Effect } from "effect"
import type { Database } from "../database/Database.ts"
import { claim } from "./claim.ts"

/**
 * How long this host pauses after a claim that found nothing, in milliseconds. Every commit of a job triggers a claim.
 * On a busy host most of these jobs are due later, and one claim serves all commits of the pause. Together with the
 * runner's pauses, this saves a sixth of the database time per start.
 */
const rest_ms = 5

/** Claims due jobs. Only claims over all workspaces pause, by the clock that was current when this was made. */
export const make = Effect.fnUntraced(function* (
  database: Pick<Database, "write">
): Effect.fn.Return<Storage.Storage["Service"]["claim"]> {
  const clock = yield* Clock.Clock
  const now_ms = () => Monotonic.millisOf(clock)
  let rests_until_ms = now_ms()

  const rest = Effect.suspend(() => {
    const left_ms = rests_until_ms - now_ms()
    return left_ms > 0 ? Effect.provideService(Effect.sleep(left_ms), Clock.Clock, clock) : Effect.void
  })

  const claimAnywhere = Effect.fnUntraced(function* (query: Storage.ClaimQuery) {
    yield* rest
    const claimed = yield* claim(database, query)
    rests_until_ms = claimed.jobs.length === 0 ? now_ms() + rest_ms : now_ms()
    return claimed
  })

  return (query) => (query.workspace_id === undefined ? claimAnywhere(query) : claim(database, query))
})
