import { Effect } from "effect"
import type { Moment } from "../access/Workspaces.ts"
import * as Change from "../storage/Change.ts"
import type { FeedPage } from "../storage/Page.ts"
import { commit, type StorageUnavailable } from "../storage/Storage.ts"
import * as Consumer from "./Consumer.ts"
import { loadConsumer } from "./ConsumerStore.ts"
import * as Hold from "./Hold.ts"
import type { Tended } from "./Tended.ts"

/** When the next turn begins: after so many milliseconds at most; null if nothing is left. */
export type NextTurn = { readonly wait_ms: number } | null

/** A consumer that this process has just taken. */
export interface Taken {
  readonly hold: Hold.Hold
  /** Whether the process that held it before has died. */
  readonly was_lost: boolean
}

const create = ({ clock, settings, started_at }: Tended, { workspace }: Moment, { erased_through }: FeedPage) => {
  // What was erased before the name was consumed is not missed.
  const position = workspace.created_at >= started_at ? 0 : erased_through
  return Consumer.create(settings.name, clock.currentTimeMillisUnsafe(), position, workspace.erased_count)
}

/** Takes the consumer of a workspace, if there is work and nobody else has it. */
export const take = (tended: Tended): Effect.Effect<NextTurn | Taken, StorageUnavailable> => {
  const { clock, holder, settings, storage, workspaces } = tended
  const { id: workspace_id } = tended.workspace
  return Effect.gen(function* () {
    const found = yield* loadConsumer(storage, workspace_id, settings.name)
    const wait_ms = found === null ? 0 : Consumer.freeAt(found, holder) - clock.currentTimeMillisUnsafe()
    if (wait_ms > 0) return { wait_ms }
    const moment = yield* workspaces.moment(workspace_id)
    const page = yield* storage.feed({ workspace_id, after: found?.position ?? 0, limit: 1 })
    const consumer = found ?? create(tended, moment, page)
    const hasWork = page.events.length > 0 || page.erased_through > consumer.position || Consumer.hasRetries(consumer)
    if (!hasWork) return null
    const now = clock.currentTimeMillisUnsafe()
    const taken = Consumer.taken(consumer, holder, now + settings.lease_ms)
    yield* commit(storage, Change.make(workspace_id, { writes: [Consumer.toStored(taken, now)] }))
    const hold = Hold.make({ clock, storage }, workspace_id, taken, settings.lease_ms)
    return { hold, was_lost: Consumer.wasLost(consumer, holder) }
  }).pipe(
    // Another process was faster.
    Effect.catchTag("VersionConflict", () => Effect.succeed({ wait_ms: 0 }))
  )
}
