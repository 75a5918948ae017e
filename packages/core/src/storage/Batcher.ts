import { Cause, Clock, Effect, Exit, FiberSet, type Scope } from "effect"

/** The names that an item locks within a batch. */
export interface Locks {
  /** Names that the item locks exclusively. No later item in the batch may have any of them, exclusive or shared. */
  readonly exclusive: ReadonlyArray<string>
  /** Names that the item shares. Several items in a batch may share a name that no earlier item locks exclusively. */
  readonly shared: ReadonlyArray<string>
}

/** Options for a batcher. */
export interface BatcherOptions<A, B, E> {
  /** Sends a batch, and returns a result for each item, in order. If `send` fails, every item in the batch fails. */
  readonly send: (items: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<Exit.Exit<B, E>>, E>
  /**
   * The error for an item that is not sent, because its queue is full, it has waited too long, or the batcher is
   * closed.
   */
  readonly unavailable: E
  /** The maximum number of items in a batch. */
  readonly max_batch: number
  /** The maximum number of items that wait in a queue. */
  readonly max_waiting: number
  /**
   * The longest that an item waits, in milliseconds. The batcher checks this only between batches, so `send` needs a
   * time limit of its own.
   */
  readonly max_wait_ms: number
  /**
   * The queue that an item joins. Each queue has one batch in progress at a time. By default all items share one queue.
   */
  readonly queueOf?: (item: A) => string
  /**
   * Measures an item, and limits the total size of a batch. An item that exceeds `max` is sent in a batch of its own.
   */
  readonly size?: { readonly of: (item: A) => number; readonly max: number }
  /** Returns the names that an item locks. By default an item locks no names. */
  readonly locksOf?: (item: A) => Locks
}

/** Sends an item, and waits for its result. */
export type Batcher<A, B, E> = (item: A) => Effect.Effect<B, E>

interface WaitingItem<A, B, E> extends Locks {
  readonly item: A
  readonly size: number
  /** When the item joined its queue, in nanoseconds of monotonic time. */
  readonly since: bigint
  readonly resume: (answer: Exit.Exit<B, E>) => void
}

/** The items that wait for a batch, in the order in which they joined. */
type Queue<A, B, E> = Array<WaitingItem<A, B, E>>

const noLocks: Locks = { exclusive: [], shared: [] }

/**
 * Gathers items into batches without delaying them: an item is sent immediately if its queue has no batch in progress;
 * otherwise it joins the next batch.
 *
 * Items keep their order, except that an item whose locks do not fit into the batch is sent in a later batch. Items
 * with an exclusive lock in common always keep their order. If a caller is interrupted before its item is sent, the
 * item is dropped; once sending has begun, it completes. When the scope closes, all waiting items fail as unavailable.
 */
export const make = Effect.fnUntraced(function* <A, B, E>(
  options: BatcherOptions<A, B, E>
): Effect.fn.Return<Batcher<A, B, E>, never, Scope.Scope> {
  const { max_waiting, queueOf } = options
  // Each batch is sent by its own fiber, so that interrupting one caller does not interrupt the items of other callers.
  const run = yield* FiberSet.makeRuntime()
  const clock = yield* Clock.Clock
  const unavailable = Exit.fail(options.unavailable)
  const sendAll = makeSendAll(options, clock)
  const queues = new Map<string, Queue<A, B, E>>()
  let isClosed = false
  // Finalizers run in reverse order, so the batcher closes before its sending fibers are interrupted. An item that
  // joined after that would never be sent.
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      isClosed = true
    })
  )

  return (item) =>
    Effect.callback<B, E>((resume) => {
      const name = queueOf?.(item) ?? ""
      const queue = queues.get(name) ?? []
      if (isClosed || queue.length >= max_waiting) return resume(unavailable)
      const waiting = waitingFor(item, options, { since: clock.monotonicTimeNanosUnsafe(), resume })
      queue.push(waiting)
      if (!queues.has(name)) {
        queues.set(name, queue)
        run(sendAll(queue, () => queues.delete(name)))
      }
      return Effect.sync(() => {
        const place = queue.indexOf(waiting)
        if (place >= 0) queue.splice(place, 1)
      })
    })
})

