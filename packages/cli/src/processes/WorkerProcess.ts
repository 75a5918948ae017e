import cluster from "node:cluster"
import { fileURLToPath } from "node:url"
import { Deferred, Effect } from "effect"
import { CommandFailed, WrongUsage } from "../CommandErrors.ts"
import * as MergedMetrics from "./MergedMetrics.ts"
import * as Messages from "./Messages.ts"
import { worker_variable } from "./Role.ts"

/** A worker, seen from the primary. */
export interface WorkerProcess {
  readonly pid: number
  /** Waits until it listens. Fails with the reason if it cannot. */
  readonly ready: Effect.Effect<Messages.Ready, CommandFailed | WrongUsage>
  /** Waits until it has ended, and says how: `exit code 1`, `signal SIGKILL`. */
  readonly ended: Effect.Effect<string>
  /** Orders it to finish running calls and to end. Does not wait. */
  readonly drain: Effect.Effect<void>
  /** Ends it at once. */
  readonly kill: Effect.Effect<void>
  /** Asks for its metrics, and waits for them. */
  readonly metrics: Effect.Effect<void>
  /** The metrics that it reported last. */
  readonly reported: () => MergedMetrics.Families
}

const program = fileURLToPath(new URL("../../bin/quotewire.js", import.meta.url))

/** Starts a worker with the arguments of this process. The first one may update the schema. */
export const fork = (isFirst: boolean): Effect.Effect<WorkerProcess, CommandFailed> =>
  Effect.try({
    try: () => {
      cluster.setupPrimary({ exec: program, args: process.argv.slice(2) })
      return of(cluster.fork({ [worker_variable]: isFirst ? "first" : "later" }))
    },
    catch: () => new CommandFailed({ message: "The system refuses to start another process." })
  })

/** Kills every worker when this process exits, for whatever reason. */
export const killAllAtExit = Effect.acquireRelease(
  Effect.sync(() => process.on("exit", killAll)),
  () => Effect.sync(() => process.off("exit", killAll))
)

const killAll = (): void => {
  for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill("SIGKILL")
}

const of = (worker: NonNullable<typeof cluster.worker>): WorkerProcess => {
  const ready = Deferred.makeUnsafe<Messages.Ready, CommandFailed | WrongUsage>()
  const ended = Deferred.makeUnsafe<string>()
  let answered = Deferred.makeUnsafe<void>()
  let reported: MergedMetrics.Families = new Map()
  const end = (how: string) => void Deferred.doneUnsafe(ended, Effect.succeed(how))
  const send = (order: Messages.Order) =>
    Effect.sync(() => {
      // The channel closes a moment before the process has ended.
      if (worker.isConnected()) worker.send(order, () => {})
    })

  worker.on("exit", (code, signal) => end(signal ? `signal ${signal}` : `exit code ${code}`))
  worker.on("error", (error) => {
    if (worker.process.pid === undefined) end(`the error ${error.name}`)
  })
  worker.on("message", (message: unknown) => {
    const report = Messages.readReport(message)
    switch (report?._tag) {
      case "Ready":
        return void Deferred.doneUnsafe(ready, Effect.succeed(report.host))
      case "Refused":
        return void Deferred.doneUnsafe(ready, Effect.fail(refusal(report)))
      case "Metrics":
        reported = MergedMetrics.read(report.text)
        return void Deferred.doneUnsafe(answered, Effect.void)
      case "Drained":
        reported = MergedMetrics.read(report.metrics)
        // Node sends connections over the same channel, so all that were sent before arrive before this order.
        return void Effect.runSync(send("leave"))
    }
  })

  return {
    pid: worker.process.pid ?? 0,
    ready: Deferred.await(ready),
    ended: Deferred.await(ended),
    drain: send("drain"),
    kill: Effect.sync(() => void worker.process.kill("SIGKILL")),
    metrics: Effect.suspend(() => {
      answered = Deferred.makeUnsafe()
      return Effect.andThen(send("metrics"), Deferred.await(answered))
    }),
    reported: () => reported
  }
}

const refusal = ({ is_wrong_usage, message }: { readonly message: string; readonly is_wrong_usage: boolean }) =>
  is_wrong_usage ? new WrongUsage({ message }) : new CommandFailed({ message })
