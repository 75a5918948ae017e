import { type Clock, Data, Effect, Option, Semaphore } from "effect"
import * as Change from "../storage/Change.ts"
import { commit, retryOnConflict, type Storage, type StorageUnavailable } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import { secondMs } from "../wire/Timestamp.ts"
import * as Consumer from "./Consumer.ts"
import { loadConsumer } from "./ConsumerStore.ts"

type StorageService = Storage["Service"]

/** Makes more records for the same change, from what is stored now. */
type Records = Effect.Effect<ReadonlyArray<Change.StoredRecord>, StorageUnavailable>

/** This process no longer holds the consumer: its lease has ended, and another process may have claimed it. */
export class LeaseLost extends Data.TaggedError("LeaseLost") {}

/** The consumer of one workspace while this process holds its lease: the current state, and how it is stored. */
export interface HeldConsumer {
  /** The current state. It may be ahead of what is stored. */
  readonly current: () => Consumer.Consumer
  /** Replaces the state. It is stored with the next `store`, or within a second. */
  readonly set: (consumer: Consumer.Consumer) => void
  /** Fails if the lease has ended. */
  readonly check: Effect.Effect<void, LeaseLost>
  /**
   * Stores the state, and `records` in the same change; they are made again after a conflict. Waits while storage is
   * unavailable.
   */
  readonly store: (records?: Records) => Effect.Effect<void, LeaseLost>
  /** Stores the state every second and renews the lease. Fails when the lease is lost. */
  readonly maintain: Effect.Effect<never, LeaseLost>
  /** Stores the state and ends the lease, if it can. */
  readonly release: Effect.Effect<void>
}

const none: Records = Effect.succeed([])

/** Makes a held consumer after a claim. `claimed` is the consumer as the claim stored it. */
export const make = (
  { clock, storage }: { readonly clock: Clock.Clock; readonly storage: StorageService },
  workspaceId: WorkspaceId,
  claimed: Consumer.Consumer,
  leaseMs: number
): HeldConsumer => {
  let current = claimed
  let stored = claimed
  let endsAt = claimed.lease?.ends_at ?? 0
  // Whether storage may have a newer version: from another writer, or from a write of our own whose outcome is unknown.
  let isOutdated = false
  let isLost = false
  const oneAtATime = Semaphore.makeUnsafe(1)
  const now = () => clock.currentTimeMillisUnsafe()
  const holder = claimed.lease?.holder ?? ""

  const lose = Effect.suspend(() => {
    isLost = true
    return Effect.fail(new LeaseLost())
  })
  const check = Effect.suspend(() => (isLost || now() >= endsAt ? lose : Effect.void))

  /** Reads what is stored. Only a request to retry parked events changes it without taking the lease. */
  const reload = Effect.gen(function* () {
    const found = yield* loadConsumer(storage, workspaceId, claimed.name)
    if (found?.lease?.holder !== holder) return yield* lose
    const { retries_asked, version } = found
    current = { ...current, version, retries_asked }
    isOutdated = false
  })

  const write = Effect.fnUntraced(function* (records: Records, isLast: boolean) {
    yield* check
    if (isOutdated) yield* reload
    const at = now()
    const until = at + leaseMs
    const state = current
    const next = { ...state, version: state.version + 1, lease: isLast ? null : { holder, ends_at: until } }
    const writes = [Consumer.toStored(next, at), ...(yield* records)]
    isOutdated = true
    yield* commit(storage, Change.make(workspaceId, { writes }))
    isOutdated = false
    // State that was set in the meantime stays, and is stored next time.
    current = { ...current, version: next.version, lease: next.lease }
    stored = { ...state, version: next.version, lease: next.lease }
    endsAt = isLast ? 0 : until
  })

  const storeOnce = (records: Records = none, isLast = false) =>
    oneAtATime.withPermit(retryOnConflict(Effect.suspend(() => write(records, isLast))))

  const store = (records?: Records) => {
    const again: Effect.Effect<void, LeaseLost> = Effect.catchTag(storeOnce(records), "StorageUnavailable", () =>
      Effect.andThen(
        Effect.sleep(secondMs),
        Effect.suspend(() => again)
      )
    )
    return again
  }

  const isUnstored = () => current.position !== stored.position || current.retries_done !== stored.retries_done

  const maintainOnce = Effect.gen(function* () {
    yield* Effect.sleep(Math.min(Consumer.storeEveryMs, leaseMs / 4))
    yield* check
    const leftMs = endsAt - now()
    if (!isUnstored() && leftMs > leaseMs / 2) return
    const isStored = yield* Effect.timeoutOption(
      Effect.catchTag(storeOnce(), "StorageUnavailable", () => Effect.void),
      leftMs
    )
    if (Option.isNone(isStored)) return yield* lose
  })

  return {
    current: () => current,
    set: (consumer) => {
      current = consumer
    },
    check,
    store,
    maintain: Effect.forever(maintainOnce),
    release: Effect.suspend(() => (isLost ? Effect.void : Effect.ignore(storeOnce(none, true))))
  }
}
