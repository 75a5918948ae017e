import { Metrics, type Receiver } from "@quotewire/http"
import { Deferred, Effect, Option, Queue } from "effect"
import type { HostSettings } from "../settings/HostSettings.ts"
import { refusedPort } from "../settings/refusals.ts"
import * as Acceptor from "./Acceptor.ts"
import * as CollectedMetrics from "./CollectedMetrics.ts"
import type { ReadyMessage } from "./Messages.ts"
import * as Supervisor from "./Supervisor.ts"
import * as WorkerProcess from "./WorkerProcess.ts"
import * as Workers from "./Workers.ts"

/** Called when all workers are ready. */
export type Announce = (ready: ReadyMessage) => Effect.Effect<void>

/**
 * Runs a number of workers behind one port until interrupted, then drains them.
 *
 * The primary process itself serves only metrics and uses no storage. SIGHUP replaces the workers one after the other.
 * Signals that arrive during a restart cause only one more restart.
 */
export const run = Effect.fnUntraced(function* (
  settings: Pick<HostSettings, "host" | "port" | "metrics_port">,
  count: number,
  announce: Announce
) {
  const restarts = yield* hangUps
  yield* WorkerProcess.killAllAtExit
  const bound = yield* Deferred.make<Receiver["bound"]>()
  const collected = CollectedMetrics.make()
  if (Option.isSome(settings.metrics_port)) {
    yield* Metrics.serveText({ host: settings.host, port: settings.metrics_port.value }, collected.text).pipe(
      Effect.mapError((refused) => refusedPort(settings, refused))
    )
  }
  const acceptor = Acceptor.make()
  const workers = yield* Workers.make({
    // Workers wait for the bound address: listening must begin after the workers' finalizer is registered, so that it
    // ends before that finalizer runs.
    fork: (isFirst) => Effect.flatMap(Deferred.await(bound), (address) => WorkerProcess.fork(address, isFirst)),
    onReady: (worker) => {
      collected.onReady(worker)
      acceptor.add(worker)
    },
    onStopping: acceptor.remove,
    onEnded: (worker, isUnexpected) => {
      acceptor.remove(worker)
      collected.onEnded(worker, isUnexpected)
    }
  })
  yield* Deferred.succeed(
    bound,
    yield* Effect.mapError(acceptor.listen(settings), (refused) => refusedPort(settings, refused))
  )
  const supervisor = Supervisor.make(count, workers)
  yield* announce(yield* supervisor.start)
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Queue.take(restarts), supervisor.restart)))
  return yield* supervisor.keep
})

/** Turns SIGHUP signals into a queue of restarts. At most one restart waits. */
const hangUps = Effect.gen(function* () {
  const queue = yield* Queue.dropping<"restart">(1)
  const onSignal = () => void Queue.offerUnsafe(queue, "restart")
  yield* Effect.acquireRelease(
    Effect.sync(() => process.on("SIGHUP", onSignal)),
    () => Effect.sync(() => process.off("SIGHUP", onSignal))
  )
  return queue
})
