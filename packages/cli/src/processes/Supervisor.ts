import { Effect, Result, Semaphore } from "effect"
import { CommandFailed, type WrongUsage } from "../settings/CommandErrors.ts"
import * as BackOff from "./BackOff.ts"
import type { ReadyMessage } from "./Messages.ts"
import type { WorkerProcess } from "./WorkerProcess.ts"
import { type Launched, monotonicMs, type Workers } from "./Workers.ts"

/** Keeps a number of workers running. */
export interface Supervisor {
  /** Starts the first worker, then the others. Fails with the reason if a worker cannot start. */
  readonly start: Effect.Effect<ReadyMessage, CommandFailed | WrongUsage>
  /** Replaces workers that end. Never returns, but fails if all workers keep ending. */
  readonly keep: Effect.Effect<never, CommandFailed | WrongUsage>
  /**
   * Replaces all workers, one after the other. Each new worker listens before the old one drains. Stops if a new worker
   * cannot start.
   */
  readonly restart: Effect.Effect<void>
}

/** How long a replacement worker may take to start, in milliseconds. */
const longestStartMs = 120_000

/** A slot for one worker. Whoever replaces the worker must hold the lock. */
interface WorkerPlace {
  worker: WorkerProcess
  ready_at_ms: number
  /** How many workers in this slot have failed in a row, because they could not start or soon ended. */
  failures: number
  readonly lock: Semaphore.Semaphore
}

const placeOf = ({ ready_at_ms, worker }: Launched): WorkerPlace => ({
  worker,
  ready_at_ms,
  failures: 0,
  lock: Semaphore.makeUnsafe(1)
})

const occupy = (place: WorkerPlace, { ready_at_ms, worker }: Launched): void => {
  place.worker = worker
  place.ready_at_ms = ready_at_ms
}

/** Starts a replacement worker. */
const launchNext = (workers: Workers) =>
  Effect.timeoutOrElse(workers.launch(false), {
    duration: longestStartMs,
    orElse: () => Effect.fail(new CommandFailed({ message: "A process did not start within two minutes." }))
  })

/** Whether the workers in all slots are in a crash loop. */
const isCrashLoop = (places: ReadonlyArray<WorkerPlace>, workers: Workers) =>
  Effect.map(monotonicMs, (now) =>
    BackOff.isCrashLoop(
      places.map(({ failures, ready_at_ms, worker }) =>
        workers.isServing(worker) ? BackOff.failuresAfter(failures, now - ready_at_ms) : failures
      )
    )
  )

/** Creates a supervisor for this many workers. It does not start them yet. */
export const make = (count: number, workers: Workers): Supervisor => {
  const places: Array<WorkerPlace> = []

  // The first worker starts alone, because it migrates the database and sets up its seal keys.
  const start = Effect.gen(function* () {
    const first = yield* workers.launch(true)
    const otherWorkers = yield* Effect.all(
      Array.from({ length: count - 1 }, () => workers.launch(false)),
      { concurrency: "unbounded" }
    )
    places.push(...[first, ...otherWorkers].map(placeOf))
    return first.ready
  })

  const next = launchNext(workers)

  /** Replaces a worker that has ended, after a pause that grows with each failure. */
  const replace = Effect.fnUntraced(function* (place: WorkerPlace, ending: string) {
    workers.forget(place.worker)
    const servedMs = (yield* monotonicMs) - place.ready_at_ms
    place.failures = BackOff.failuresAfter(place.failures, servedMs) + 1
    yield* logEnd(place, `A process ended with ${ending}; replacing it`)
    let reason: CommandFailed | WrongUsage = crashLoop(ending)
    while (!(yield* isCrashLoop(places, workers))) {
      yield* Effect.sleep(BackOff.waitMs(place.failures))
      const launched = yield* Effect.result(next)
      if (Result.isSuccess(launched)) return occupy(place, launched.success)
      reason = launched.failure
      place.failures += 1
      yield* logEnd(place, `Cannot replace a process: ${reason.message}`)
    }
    return yield* Effect.fail(reason)
  })

  const watch = (place: WorkerPlace) =>
    Effect.suspend(() => {
      const { lock, worker } = place
      return Effect.flatMap(worker.ended, (ending) =>
        // A restart may have replaced the worker before this fiber got the lock.
        lock.withPermit(Effect.suspend(() => (place.worker === worker ? replace(place, ending) : Effect.void)))
      )
    })

  const renew = Effect.fnUntraced(function* (place: WorkerPlace) {
    const previous = place.worker
    const launched = yield* next
    occupy(place, launched)
    place.failures = 0
    yield* Effect.logInfo("Replaced a process, which is now draining").pipe(
      Effect.annotateLogs({ pid: previous.pid, next_pid: launched.worker.pid })
    )
    yield* workers.stop(previous)
  })

  return {
    start,
    keep: Effect.andThen(
      Effect.forEach(places, (place) => Effect.forever(watch(place)), { concurrency: "unbounded", discard: true }),
      Effect.never
    ),
    restart: Effect.forEach(places, (place) => place.lock.withPermit(renew(place)), { discard: true }).pipe(
      Effect.andThen(Effect.logInfo("Replaced every process")),
      Effect.catch(({ message }) =>
        Effect.logError(`The rolling restart stopped; the remaining processes keep running: ${message}`)
      )
    )
  }
}

const crashLoop = (ending: string) =>
  new CommandFailed({ message: `Every process keeps crashing, most recently with ${ending}.` })

const logEnd = ({ failures, worker }: WorkerPlace, text: string) =>
  Effect.logWarning(text).pipe(Effect.annotateLogs({ pid: worker.pid, wait_ms: BackOff.waitMs(failures) }))
