import { Effect } from "effect"
import type { Moment } from "../access/Workspaces.ts"
import * as Change from "../storage/Change.ts"
import type { FeedPage } from "../storage/Page.ts"
import { commit, type StorageUnavailable } from "../storage/Storage.ts"
import * as Consumer from "./Consumer.ts"
import { loadConsumer } from "./ConsumerStore.ts"
import * as LeasedConsumer from "./LeasedConsumer.ts"
import { judgeRetry } from "./parking.ts"
import type { WorkspaceContext } from "./WorkspaceContext.ts"

/** The longest wait before the next turn, in milliseconds; null if no event is left. */
export type NextTurn = { readonly wait_ms: number } | null

/** A consumer that this process has claimed. */
export interface ClaimedConsumer {
  readonly consumer: LeasedConsumer.LeasedConsumer
}

const create = (
  { clock, settings, started_at }: WorkspaceContext,
  { workspace }: Moment,
  { erased_through }: FeedPage
) => {
  // Events that were erased before the consumer's name was first used are not considered missed.
  const position = workspace.created_at >= started_at ? 0 : erased_through
  return Consumer.create(settings.name, clock.currentTimeMillisUnsafe(), position, workspace.erased_count)
}

/** Claims a workspace's consumer for this process, if the consumer has work and no other process holds it. */
export const claim = (context: WorkspaceContext): Effect.Effect<NextTurn | ClaimedConsumer, StorageUnavailable> => {
  const { clock, holder, settings, storage, handlerLock, workspaces } = context
  const { id: workspace_id } = context.workspace
  return Effect.gen(function* () {
    const stored = yield* loadConsumer(storage, workspace_id, settings.name)
    const wait_ms = stored === null ? 0 : Consumer.claimableAt(stored, holder) - clock.currentTimeMillisUnsafe()
    if (wait_ms > 0) return { wait_ms }
    const moment = yield* workspaces.moment(workspace_id)
    const hasDied = stored !== null && Consumer.hasHolderDied(stored, holder)
    const limit = hasDied ? Consumer.pageEvents : 1
    const page = yield* storage.feed({ workspace_id, after: stored?.position ?? 0, limit })
    const consumer = stored ?? create(context, moment, page)
    const hasWork = page.events.length > 0 || page.erased_through > consumer.position || Consumer.hasRetries(consumer)
    if (!hasWork) return null
    const now = clock.currentTimeMillisUnsafe()
    const newest = page.events.at(-1)?.number ?? consumer.position
    const retry = hasDied && Consumer.hasRetries(consumer) ? yield* judgeRetry(context, moment.now) : null
    const isInnocent = !hasDied || retry?.isGuilty === true
    const unclaimed = isInnocent ? consumer : Consumer.afterDeath(consumer, newest, now)
    const claimed = Consumer.claimed(unclaimed, holder, now + settings.lease_ms)
    const writes = [Consumer.toStored(claimed, now), ...(retry === null ? [] : [retry.record])]
    yield* commit(storage, Change.make(workspace_id, { writes }))
    if (retry?.isGuilty === true) handlerLock.noteKiller(now)
    return { consumer: LeasedConsumer.make({ clock, storage }, workspace_id, claimed, settings.lease_ms) }
  }).pipe(
    // Another process wrote a record of this change first.
    Effect.catchTag("VersionConflict", () => Effect.succeed({ wait_ms: 0 }))
  )
}
