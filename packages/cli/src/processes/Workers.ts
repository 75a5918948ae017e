import { Clock, Effect, Exit, type Scope } from "effect"
import { CommandFailed, type WrongUsage } from "../settings/CommandErrors.ts"
import type { ReadyMessage } from "./Messages.ts"
import type { WorkerProcess } from "./WorkerProcess.ts"

/** Monotonic time in milliseconds, because the uptime of a worker must not depend on the wall clock. */
export const monotonicMs = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))

/** How to start workers, and what to call when they start and end. */
export interface Settings {
  /** Starts a process. Only the first worker may update the database schema. */
  readonly fork: (isFirst: boolean) => Effect.Effect<WorkerProcess, CommandFailed>
  /** Called when a worker is listening. */
  readonly onReady: (worker: WorkerProcess) => void
  /** Called before a worker is told to end. */
  readonly onStopping: (worker: WorkerProcess) => void
  /** Called when a worker that was listening has ended. `isUnexpected` is true if the worker was not told to end. */
  readonly onEnded: (worker: WorkerProcess, isUnexpected: boolean) => void
}

/** A worker that is listening. */
export interface Launched {
  readonly worker: WorkerProcess
  readonly ready: ReadyMessage
  /** When the worker began to listen, in monotonic time. */
  readonly ready_at_ms: number
}

/** Starts and stops workers, and knows which of them are running. */
export interface Workers {
  /** Starts a worker and waits until it is listening. Stops the worker if that fails. */
  readonly launch: (isFirst: boolean) => Effect.Effect<Launched, CommandFailed | WrongUsage>
  /** Lets a worker finish its calls and waits until the worker ends. Kills it after 9.5 seconds. */
  readonly stop: (worker: WorkerProcess) => Effect.Effect<void>
  /** Removes a worker that has ended on its own. */
  readonly forget: (worker: WorkerProcess) => void
  /** Whether a worker is listening. */
  readonly isServing: (worker: WorkerProcess) => boolean
}

/** How long a worker may take to stop, in milliseconds. The whole command must end within ten seconds. */
const longestDrainMs = 9_500

/** Creates the workers without starting any. When the scope closes, all running workers stop at the same time. */
export const make = Effect.fnUntraced(function* ({
  fork,
  onEnded,
  onReady,
  onStopping
}: Settings): Effect.fn.Return<Workers, never, Scope.Scope> {
  const alive = new Set<WorkerProcess>()
  const serving = new Set<WorkerProcess>()

  const remove = (worker: WorkerProcess, isUnexpected: boolean) => {
    alive.delete(worker)
    if (serving.delete(worker)) onEnded(worker, isUnexpected)
  }

  const stop = Effect.fnUntraced(function* (worker: WorkerProcess) {
    onStopping(worker)
    yield* worker.drain
    if (!(yield* isWithin(longestDrainMs, worker.ended))) {
      yield* Effect.logWarning("Killed a process that did not finish its calls in time").pipe(
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
    return { worker, ready, ready_at_ms: yield* monotonicMs }
  })

  yield* Effect.addFinalizer(() => Effect.forEach(alive, stop, { concurrency: "unbounded", discard: true }))

  return {
    launch,
    stop,
    forget: (worker) => remove(worker, true),
    isServing: (worker) => serving.has(worker)
  }
})

const endedEarly = (ending: string) =>
  Effect.fail(new CommandFailed({ message: `A process ended with ${ending} before it was ready.` }))

/** Whether an effect ends within a time limit. The effect can be interrupted even in a finalizer. */
const isWithin = (limitMs: number, effect: Effect.Effect<unknown>): Effect.Effect<boolean> =>
  Effect.interruptible(effect).pipe(
    Effect.as(true),
    Effect.timeoutOrElse({ duration: limitMs, orElse: () => Effect.succeed(false) })
  )
