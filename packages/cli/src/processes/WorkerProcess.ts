import cluster from "node:cluster"
import type { Socket } from "node:net"
import { fileURLToPath } from "node:url"
import type { Receiver } from "@quotewire/http"
import { Deferred, Effect, Schema } from "effect"
import { CommandFailed, WrongUsage } from "../settings/CommandErrors.ts"
import * as MergedMetrics from "./MergedMetrics.ts"
import * as Messages from "./Messages.ts"
import { boundVariable, workerVariable } from "./Role.ts"

/** A worker process, as the primary sees it. */
export interface WorkerProcess {
  readonly pid: number
  /** Waits until the worker listens. Fails with the reason if it cannot listen. */
  readonly ready: Effect.Effect<Messages.ReadyMessage, CommandFailed | WrongUsage>
  /** Waits until the worker has ended. Returns how it ended, such as `exit code 1` or `signal SIGKILL`. */
  readonly ended: Effect.Effect<string>
  /** Hands a connection to the worker. `taken` is called when the worker can take the next one. */
  readonly handOver: (socket: Socket, taken: () => void) => void
  /** Orders the worker to finish running calls and end. Does not wait for that. */
  readonly drain: Effect.Effect<void>
  /** Kills the worker immediately. */
  readonly kill: Effect.Effect<void>
  /** Asks for the worker's metrics and waits for them. */
  readonly metrics: Effect.Effect<void>
  /** The metrics that the worker reported last. */
  readonly reported: () => MergedMetrics.Families
}

const program = fileURLToPath(new URL("../../bin/quotewire.js", import.meta.url))

/**
 * Starts a worker with this process's arguments, for a bound address. Only the first worker may update the database
 * schema.
 */
export const fork = (bound: Receiver["bound"], isFirst: boolean): Effect.Effect<WorkerProcess, CommandFailed> =>
  Effect.try({
    try: () => {
      cluster.setupPrimary({ exec: program, args: process.argv.slice(2) })
      const address = Schema.encodeSync(Messages.Bound)(bound)
      return toWorkerProcess(cluster.fork({ [workerVariable]: isFirst ? "first" : "later", [boundVariable]: address }))
    },
    catch: () => new CommandFailed({ message: "The operating system refused to start a process." })
  })

/** Kills all workers when this process exits for any reason. */
export const killAllAtExit = Effect.acquireRelease(
  Effect.sync(() => process.on("exit", killAll)),
  () => Effect.sync(() => process.off("exit", killAll))
)

const killAll = (): void => {
  for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill("SIGKILL")
}

const toWorkerProcess = (worker: NonNullable<typeof cluster.worker>): WorkerProcess => {
  const ready = Deferred.makeUnsafe<Messages.ReadyMessage, CommandFailed | WrongUsage>()
  const ended = Deferred.makeUnsafe<string>()
  let answered = Deferred.makeUnsafe<void>()
  let reported: MergedMetrics.Families = new Map()
  let taken = () => {}
  const end = (ending: string) => void Deferred.doneUnsafe(ended, Effect.succeed(ending))
  const send = (order: Messages.Order) =>
    Effect.sync(() => {
      // The channel may already be closed, because it closes shortly before the process ends.
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
      case "Taken":
        return taken()
      case "Drained":
        reported = MergedMetrics.read(report.metrics)
        return void Effect.runSync(send("leave"))
    }
  })

  return {
    pid: worker.process.pid ?? 0,
    ready: Deferred.await(ready),
    ended: Deferred.await(ended),
    handOver: (socket, onTaken) => {
      taken = onTaken
      if (worker.isConnected()) worker.send("connection" satisfies Messages.Order, socket, () => {})
      else socket.destroy()
    },
    // Messages arrive in order, so every connection that was handed over arrives before this message.
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
