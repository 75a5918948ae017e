import { connect, type Socket } from "node:net"
import { Effect } from "effect"

/** A connection on which a test can write anything, valid HTTP or not. */
export interface Wire {
  readonly socket: Socket
  readonly write: (text: string | Uint8Array) => Effect.Effect<void>
  /** Everything received so far. */
  readonly received: () => string
  /** Waits until the received text matches the pattern. */
  readonly until: (pattern: RegExp) => Effect.Effect<string>
  /** Waits until the other side closes, and returns everything received. */
  readonly closed: Effect.Effect<string>
}

/** Opens a connection that ends with the scope. */
export const open = (port: number) =>
  Effect.acquireRelease(
    Effect.callback<Wire>((resume) => {
      let text = ""
      const socket = connect(port, "127.0.0.1", () => resume(Effect.succeed(wire)))
      socket.setEncoding("utf8")
      socket.on("data", (chunk) => {
        text += String(chunk)
      })
      socket.on("error", (error) => resume(Effect.die(error)))
      const settled = (isDone: () => boolean) =>
        Effect.callback<string>((settle) => {
          const look = () => (isDone() ? settle(Effect.succeed(text)) : undefined)
          socket.on("data", look).on("close", look)
          look()
        })
      const wire: Wire = {
        socket,
        write: (bytes) => Effect.sync(() => void socket.write(bytes)),
        received: () => text,
        until: (pattern) => settled(() => pattern.test(text)),
        closed: settled(() => socket.closed)
      }
    }),
    ({ socket }) => Effect.sync(() => socket.destroy())
  )

/** Writes once, and returns everything received until the other side closes. */
export const exchange = (port: number, text: string | Uint8Array) =>
  Effect.gen(function* () {
    const wire = yield* open(port)
    yield* wire.write(text)
    return yield* wire.closed
  }).pipe(Effect.scoped, Effect.timeout(60_000), Effect.orDie)

/** Splits the received text after the head of the first response. */
export const parse = (text: string) => {
  const [head = "", ...rest] = text.split("\r\n\r\n")
  const [first = "", ...lines] = head.split("\r\n")
  const headers = new Headers(
    lines.map((line): [string, string] => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)])
  )
  return { status: Number(first.split(" ")[1]), headers, text: rest.join("\r\n\r\n") }
}
