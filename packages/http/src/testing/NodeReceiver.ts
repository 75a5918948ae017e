import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { buffer } from "node:stream/consumers"
import { Receiver } from "@quotewire/core/testing"
import { Effect, type Scope } from "effect"

/** A test receiver for webhooks that runs its own HTTP server. */
export interface NodeReceiver extends Receiver.Receiver {
  /** The URL that deliveries are sent to. */
  readonly url: string
}

/** Where a receiver listens. */
export interface Place {
  /** The port; any free port by default. */
  readonly port?: number
}

/**
 * Serves a receiver on 127.0.0.1. It plays every response in the receiver's script, including broken connections.
 *
 * The webhook sender's policy must allow the loopback network: `WebhookAddress.readNetworks("127.0.0.0/8")`.
 *
 * @example
 * const receiver = Receiver.make()
 * const { url, close } = await NodeReceiver.open(receiver)
 */
export const open = (receiver: Receiver.Receiver, { port = 0 }: Place = {}) =>
  new Promise<{ readonly url: string; readonly close: () => Promise<void> }>((resolve, reject) => {
    const server = createServer((request, response) => {
      // If the sender aborts a request, reading its body fails, and nothing was delivered.
      take(receiver, request, response).catch(() => response.destroy())
    })
    const close = () =>
      new Promise<void>((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      })
    server.once("error", reject)
    server.listen(port, "127.0.0.1", () => {
      const bound = server.address()
      if (bound === null || typeof bound === "string") return reject(new Error("The receiver has no port"))
      resolve({ url: `http://127.0.0.1:${bound.port}/webhooks`, close })
    })
  })

/** Serves a receiver until the scope closes. */
export const start = (options: Receiver.Options & Place = {}): Effect.Effect<NodeReceiver, never, Scope.Scope> =>
  Effect.suspend(() => {
    const receiver = Receiver.make(options)
    return Effect.acquireRelease(
      Effect.promise(() => open(receiver, options)),
      ({ close }) => Effect.promise(close)
    ).pipe(Effect.map(({ url }) => ({ ...receiver, url })))
  })

const take = async (receiver: Receiver.Receiver, request: IncomingMessage, response: ServerResponse) => {
  const body = await buffer(request)
  play(await Effect.runPromise(receiver.handle({ headers: request.headers, body })), response)
}

const play = (respond: Receiver.Respond, response: ServerResponse): void => {
  switch (respond.does) {
    case "answer":
      response.writeHead(respond.status, respond.headers).end(respond.body)
      return
    case "drip":
      drip(respond.pieces, respond.every_ms, response.writeHead(respond.status))
      return
    case "hang":
      return
    case "reset":
      response.socket?.resetAndDestroy()
      return
    case "garbage":
      response.socket?.end(respond.text)
  }
}

const drip = (pieces: ReadonlyArray<string>, everyMs: number, response: ServerResponse): void => {
  const remaining = pieces.values()
  response.flushHeaders()
  const timer = setInterval(() => {
    const { value, done } = remaining.next()
    if (done === true) response.end()
    else response.write(value)
  }, everyMs)
  response.once("close", () => clearInterval(timer))
}
