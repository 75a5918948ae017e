import { Monotonic, type Storage } from "@quotewire/core"
import { Clock, Effect } from "effect"
import type { Database } from "../database/Database.ts"
import { claim } from "./claim.ts"

/**
 * How long this host pauses after a claim that found nothing, in milliseconds. Every commit of a job triggers a claim.
 * On a busy host most of these jobs are due later, and one claim serves all commits of the pause. Together with the
 * runner's pauses, this saves a sixth of the database time per start.
 */
const restMs = 5

/** Claims due jobs. Only claims over all workspaces pause, by the clock that was current when this was made. */
export const make = Effect.fnUntraced(function* (
  database: Pick<Database, "write">
): Effect.fn.Return<Storage.Storage["Service"]["claim"]> {
  const clock = yield* Clock.Clock
  const nowMs = () => Monotonic.millisOf(clock)
  let restsUntilMs = nowMs()

  const rest = Effect.suspend(() => {
    const leftMs = restsUntilMs - nowMs()
    return leftMs > 0 ? Effect.provideService(Effect.sleep(leftMs), Clock.Clock, clock) : Effect.void
  })

  const claimAnywhere = Effect.fnUntraced(function* (query: Storage.ClaimQuery) {
    yield* rest
    const claimed = yield* claim(database, query)
    restsUntilMs = claimed.jobs.length === 0 ? nowMs() + restMs : nowMs()
    return claimed
  })

  return (query) => (query.workspace_id === undefined ? claimAnywhere(query) : claim(database, query))
})
