import cluster from "node:cluster"
import { Socket } from "node:net"
import type { Receiver } from "@quotewire/http"
import { Schema } from "effect"
import * as Messages from "./Messages.ts"

/** The variable that marks the workers of a primary process. Other programs that use `node:cluster` do not set it. */
export const workerVariable = "QUOTEWIRE_WORKER"

/** The role of this process: a primary's first worker, a later worker, or standalone. */
export const role = (): "alone" | "first" | "later" => {
  const variable = cluster.isWorker ? process.env[workerVariable] : undefined
  return variable === "first" || variable === "later" ? variable : "alone"
}

/** The variable that tells a worker which address the primary listens on. */
export const boundVariable = "QUOTEWIRE_WORKER_ADDRESS"

/** Receives connections from the primary. Acknowledges each connection, so that the primary sends the next one. */
export const receiver = (): Receiver => ({
  bound: Schema.decodeUnknownSync(Messages.Bound)(process.env[boundVariable]),
  receive: (accept) => {
    const onMessage = (message: unknown, socket: unknown) => {
      if (Messages.readOrder(message) !== "connection") return
      process.send?.({ _tag: "Taken" } satisfies Messages.Report, undefined, undefined, () => {})
      if (socket instanceof Socket) accept(socket)
    }
    process.on("message", onMessage)
    return () => void process.off("message", onMessage)
  }
})
