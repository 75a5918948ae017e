import { Metrics } from "@quotewire/http"
import { Effect, Option, Queue } from "effect"
import { CommandFailed } from "../CommandErrors.ts"
import type { HostSettings } from "../HostSettings.ts"
import * as CollectedMetrics from "./CollectedMetrics.ts"
import type { Ready } from "./Messages.ts"
import * as Supervisor from "./Supervisor.ts"
import * as WorkerProcess from "./WorkerProcess.ts"
import * as Workers from "./Workers.ts"

/** Called once, when all workers are ready. */
export type Announce = (ready: Ready) => Effect.Effect<void>

/**
 * Runs a number of workers behind one port until it is interrupted, and then drains them.
 *
 * The primary answers nothing but metrics, and uses no storage. SIGHUP replaces the workers one after the other. Signals
 * during a restart cause one more restart after it.
 */
export const run = Effect.fnUntraced(function* (
  settings: Pick<HostSettings, "host" | "metrics_port">,
  count: number,
  announce: Announce
) {
  const restarts = yield* hangUps
  yield* WorkerProcess.killAllAtExit
  const collected = CollectedMetrics.make()
  if (Option.isSome(settings.metrics_port)) {
    yield* Metrics.serveText({ host: settings.host, port: settings.metrics_port.value }, collected.text).pipe(
      Effect.mapError(({ message }) => new CommandFailed({ message }))
    )
  }
  const workers = yield* Workers.make({ ...collected, fork: WorkerProcess.fork })
  const supervisor = Supervisor.make(count, workers)
  yield* announce(yield* supervisor.start)
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Queue.take(restarts), supervisor.restart)))
  return yield* supervisor.keep
})

/** SIGHUPs as a queue of restarts, of which at most one waits. */
const hangUps = Effect.gen(function* () {
  const queue = yield* Queue.dropping<"restart">(1)
  const onSignal = () => void Queue.offerUnsafe(queue, "restart")
  yield* Effect.acquireRelease(
    Effect.sync(() => process.on("SIGHUP", onSignal)),
    () => Effect.sync(() => process.off("SIGHUP", onSignal))
  )
  return queue
})
