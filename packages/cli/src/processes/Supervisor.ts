import { Clock, Effect, Result, Semaphore } from "effect"
import { CommandFailed, type WrongUsage } from "../CommandErrors.ts"
import * as BackOff from "./BackOff.ts"
import type { Ready } from "./Messages.ts"
import type { WorkerProcess } from "./WorkerProcess.ts"
import type { Launched, Workers } from "./Workers.ts"

/** Keeps a number of workers running. */
export interface Supervisor {
  /** Starts the first worker, then the others. If one cannot start, it fails with the reason of that worker. */
  readonly start: Effect.Effect<Ready, CommandFailed | WrongUsage>
  /** Replaces workers that end. Never returns; fails if all of them end again and again. */
  readonly keep: Effect.Effect<never, CommandFailed | WrongUsage>
  /** Replaces all workers, one after the other: the new one listens before the old one drains. Stops if one cannot start. */
  readonly restart: Effect.Effect<void>
}

/** How long a worker may take to replace another one, in milliseconds. */
const longest_start_ms = 120_000

/** A place for one worker. Whoever replaces the worker holds the lock. */
interface Place {
  worker: WorkerProcess
  ready_at_ms: number
  /** How many workers in a row have failed in it: they could not start, or ended soon. */
  failures: number
  readonly lock: Semaphore.Semaphore
}

const placeOf = ({ ready_at_ms, worker }: Launched): Place => ({
  worker,
  ready_at_ms,
  failures: 0,
  lock: Semaphore.makeUnsafe(1)
})

const occupy = (place: Place, { ready_at_ms, worker }: Launched): void => {
  place.worker = worker
  place.ready_at_ms = ready_at_ms
}

/** Starts a worker that replaces another one. */
const launchNext = (workers: Workers) =>
  Effect.timeoutOrElse(workers.launch(false), {
    duration: longest_start_ms,
    orElse: () => Effect.fail(new CommandFailed({ message: "A process has not started within two minutes." }))
  })

/** Whether the workers of all places crash in a loop. */
const isCrashLoop = (places: ReadonlyArray<Place>, workers: Workers) =>
  Effect.map(Clock.currentTimeMillis, (now) =>
    BackOff.isCrashLoop(
      places.map(({ failures, ready_at_ms, worker }) =>
        workers.isServing(worker) ? BackOff.failuresAfter(failures, now - ready_at_ms) : failures
      )
    )
  )

/** Makes a supervisor of this many workers, of which none runs yet. */
export const make = (count: number, workers: Workers): Supervisor => {
  const places: Array<Place> = []

  // The first worker starts alone, because it updates and seals the database.
  const start = Effect.gen(function* () {
    const first = yield* workers.launch(true)
    const others = yield* Effect.all(
      Array.from({ length: count - 1 }, () => workers.launch(false)),
      { concurrency: "unbounded" }
    )
    places.push(...[first, ...others].map(placeOf))
    return first.ready
  })

  const next = launchNext(workers)

  /** Replaces a worker that has ended, after a pause that grows with each failure. */
  const replace = Effect.fnUntraced(function* (place: Place, how: string) {
    workers.forget(place.worker)
    const served_ms = (yield* Clock.currentTimeMillis) - place.ready_at_ms
    place.failures = BackOff.failuresAfter(place.failures, served_ms) + 1
    yield* logEnd(place, `A process has ended with ${how}, and is replaced`)
    let reason: CommandFailed | WrongUsage = crashLoop(how)
    while (!(yield* isCrashLoop(places, workers))) {
      yield* Effect.sleep(BackOff.wait_ms(place.failures))
      const launched = yield* Effect.result(next)
      if (Result.isSuccess(launched)) return occupy(place, launched.success)
      reason = launched.failure
      place.failures += 1
      yield* logEnd(place, `A process cannot be replaced: ${reason.message}`)
    }
    return yield* Effect.fail(reason)
  })

  const watch = (place: Place) =>
    Effect.suspend(() => {
      const { lock, worker } = place
      return Effect.flatMap(worker.ended, (how) =>
        // A restart may have replaced it meanwhile.
        lock.withPermit(Effect.suspend(() => (place.worker === worker ? replace(place, how) : Effect.void)))
      )
    })

  const renew = Effect.fnUntraced(function* (place: Place) {
    const previous = place.worker
    const launched = yield* next
    occupy(place, launched)
    place.failures = 0
    yield* Effect.logInfo("A process drains, and another one has taken its place").pipe(
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
      Effect.andThen(Effect.logInfo("Every process was replaced")),
      Effect.catch(({ message }) =>
        Effect.logError(`The restart has stopped, and the processes that are left go on: ${message}`)
      )
    )
  }
}

const crashLoop = (how: string) =>
  new CommandFailed({ message: `Every process ends again and again, the last one with ${how}.` })

const logEnd = ({ failures, worker }: Place, text: string) =>
  Effect.logWarning(text).pipe(Effect.annotateLogs({ pid: worker.pid, wait_ms: BackOff.wait_ms(failures) }))
