import { type Clock, Data, Effect, Option, Semaphore } from "effect"
import * as Change from "../storage/Change.ts"
import { commit, retryOnConflict, type Storage, type StorageUnavailable } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import { second_ms } from "../wire/Timestamp.ts"
import * as Consumer from "./Consumer.ts"
import { loadConsumer } from "./ConsumerStore.ts"

type StorageService = Storage["Service"]

/** Makes further records of a change, from what is stored now. */
type Records = Effect.Effect<ReadonlyArray<Change.StoredRecord>, StorageUnavailable>

/** This process does not hold the consumer any more: its lease has ended, and another may have taken it. */
export class HoldLost extends Data.TaggedError("HoldLost") {}

/** A consumer of one workspace that this process holds: what it has come to, and how that is stored. */
export interface Hold {
  /** The consumer by now. It may be ahead of what is stored. */
  readonly current: () => Consumer.Consumer
  /** Goes on to what follows. It is stored with the next `store`, or within a second. */
  readonly set: (consumer: Consumer.Consumer) => void
  /** Fails if the lease has ended. */
  readonly check: Effect.Effect<void, HoldLost>
  /** Stores what it has come to, with further records, which are made again after a conflict. Waits while storage is unavailable. */
  readonly store: (records?: Records) => Effect.Effect<void, HoldLost>
  /** Stores the position every second and renews the lease. Fails when the lease is lost. */
  readonly keep: Effect.Effect<never, HoldLost>
  /** Stores the position and gives the consumer back, if it can. */
  readonly giveBack: Effect.Effect<void>
}

const none: Records = Effect.succeed([])

/** A hold on a consumer that was just taken. `taken` is as stored. */
export const make = (
  { clock, storage }: { readonly clock: Clock.Clock; readonly storage: StorageService },
  workspace_id: WorkspaceId,
  taken: Consumer.Consumer,
  lease_ms: number
): Hold => {
  let current = taken
  let stored = taken
  let ends_at = taken.lease?.ends_at ?? 0
  // Whether another writer, or this one without knowing, may have stored a newer version.
  let isOutdated = false
  let isLost = false
  const one_at_a_time = Semaphore.makeUnsafe(1)
  const now = () => clock.currentTimeMillisUnsafe()
  const holder = taken.lease?.holder ?? ""

  const lose = Effect.suspend(() => {
    isLost = true
    return Effect.fail(new HoldLost())
  })
  const check = Effect.suspend(() => (isLost || now() >= ends_at ? lose : Effect.void))

  /** Reads what is stored. Only a request to retry parked events changes it without taking the lease. */
  const reload = Effect.gen(function* () {
    const found = yield* loadConsumer(storage, workspace_id, taken.name)
    if (found?.lease?.holder !== holder) return yield* lose
    const { retries_asked, version } = found
    current = { ...current, version, retries_asked }
    isOutdated = false
  })

  const write = Effect.fnUntraced(function* (records: Records, isLast: boolean) {
    yield* check
    if (isOutdated) yield* reload
    const at = now()
    const until = at + lease_ms
    const state = current
    const next = { ...state, version: state.version + 1, lease: isLast ? null : { holder, ends_at: until } }
    const writes = [Consumer.toStored(next, at), ...(yield* records)]
    isOutdated = true
    yield* commit(storage, Change.make(workspace_id, { writes }))
    isOutdated = false
    // What happened meanwhile stays, and is stored the next time.
    current = { ...current, version: next.version, lease: next.lease }
    stored = { ...state, version: next.version, lease: next.lease }
    ends_at = isLast ? 0 : until
  })

  const storeOnce = (records: Records = none, isLast = false) =>
    one_at_a_time.withPermit(retryOnConflict(Effect.suspend(() => write(records, isLast))))

  const store = (records?: Records) => {
    const again: Effect.Effect<void, HoldLost> = Effect.catchTag(storeOnce(records), "StorageUnavailable", () =>
      Effect.andThen(
        Effect.sleep(second_ms),
        Effect.suspend(() => again)
      )
    )
    return again
  }

  const isUnstored = () => current.position !== stored.position || current.retries_done !== stored.retries_done

  const keepOnce = Effect.gen(function* () {
    yield* Effect.sleep(Math.min(Consumer.store_every_ms, lease_ms / 4))
    yield* check
    const left_ms = ends_at - now()
    if (!isUnstored() && left_ms > lease_ms / 2) return
    const isStored = yield* Effect.timeoutOption(
      Effect.catchTag(storeOnce(), "StorageUnavailable", () => Effect.void),
      left_ms
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
    keep: Effect.forever(keepOnce),
    giveBack: Effect.suspend(() => (isLost ? Effect.void : Effect.ignore(storeOnce(none, true))))
  }
}
