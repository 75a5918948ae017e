import { Array, Clock, Deferred, Effect, Latch, type Scope } from "effect"
import type { CountAddition, Storage } from "../../storage/Storage.ts"
import type { WorkspaceId } from "../../wire/Ids.ts"
import { minuteMs, secondMs } from "../../wire/Timestamp.ts"

/** How often a host sends its counts to storage, so that other hosts see them. */
const intervalMs = secondMs / 4
/** How long a total from storage may be used. An older total must be read again before a decision. */
const freshMs = secondMs - intervalMs
/** The longest that a call waits for a fresh total. After that, the host decides with what it knows. */
const maxWaitMs = 250
/**
 * How far the clocks of different hosts may differ. Storage keeps a window this much longer, because a host with a slow
 * clock may still add to that window.
 */
const skewMs = minuteMs
/** The maximum number of counts in a batch. */
const maxBatch = 500
/**
 * The maximum number of counts of one kind in memory. Beyond that, the oldest count is dropped, and read from storage
 * again when it is needed.
 */
const maxCounts = 100_000
/** How long a shutdown may wait for the last counts to be sent. */
const flushMs = secondMs

/** The count for one window of real time, as this host knows it. */
export interface Count {
  readonly addition: Omit<CountAddition, "added">
  /** The total of all hosts, as last read from storage. */
  total: number
  /** How much this host has counted but not sent yet. */
  added: number
  /** When `total` must be read again, in milliseconds of real time. */
  fresh_until: number
}

/** Counts of one kind, by name. */
export interface Counter {
  /** Returns the count for the current window. Windows begin at whole minutes and days, the same on all hosts. */
  readonly at: (now: number, workspace_id: WorkspaceId, subject: string) => Count
}

/**
 * Counts that all hosts on one storage backend share.
 *
 * A host counts in memory and sends its counts to storage in the background, so calls do not wait for storage.
 * Decisions use a total that is at most a second old. If the total is older, the call waits for one read, which all
 * waiting calls share. While storage is unavailable, a host decides with what it knows and sends its counts later. If
 * storage's response is lost, the counts may be added twice.
 */
export interface SharedCounts {
  readonly counter: (name: string, window_ms: number) => Counter
  /** Adds units; a negative number subtracts them. */
  readonly add: (count: Count, units: number) => void
  /** Waits until these counts are fresh. */
  readonly refresh: (counts: ReadonlyArray<Count>) => Effect.Effect<void>
}

/** Makes shared counts on a storage backend. When the scope closes, the remaining counts are sent. */
export const makeSharedCounts = Effect.fnUntraced(function* (
  storage: Storage["Service"]
): Effect.fn.Return<SharedCounts, never, Scope.Scope> {
  const unsent = new Set<Count>()
  const sendAll = makeSendCounts(storage, unsent)
  const begun = Latch.makeUnsafe()
  const flushLatch = Latch.makeUnsafe()
  let answered = Deferred.makeUnsafe<void>()

  const sync = Effect.suspend(() => {
    const done = answered
    answered = Deferred.makeUnsafe()
    return Effect.ensuring(sendAll, Deferred.succeed(done, undefined))
  })

  const turn = Effect.gen(function* () {
    if (unsent.size === 0) yield* begun.await
    yield* begun.close
    yield* Effect.timeoutOption(flushLatch.await, intervalMs)
    yield* flushLatch.close
    yield* sync
  })

  const refresh = Effect.fnUntraced(function* (counts: ReadonlyArray<Count>) {
    const done = answered
    // The counts are added before any fiber is woken, because a woken fiber may run immediately.
    for (const count of counts) unsent.add(count)
    begun.openUnsafe()
    flushLatch.openUnsafe()
    const known = yield* Effect.timeoutOption(Deferred.await(done), maxWaitMs)
    if (known._tag === "Some") return
    const now = yield* Clock.currentTimeMillis
    for (const count of counts) count.fresh_until = now + freshMs
  })

  // Finalizers run in reverse order, so this one, registered before the loop starts, runs after the loop is
  // interrupted.
  yield* Effect.addFinalizer(() => Effect.timeoutOption(Effect.interruptible(sync), flushMs))
  yield* Effect.forkScoped(Effect.forever(turn))

  return {
    counter: (name, windowMs) => counterOf(name, windowMs, (forgotten) => unsent.delete(forgotten)),
    add: (count, units) => {
      count.added += units
      unsent.add(count)
      if (unsent.size === 1) begun.openUnsafe()
    },
    refresh
  }
})

/** Makes an effect that sends all unsent counts and reads their totals. */
const makeSendCounts = (storage: Storage["Service"], unsent: Set<Count>): Effect.Effect<void> => {
  const send = Effect.fnUntraced(function* (batch: ReadonlyArray<Count>) {
    const now = yield* Clock.currentTimeMillis
    const additions = batch.map(({ addition, added }) => ({ ...addition, added }))
    const totals = yield* storage.addCounts(now - skewMs, additions)
    for (const [i, count] of batch.entries()) {
      count.total = totals[i] ?? count.total
      count.added -= additions[i]?.added ?? 0
      count.fresh_until = now + freshMs
      if (count.added === 0) unsent.delete(count)
    }
  })

  /** Sends a batch. If storage rejects the batch, sends each count alone and forgets the rejected counts. */
  const sendBatch = (batch: ReadonlyArray<Count>) =>
    Effect.catchDefect(send(batch), () => Effect.forEach(batch, sendAlone, { discard: true }))

  const sendAlone = (count: Count) =>
    Effect.catchDefect(send([count]), (defect) =>
      Effect.andThen(
        Effect.sync(() => unsent.delete(count)),
        Effect.logError("Could not share a rate-limit count with other hosts", defect)
      )
    )

  /** Lets decisions use the last known totals while storage is unavailable. The counts are sent later. */
  const continueWithoutStorage = Effect.map(Clock.currentTimeMillis, (now) => {
    for (const count of unsent) {
      count.fresh_until = now + freshMs
      const { window_start, window_ms } = count.addition
      if (count.added === 0 || window_start + window_ms + skewMs <= now) unsent.delete(count)
    }
  })

  return Effect.suspend(() => Effect.forEach(Array.chunksOf(unsent, maxBatch), sendBatch, { discard: true })).pipe(
    Effect.catch(() => continueWithoutStorage)
  )
}

const counterOf = (name: string, window_ms: number, forget: (count: Count) => void): Counter => {
  let window_start = Number.NEGATIVE_INFINITY
  let counts = new Map<string, Count>()

  const roll = (now: number): void => {
    if (now >= window_start && now < window_start + window_ms) return
    const start = now - (now % window_ms)
    // If the clock was set back into the previous window, keep counting in the current window.
    if (start === window_start || start === window_start - window_ms) return
    window_start = start
    counts = new Map()
  }

  const begin = (workspace_id: WorkspaceId, subject: string): Count => {
    if (counts.size >= maxCounts) {
      for (const [oldest, count] of counts) {
        counts.delete(oldest)
        forget(count)
        break
      }
    }
    const addition = { workspace_id, name: `${name} ${subject}`, window_start, window_ms }
    const count: Count = { addition, total: 0, added: 0, fresh_until: Number.NEGATIVE_INFINITY }
    counts.set(subject, count)
    return count
  }

  return {
    at: (now, workspace_id, subject) => {
      roll(now)
      return counts.get(subject) ?? begin(workspace_id, subject)
    }
  }
}
