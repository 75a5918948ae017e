import { Cause, Clock, Deferred, Effect, type Scope } from "effect"
import * as Signal from "../concurrency/Signal.ts"
import type { Storage, Tally } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"
import { minute_ms, second_ms } from "../wire/Timestamp.ts"

/** What is counted here is told to the other hosts after this long at most. */
const interval_ms = second_ms / 4
/** What the others have told is known for this long; then it is asked for again before anything is decided by it. */
const fresh_ms = second_ms - interval_ms
/** A call waits at most this long to learn of it, and is then decided by what is known here. */
const longest_wait_ms = 250
/** Clocks of hosts may differ by this much: no window ends in storage while a slow clock still counts in it. */
const skew_ms = minute_ms
/** How many counts are told at once. */
const max_batch = 500
/** How many of one kind are held; of more, the oldest is forgotten here, and read from storage when it is met again. */
const max_counts = 100_000
/** A stop waits so long for the last counts to be told. */
const flush_ms = second_ms

/** One count in one window of real time, as this host knows it. */
export interface Count {
  readonly tally: Omit<Tally, "added">
  /** What all hosts together had counted when storage was asked. */
  total: number
  /** What this host has counted since. */
  added: number
  /** When `total` is to be asked for again, in milliseconds of real time. */
  fresh_until: number
}

/** Counts of one kind, one for each who. */
export interface Counter {
  /** The count of the window of this moment; windows begin at whole minutes and days, so that hosts agree. */
  readonly at: (now: number, workspace_id: WorkspaceId, who: string) => Count
}

/**
 * Counts that all hosts on one storage share.
 *
 * A host adds to what it knows, and tells storage in the background; no call waits for that. Yet none is decided without
 * what the others had counted a second before: a call of a key that was not met since waits for one question, which all who
 * wait share. Where storage is away, a host goes on with what it knows, and tells later. A question whose answer is lost
 * may have been counted, and then counts twice.
 */
export interface SharedCounts {
  readonly counter: (name: string, window_ms: number) => Counter
  /** Adds units, or takes them back. */
  readonly add: (count: Count, units: number) => void
  /** Waits until these counts are known again. */
  readonly refresh: (counts: ReadonlyArray<Count>) => Effect.Effect<void>
}

/** Shared counts on a storage; what is left to tell is told when the scope closes. */
export const make = Effect.fnUntraced(function* (
  storage: Storage["Service"]
): Effect.fn.Return<SharedCounts, never, Scope.Scope> {
  const untold = new Set<Count>()
  const begun = Signal.make()
  const asked = Signal.make()
  let answered = Deferred.makeUnsafe<void>()

  const tell = Effect.fnUntraced(function* (batch: ReadonlyArray<Count>) {
    const now = yield* Clock.currentTimeMillis
    const tallies = batch.map(({ tally, added }) => ({ ...tally, added }))
    const totals = yield* storage.tally(now - skew_ms, tallies)
    for (const [i, count] of batch.entries()) {
      count.total = totals[i] ?? count.total
      count.added -= tallies[i]?.added ?? 0
      count.fresh_until = now + fresh_ms
      if (count.added === 0) untold.delete(count)
    }
  })

  /** Storage is away: what was asked for is decided without it, what was counted is told later. */
  const goOnAlone = Effect.map(Clock.currentTimeMillis, (now) => {
    for (const count of untold) {
      count.fresh_until = now + fresh_ms
      const { window_start, window_ms } = count.tally
      if (count.added === 0 || window_start + window_ms + skew_ms <= now) untold.delete(count)
    }
  })

  const round = Effect.suspend(() => {
    const done = answered
    answered = Deferred.makeUnsafe()
    return Effect.forEach(batchesOf(untold), tell, { discard: true }).pipe(
      Effect.catchCause((cause) => Effect.andThen(noteFailure(cause), goOnAlone)),
      Effect.ensuring(Deferred.succeed(done, undefined))
    )
  })

  const turn = Effect.gen(function* () {
    if (untold.size === 0) yield* begun.next(Number.POSITIVE_INFINITY)
    yield* asked.next(interval_ms)
    yield* round
  })

  const refresh = Effect.fnUntraced(function* (counts: ReadonlyArray<Count>) {
    const done = answered
    // Who is woken may run at once: everything is in its place before.
    for (const count of counts) untold.add(count)
    begun.wake()
    asked.wake()
    const known = yield* Effect.timeoutOption(Deferred.await(done), longest_wait_ms)
    if (known._tag === "Some") return
    const now = yield* Clock.currentTimeMillis
    for (const count of counts) count.fresh_until = now + fresh_ms
  })

  // Registered before the loop, so it runs after the loop has been interrupted.
  yield* Effect.addFinalizer(() => Effect.timeoutOption(Effect.interruptible(round), flush_ms))
  yield* Effect.forkScoped(Effect.forever(turn))

  return {
    counter: (name, window_ms) => counterOf(name, window_ms, (forgotten) => untold.delete(forgotten)),
    add: (count, units) => {
      count.added += units
      untold.add(count)
      if (untold.size === 1) begun.wake()
    },
    refresh
  }
})

const batchesOf = (counts: Iterable<Count>): ReadonlyArray<ReadonlyArray<Count>> => {
  const all = [...counts]
  const batches: Array<ReadonlyArray<Count>> = []
  for (let start = 0; start < all.length; start += max_batch) batches.push(all.slice(start, start + max_batch))
  return batches
}

const counterOf = (name: string, window_ms: number, forget: (count: Count) => void): Counter => {
  let window_start = Number.NEGATIVE_INFINITY
  let counts = new Map<string, Count>()

  const roll = (now: number): void => {
    const start = now - (now % window_ms)
    // A clock that is set back a little goes on in the window that has begun.
    if (start === window_start || start === window_start - window_ms) return
    window_start = start
    counts = new Map()
  }

  const begin = (workspace_id: WorkspaceId, who: string): Count => {
    if (counts.size >= max_counts) {
      for (const [oldest, count] of counts) {
        counts.delete(oldest)
        forget(count)
        break
      }
    }
    const tally = { workspace_id, name: `${name} ${who}`, window_start, window_ms }
    const count: Count = { tally, total: 0, added: 0, fresh_until: Number.NEGATIVE_INFINITY }
    counts.set(who, count)
    return count
  }

  return {
    at: (now, workspace_id, who) => {
      roll(now)
      return counts.get(who) ?? begin(workspace_id, who)
    }
  }
}

/** Storage that is away is nothing new to anybody; everything else is. */
const noteFailure = (cause: Cause.Cause<{ readonly _tag: "StorageUnavailable" }>): Effect.Effect<void> => {
  return Cause.hasDies(cause) ? Effect.logError("Counts could not be shared", cause) : Effect.void
}
