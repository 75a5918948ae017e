import { Cause, Clock, Effect, Exit, FiberSet, type Scope } from "effect"

/** What an item needs for itself among the items that are sent together. */
export interface Locks {
  /** Names that no two items of a batch may both have. */
  readonly exclusive: ReadonlyArray<string>
  /** Names that no earlier item of the batch may have as exclusive ones. */
  readonly shared: ReadonlyArray<string>
}

/** How items are sent. */
export interface BatcherOptions<A, B, E> {
  /** Sends a batch, and answers each item in order. If it fails as a whole, every item of the batch fails with that. */
  readonly send: (items: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<Exit.Exit<B, E>>, E>
  /** What an item fails with that is given up: its queue is full, it has waited too long, or the batcher is closed. */
  readonly unavailable: E
  /** How many items go into a batch at most. */
  readonly max_batch: number
  /** How many items wait in a queue at most. */
  readonly max_waiting: number
  /** How long an item waits at most. This is looked at when a batch returns, so `send` must end in time, too. */
  readonly max_wait_ms: number
  /** The queue of an item. Each queue has one batch under way at a time. By default there is one queue. */
  readonly queueOf?: (item: A) => string
  /** How much an item adds to a batch, and how much a batch takes at most. A single item may be larger. */
  readonly size?: { readonly of: (item: A) => number; readonly max: number }
  /** By default items do not get into each other's way. */
  readonly locksOf?: (item: A) => Locks
}

/** Sends an item, and waits for its answer. */
export type Batcher<A, B, E> = (item: A) => Effect.Effect<B, E>

interface Waiting<A, B, E> extends Locks {
  readonly item: A
  readonly size: number
  readonly since_ms: number
  readonly resume: (answer: Exit.Exit<B, E>) => void
}

const noLocks: Locks = { exclusive: [], shared: [] }

/**
 * Sends items in batches that make themselves: an item goes at once while nothing of its queue is under way, and what
 * comes meanwhile goes together in the next batch. Nobody waits for company.
 *
 * Items go in the order in which they came, but for those whose locks do not fit into the batch: they go in a later one.
 * Items that have an exclusive lock in common keep their order. An item whose caller gives up before it is sent is
 * dropped; one that is sent goes on. When the scope closes, everybody who still waits fails as unavailable.
 */
export const make = Effect.fnUntraced(function* <A, B, E>(
  options: BatcherOptions<A, B, E>
): Effect.fn.Return<Batcher<A, B, E>, never, Scope.Scope> {
  const { locksOf, max_wait_ms, max_waiting, queueOf, send, size } = options
  // A batch is sent by a fiber of its own, so that nobody's interruption takes the items of others with it.
  const run = yield* FiberSet.makeRuntime()
  const clock = yield* Clock.Clock
  const now_ms = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  const unavailable = Exit.fail(options.unavailable)
  const queues = new Map<string, Array<Waiting<A, B, E>>>()
  let closed = false
  // Runs before the fibers that send are interrupted: from then on nobody would send anything.
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      closed = true
    })
  )

  const giveUp = (items: ReadonlyArray<Waiting<A, B, E>>): void => {
    for (const { resume } of items) resume(unavailable)
  }

  const sendBatch = (batch: ReadonlyArray<Waiting<A, B, E>>) =>
    Effect.suspend(() => send(batch.map(({ item }) => item))).pipe(
      Effect.onExit((exit) =>
        Effect.sync(() => {
          for (const [place, { resume }] of batch.entries()) resume(answerOf(exit, place, unavailable))
        })
      ),
      Effect.exit
    )

  const sendAll = (name: string, queue: Array<Waiting<A, B, E>>): Effect.Effect<void> =>
    Effect.gen(function* () {
      // Whoever wants to send something in this turn of the event loop comes along.
      yield* Effect.yieldNow
      while (queue.length > 0) {
        giveUp(takeLate(queue, now_ms() - max_wait_ms))
        const batch = takeBatch(queue, options)
        if (batch.length > 0) yield* sendBatch(batch)
      }
      queues.delete(name)
    }).pipe(
      Effect.onInterrupt(() =>
        Effect.sync(() => {
          queues.delete(name)
          giveUp(queue)
        })
      )
    )

  return (item) =>
    Effect.callback<B, E>((resume) => {
      const name = queueOf?.(item) ?? ""
      const queue = queues.get(name) ?? []
      if (closed || queue.length >= max_waiting) return resume(unavailable)
      const waiting = {
        item,
        ...(locksOf?.(item) ?? noLocks),
        size: size?.of(item) ?? 0,
        since_ms: now_ms(),
        resume
      }
      queue.push(waiting)
      if (!queues.has(name)) {
        queues.set(name, queue)
        run(sendAll(name, queue))
      }
      return Effect.sync(() => {
        const place = queue.indexOf(waiting)
        if (place >= 0) queue.splice(place, 1)
      })
    })
})

/** What an item of a batch is answered. An interruption is no answer: the batcher is closed. */
const answerOf = <B, E>(
  exit: Exit.Exit<ReadonlyArray<Exit.Exit<B, E>>, E>,
  place: number,
  unavailable: Exit.Exit<never, E>
): Exit.Exit<B, E> => {
  if (Exit.isSuccess(exit))
    return exit.value[place] ?? Exit.die(new Error("A batch was sent that did not answer all items"))
  return Cause.hasInterruptsOnly(exit.cause) ? unavailable : Exit.failCause(exit.cause)
}

/** Takes out of a queue what has waited since then or longer. Items wait in the order in which they came. */
const takeLate = <A, B, E>(queue: Array<Waiting<A, B, E>>, since_ms: number): ReadonlyArray<Waiting<A, B, E>> => {
  const first = queue.findIndex((waiting) => waiting.since_ms > since_ms)
  return queue.splice(0, first < 0 ? queue.length : first)
}

/** Takes the next batch out of a queue. */
const takeBatch = <A, B, E>(
  queue: Array<Waiting<A, B, E>>,
  { max_batch, size }: Pick<BatcherOptions<A, B, E>, "max_batch" | "size">
): ReadonlyArray<Waiting<A, B, E>> => {
  const batch: Array<Waiting<A, B, E>> = []
  const left: Array<Waiting<A, B, E>> = []
  const locked = new Set<string>()
  const isFree = (name: string) => !locked.has(name)
  let taken_size = 0
  for (const waiting of queue) {
    const isSmall = size === undefined || batch.length === 0 || taken_size + waiting.size <= size.max
    const isUnlocked = waiting.exclusive.every(isFree) && waiting.shared.every(isFree)
    // An item that is left locks its names, too: nobody with the same may overtake it. One that shares a name may be
    // overtaken by a later one that has it exclusively.
    for (const name of waiting.exclusive) locked.add(name)
    if (batch.length < max_batch && isSmall && isUnlocked) {
      batch.push(waiting)
      taken_size += waiting.size
    } else left.push(waiting)
  }
  queue.splice(0, queue.length, ...left)
  return batch
}
