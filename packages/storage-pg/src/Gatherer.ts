import { Clock, Effect, FiberSet, type Scope } from "effect"
import { monotonicMs } from "./monotonicMs.ts"

/** What a gatherer has to know of its items. */
export interface Gathering<A, R> {
  /** Items of one queue are sent one batch after the other, in their order. */
  readonly queueOf: (item: A) => number
  /** What an item has for itself: two that claim the same are never in one batch. */
  readonly claimsOf: (item: A) => ReadonlyArray<string>
  /** What an item needs unclaimed: it goes behind a batch in which one before it claims that. */
  readonly needsOf: (item: A) => ReadonlyArray<string>
  /** The longest that an item waits in its queue before it is sent. */
  readonly max_wait_ms: number
  /** About how many bytes an item takes. */
  readonly sizeOf: (item: A) => number
  /** Sends a batch, and answers for each item, in order. It does not fail. */
  readonly send: (items: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<R>>
  /**
   * The answer to an item that finds its queue full or has waited in it for too long, that was not sent to the end when the
   * scope closes, or that comes later.
   */
  readonly refusal: R
}

interface Waiting<A, R> {
  readonly item: A
  readonly claims: ReadonlyArray<string>
  readonly needs: ReadonlyArray<string>
  readonly size: number
  readonly since_ms: number
  readonly resume: (answer: R) => void
}

interface Queue<A, R> {
  waiting: Array<Waiting<A, R>>
  busy: boolean
}

/** Spreads workspaces over queues: what is of one workspace goes the same way. */
export const queueOf = (workspace_id: string): number => {
  let sum = 0
  for (let index = 0; index < workspace_id.length; index++) sum = (sum * 31 + workspace_id.charCodeAt(index)) >>> 0
  return sum
}

const max_batch = 200
const max_bytes = 4_000_000
const max_waiting = 5_000

/**
 * Gathers what is to be sent while something is under way.
 *
 * An item that finds its queue idle is sent at once: nobody ever waits for company. What comes while a batch is under way
 * goes together when it has returned.
 */
export const make = Effect.fnUntraced(function* <A, R>(
  count: number,
  { queueOf, claimsOf, needsOf, max_wait_ms, sizeOf, send, refusal }: Gathering<A, R>
): Effect.fn.Return<(item: A) => Effect.Effect<R>, never, Scope.Scope> {
  const run = yield* FiberSet.makeRuntime()
  const clock = yield* Clock.Clock
  const queues = Array.from({ length: count }, (): Queue<A, R> => ({ waiting: [], busy: false }))
  let closed = false
  // Before those end that send: from then on nobody is left to send anything.
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      closed = true
    })
  )

  const drain = (queue: Queue<A, R>): Effect.Effect<void> =>
    Effect.gen(function* () {
      // Whoever else wants to send something in this turn of the process comes along.
      yield* Effect.yieldNow
      while (true) {
        answer(takeLate(queue, monotonicMs(clock) - max_wait_ms), [])
        const batch = takeBatch(queue)
        if (batch.length === 0) return
        const answers = yield* Effect.onInterrupt(send(batch.map(({ item }) => item)), () =>
          Effect.sync(() => answer(batch, []))
        )
        answer(batch, answers)
      }
    }).pipe(Effect.onInterrupt(() => Effect.sync(() => answer(queue.waiting, []))))

  const answer = (batch: ReadonlyArray<Waiting<A, R>>, answers: ReadonlyArray<R>): void => {
    for (const [index, { resume }] of batch.entries()) resume(answers[index] ?? refusal)
  }

  return (item) =>
    Effect.callback<R>((resume) => {
      const queue = queues[queueOf(item) % count]
      if (closed || queue === undefined || queue.waiting.length >= max_waiting) return resume(Effect.succeed(refusal))
      const waiting = {
        item,
        claims: claimsOf(item),
        needs: needsOf(item),
        size: sizeOf(item),
        since_ms: monotonicMs(clock),
        resume: (given: R) => resume(Effect.succeed(given))
      }
      queue.waiting.push(waiting)
      if (!queue.busy) {
        queue.busy = true
        run(drain(queue))
      }
      // What has not been sent yet is forgotten with the caller that gives up.
      return Effect.sync(() => {
        const place = queue.waiting.indexOf(waiting)
        if (place >= 0) queue.waiting.splice(place, 1)
      })
    })
})

/** Takes those out of a queue that have come by then. They wait in the order in which they came. */
const takeLate = <A, R>(queue: Queue<A, R>, by_ms: number): ReadonlyArray<Waiting<A, R>> => {
  const first = queue.waiting.findIndex(({ since_ms }) => since_ms > by_ms)
  return queue.waiting.splice(0, first < 0 ? queue.waiting.length : first)
}

/** Takes the next batch out of a queue: in order, but for items that claim what one before them claims. */
const takeBatch = <A, R>(queue: Queue<A, R>): ReadonlyArray<Waiting<A, R>> => {
  const batch: Array<Waiting<A, R>> = []
  const left: Array<Waiting<A, R>> = []
  const claimed = new Set<string>()
  const isUnclaimed = (name: string) => !claimed.has(name)
  let bytes = 0
  for (const waiting of queue.waiting) {
    const fits = batch.length < max_batch && (batch.length === 0 || bytes + waiting.size <= max_bytes)
    const isFree = waiting.claims.every(isUnclaimed) && waiting.needs.every(isUnclaimed)
    // Also what is left behind keeps its claims: items with the same go in the order in which they came. Who needs one may be
    // overtaken by a later one that claims it.
    for (const claim of waiting.claims) claimed.add(claim)
    if (fits && isFree) {
      batch.push(waiting)
      bytes += waiting.size
    } else left.push(waiting)
  }
  queue.waiting = left
  // In the same breath: what comes from now on finds the queue idle.
  queue.busy = batch.length > 0
  return batch
}
