import { createServer, type Server, type Socket } from "node:net"
import { CannotListen, type Receiver, stopAccepting } from "@quotewire/http"
import { Effect, type Scope } from "effect"
import type { WorkerProcess } from "./WorkerProcess.ts"

/** Accepts connections in the primary process and hands them to the workers in turn. */
export interface Acceptor {
  /** Starts handing connections to a worker. */
  readonly add: (worker: WorkerProcess) => void
  /** Stops handing connections to a worker. The connections that were already sent arrive before its next order. */
  readonly remove: (worker: WorkerProcess) => void
  /** Listens until the scope closes, then hands over the remaining accepted connections. */
  readonly listen: (settings: {
    readonly host: string
    readonly port: number
  }) => Effect.Effect<Receiver["bound"], CannotListen, Scope.Scope>
}

/** How many accepted connections may wait for a worker. Connections above this limit are closed. */
const maxWaiting = 10_000

/** How long handing over the last connections may take, in milliseconds. */
const longestHandoverMs = 1_000

/** Creates an acceptor that does not listen yet. */
export const make = (): Acceptor => {
  const workers = new Set<WorkerProcess>()
  const free = new Set<WorkerProcess>()
  const waiting: Array<Socket> = []
  let onHandedOver = () => {}

  const distribute = (): void => {
    for (const worker of free) {
      const socket = waiting.shift()
      if (socket === undefined) break
      free.delete(worker)
      worker.handOver(socket, () => {
        if (workers.has(worker)) free.add(worker)
        distribute()
      })
    }
    if (workers.size === 0) for (const socket of waiting.splice(0)) socket.destroy()
    if (waiting.length === 0) onHandedOver()
  }

  const accept = (socket: Socket): void => {
    socket.on("error", () => {})
    if (waiting.length === maxWaiting) return void socket.destroy()
    waiting.push(socket)
    distribute()
  }

  const handedOver = Effect.callback<void>((resume) => {
    onHandedOver = () => resume(Effect.void)
    distribute()
  })

  return {
    add: (worker) => {
      workers.add(worker)
      free.add(worker)
      distribute()
    },
    remove: (worker) => {
      workers.delete(worker)
      free.delete(worker)
      distribute()
    },
    listen: ({ host, port }) =>
      Effect.map(
        Effect.acquireRelease(bind(host, port, accept), ({ server }) =>
          Effect.andThen(
            stopAccepting(server),
            Effect.timeoutOption(Effect.interruptible(handedOver), longestHandoverMs)
          )
        ),
        ({ bound }) => bound
      )
  }
}

const bind = (host: string, port: number, accept: (socket: Socket) => void) =>
  Effect.callback<{ readonly server: Server; readonly bound: Receiver["bound"] }, CannotListen>((resume) => {
    const server = createServer({ pauseOnConnect: true }, accept)
    const onError = (error: Error) => resume(Effect.fail(CannotListen.of(port, error)))
    server.once("error", onError)
    server.listen(port, host, () => {
      server.off("error", onError)
      const bound = server.address()
      if (bound === null || typeof bound === "string") return resume(Effect.die(new Error("The server has no port")))
      resume(Effect.succeed({ server, bound }))
    })
  })
