import { type Clock, Data, Effect, Option, Semaphore } from "effect"
import * as Change from "../storage/Change.ts"
import { commit, retryOnConflict, type Storage, type StorageUnavailable } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import { secondMs } from "../wire/Timestamp.ts"
import * as Consumer from "./Consumer.ts"
import { loadConsumer } from "./ConsumerStore.ts"
import * as LeaseState from "./LeaseState.ts"

type StorageService = Storage["Service"]

/**
 * Makes the records that are stored in the same change as the consumer's state. Runs again on each retry, so it uses
 * what is stored at that time.
 */
type Records = Effect.Effect<ReadonlyArray<Change.StoredRecord>, StorageUnavailable>

/**
 * This process no longer holds the consumer. The lease has expired, and another process may have claimed the consumer.
 */
export class ConsumerLost extends Data.TaggedError("ConsumerLost") {}

/** A workspace's consumer as long as this process holds its lease: the current state, and how to store it. */
export interface LeasedConsumer {
  /** The current state, which may be ahead of storage. */
  readonly current: () => Consumer.Consumer
  /** Replaces the current state. The next `store` writes it, or `maintain` does so within a second. */
  readonly set: (consumer: Consumer.Consumer) => void
  /** Fails if the lease has expired or is lost. */
  readonly check: Effect.Effect<void, ConsumerLost>
  /**
   * Stores the state and the records in one change. After a conflict, makes the records again and retries. While
   * storage is unavailable, keeps trying.
   */
  readonly store: (records?: Records) => Effect.Effect<void, ConsumerLost>
  /** Stores the state every second and renews the lease. Fails once the lease is lost. */
  readonly maintain: Effect.Effect<never, ConsumerLost>
  /** Stores the state and releases the lease, if possible. */
  readonly release: Effect.Effect<void>
}

const none: Records = Effect.succeed([])

/** Makes a leased consumer right after a claim has stored `claimed`. */
export const make = (
  { clock, storage }: { readonly clock: Clock.Clock; readonly storage: StorageService },
  workspaceId: WorkspaceId,
  claimed: Consumer.Consumer,
  leaseMs: number
): LeasedConsumer => {
  let leaseState = LeaseState.claimed(claimed)
  const oneAtATime = Semaphore.makeUnsafe(1)
  const now = () => clock.currentTimeMillisUnsafe()

  const lose = Effect.suspend(() => {
    leaseState = LeaseState.lost(leaseState)
    return Effect.fail(new ConsumerLost())
  })
  const check = Effect.suspend(() => (LeaseState.hasEnded(leaseState, now()) ? lose : Effect.void))

  const reload = Effect.gen(function* () {
    const consumer = yield* loadConsumer(storage, workspaceId, claimed.name)
    const reloaded = LeaseState.reloaded(leaseState, consumer)
    if (reloaded === null) return yield* lose
    leaseState = reloaded
  })

  const write = Effect.fnUntraced(function* (records: Records, isLast: boolean) {
    yield* check
    if (leaseState.isOutdated) yield* reload
    const at = now()
    const next = LeaseState.next(leaseState, isLast ? null : at + leaseMs)
    const writes = [Consumer.toStored(next, at), ...(yield* records)]
    leaseState = LeaseState.writing(leaseState)
    yield* commit(storage, Change.make(workspaceId, { writes }))
    leaseState = LeaseState.written(leaseState, next)
  })

  const storeOnce = (records: Records = none, isLast = false) =>
    oneAtATime.withPermit(retryOnConflict(Effect.suspend(() => write(records, isLast))))

  const store = (records?: Records) => {
    const again: Effect.Effect<void, ConsumerLost> = Effect.catchTag(storeOnce(records), "StorageUnavailable", () =>
      Effect.andThen(
        Effect.sleep(secondMs),
        Effect.suspend(() => again)
      )
    )
    return again
  }

  const maintainOnce = Effect.gen(function* () {
    yield* Effect.sleep(Math.min(Consumer.storeEveryMs, leaseMs / 4))
    yield* check
    const leftMs = leaseState.ends_at - now()
    if (!LeaseState.isUnstored(leaseState) && leftMs > leaseMs / 2) return
    const stored = yield* Effect.timeoutOption(
      Effect.catchTag(storeOnce(), "StorageUnavailable", () => Effect.void),
      leftMs
    )
    if (Option.isNone(stored)) return yield* lose
  })

  return {
    current: () => leaseState.current,
    set: (consumer) => {
      leaseState = LeaseState.changed(leaseState, consumer)
    },
    check,
    store,
    maintain: Effect.forever(maintainOnce),
    release: Effect.suspend(() => (leaseState.isLost ? Effect.void : Effect.ignore(storeOnce(none, true))))
  }
}
