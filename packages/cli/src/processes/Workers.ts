import { Clock, Effect, Exit, type Scope } from "effect"
import { CommandFailed, type WrongUsage } from "../CommandErrors.ts"
import type { Ready } from "./Messages.ts"
import type { WorkerProcess } from "./WorkerProcess.ts"

/** How workers are started, and what is called when they start and end. */
export interface Settings {
  /** Starts a process. The first one may update the database. */
  readonly fork: (isFirst: boolean) => Effect.Effect<WorkerProcess, CommandFailed>
  /** Called when a worker listens. */
  readonly onReady: (worker: WorkerProcess) => void
  /** Called when a worker that has listened has ended; `isUnexpected` if it was not told to end. */
  readonly onEnded: (worker: WorkerProcess, isUnexpected: boolean) => void
}

/** A worker that listens. */
export interface Launched {
  readonly worker: WorkerProcess
  readonly ready: Ready
  readonly ready_at_ms: number
}

/** Starts and stops workers, and knows which of them run. */
export interface Workers {
  /** Starts a worker and waits until it listens. One that does not is stopped. */
  readonly launch: (isFirst: boolean) => Effect.Effect<Launched, CommandFailed | WrongUsage>
  /** Lets a worker finish its calls, and waits for its end. Kills it after 9.5 seconds. */
  readonly stop: (worker: WorkerProcess) => Effect.Effect<void>
  /** Forgets a worker that has ended on its own. */
  readonly forget: (worker: WorkerProcess) => void
  /** Whether a worker has listened and has not ended. */
  readonly isServing: (worker: WorkerProcess) => boolean
}

/** How long a worker may take to stop, in milliseconds. The command must end within ten seconds. */
const longest_drain_ms = 9_500

/** Makes workers, of which none runs yet. When the scope closes, all of them stop at the same time. */
export const make = Effect.fnUntraced(function* ({
  fork,
  onEnded,
  onReady
}: Settings): Effect.fn.Return<Workers, never, Scope.Scope> {
  const alive = new Set<WorkerProcess>()
  const serving = new Set<WorkerProcess>()

  const remove = (worker: WorkerProcess, isUnexpected: boolean) => {
    alive.delete(worker)
    if (serving.delete(worker)) onEnded(worker, isUnexpected)
  }

  const stop = Effect.fnUntraced(function* (worker: WorkerProcess) {
    yield* worker.drain
    if (!(yield* isWithin(longest_drain_ms, worker.ended))) {
      yield* Effect.logWarning("A process has not finished its calls in time, and is killed").pipe(
        Effect.annotateLogs({ pid: worker.pid })
      )
      yield* worker.kill
      yield* worker.ended
    }
    remove(worker, false)
  })

  const launch = Effect.fnUntraced(function* (isFirst: boolean) {
    const worker = yield* fork(isFirst).pipe(
      Effect.tap((forked) => Effect.sync(() => alive.add(forked))),
      Effect.uninterruptible
    )
    const ready = yield* Effect.raceFirst(worker.ready, Effect.flatMap(worker.ended, endedEarly)).pipe(
      Effect.onExit((exit) => (Exit.isSuccess(exit) ? Effect.void : stop(worker)))
    )
    serving.add(worker)
    onReady(worker)
    return { worker, ready, ready_at_ms: yield* Clock.currentTimeMillis }
  })

  yield* Effect.addFinalizer(() => Effect.forEach(alive, stop, { concurrency: "unbounded", discard: true }))

  return {
    launch,
    stop,
    forget: (worker) => remove(worker, true),
    isServing: (worker) => serving.has(worker)
  }
})

const endedEarly = (how: string) =>
  Effect.fail(new CommandFailed({ message: `A process has ended with ${how} before it was ready.` }))

/** Whether an effect ends within a time. Interruptible, although it may run in a finalizer. */
const isWithin = (limit_ms: number, effect: Effect.Effect<unknown>): Effect.Effect<boolean> =>
  Effect.interruptible(effect).pipe(
    Effect.as(true),
    Effect.timeoutOrElse({ duration: limit_ms, orElse: () => Effect.succeed(false) })
  )
