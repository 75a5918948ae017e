import { Monotonic, type Storage } from "@quotewire/core"
import { Clock, Effect } from "effect"
import type { DueWork } from "./DueWork.ts"

/**
 * How long this host pauses after a claim that found nothing, in milliseconds. Every commit of a job triggers a claim.
 * On a busy host, most of these jobs are due later, and one claim serves all commits that happen during the pause
 * (docs/decisions/tuning.md).
 */
const restMs = 5

/**
 * Creates the function that claims due jobs from a database.
 *
 * A claim over all workspaces asks the database only if there may be due jobs, and pauses if the previous claim found
 * nothing. The pause follows the clock that was current when `make` ran.
 */
export const make = Effect.fnUntraced(function* (
  claim: Storage.Storage["Service"]["claim"],
  due: DueWork
): Effect.fn.Return<Storage.Storage["Service"]["claim"]> {
  const clock = yield* Clock.Clock
  const nowMs = () => Monotonic.millisOf(clock)
  let restsUntilMs = nowMs()

  const rest = Effect.suspend(() => {
    const leftMs = restsUntilMs - nowMs()
    return leftMs > 0 ? Effect.provideService(Effect.sleep(leftMs), Clock.Clock, clock) : Effect.void
  })

  const claimAnywhere = Effect.fnUntraced(function* (query: Storage.ClaimQuery) {
    const answer = due.answer(query.now)
    if (answer !== null) return answer
    yield* rest
    const ended = due.asking(query)
    const claimed = yield* Effect.onError(claim(query), () => Effect.sync(() => ended(null)))
    ended(claimed)
    restsUntilMs = claimed.jobs.length === 0 ? nowMs() + restMs : nowMs()
    return claimed
  })

  // A claim over all workspaces does not know when the leases of a claim in one workspace end, so the next claim over
  // all workspaces must ask the database.
  const claimIn = (query: Storage.ClaimQuery) => Effect.ensuring(claim(query), Effect.sync(due.hint))

  return (query) => (query.workspace_id === undefined ? claimAnywhere(query) : claimIn(query))
})