const waitingFor = <A, B, E>(
  item: A,
  { locksOf, size }: Pick<BatcherOptions<A, B, E>, "locksOf" | "size">,
  joined: Pick<WaitingItem<A, B, E>, "since" | "resume">
): WaitingItem<A, B, E> => ({ item, ...(locksOf?.(item) ?? noLocks), size: size?.of(item) ?? 0, ...joined })

/**
 * Sends a queue in batches until it is empty, and then calls `onEnd`. If it is interrupted, the waiting items fail as
 * unavailable.
 */
const makeSendAll = <A, B, E>(options: BatcherOptions<A, B, E>, clock: Clock.Clock) => {
  const { max_wait_ms, send } = options
  const maxWait = BigInt(Math.round(max_wait_ms * 1e6))
  const unavailable = Exit.fail(options.unavailable)

  const giveUp = (items: ReadonlyArray<WaitingItem<A, B, E>>): void => {
    for (const { resume } of items) resume(unavailable)
  }

  const sendBatch = (batch: ReadonlyArray<WaitingItem<A, B, E>>) =>
    Effect.suspend(() => send(batch.map(({ item }) => item))).pipe(
      Effect.onExit((exit) =>
        Effect.sync(() => {
          for (const [place, { resume }] of batch.entries()) resume(answerOf(exit, place, unavailable))
        })
      ),
      Effect.exit
    )

  return (queue: Queue<A, B, E>, onEnd: () => void): Effect.Effect<void> =>
    Effect.gen(function* () {
      // Yields once, so that items from the same turn of the event loop share the batch.
      yield* Effect.yieldNow
      while (queue.length > 0) {
        giveUp(takeLate(queue, clock.monotonicTimeNanosUnsafe() - maxWait))
        const batch = takeBatch(queue, options)
        if (batch.length > 0) yield* sendBatch(batch)
      }
      onEnd()
    }).pipe(
      Effect.onInterrupt(() =>
        Effect.sync(() => {
          onEnd()
          giveUp(queue)
        })
      )
    )
}

/** The result of one item in a batch. An interrupted batch means that the batcher is closed. */
const answerOf = <B, E>(
  exit: Exit.Exit<ReadonlyArray<Exit.Exit<B, E>>, E>,
  place: number,
  unavailable: Exit.Exit<never, E>
): Exit.Exit<B, E> => {
  if (Exit.isSuccess(exit))
    return exit.value[place] ?? Exit.die(new Error("A batch returned fewer results than it has items"))
  return Cause.hasInterruptsOnly(exit.cause) ? unavailable : Exit.failCause(exit.cause)
}

/** Removes the items that joined a queue at `startedAt` or earlier. A queue is ordered by joining time. */
const takeLate = <A, B, E>(queue: Queue<A, B, E>, startedAt: bigint): ReadonlyArray<WaitingItem<A, B, E>> => {
  const first = queue.findIndex((waiting) => waiting.since > startedAt)
  return queue.splice(0, first < 0 ? queue.length : first)
}

/** Removes the next batch from a queue. */
const takeBatch = <A, B, E>(
  queue: Queue<A, B, E>,
  { max_batch, size }: Pick<BatcherOptions<A, B, E>, "max_batch" | "size">
): ReadonlyArray<WaitingItem<A, B, E>> => {
  const batch: Array<WaitingItem<A, B, E>> = []
  const remaining: Array<WaitingItem<A, B, E>> = []
  const locked = new Set<string>()
  const isFree = (name: string) => !locked.has(name)
  let takenSize = 0
  for (const waiting of queue) {
    const isSmall = size === undefined || batch.length === 0 || takenSize + waiting.size <= size.max
    const isUnlocked = waiting.exclusive.every(isFree) && waiting.shared.every(isFree)
    // An item that stays in the queue keeps its names locked, so that no item with the same exclusive name overtakes
    // it. An item that shares a name can still be overtaken by a later item that locks the name exclusively.
    for (const name of waiting.exclusive) locked.add(name)
    if (batch.length < max_batch && isSmall && isUnlocked) {
      batch.push(waiting)
      takenSize += waiting.size
    } else remaining.push(waiting)
  }
  queue.splice(0, queue.length, ...remaining)
  return batch
}
