import { Server as Listener } from "node:net"
import { performance } from "node:perf_hooks"
import { Effect } from "effect"

/**
 * If a turn of the event loop takes longer than this, in milliseconds, the kernel's queue may hold a new connection.
 */
const quietMs = 1

/** After this many turns of the event loop, the listening socket is closed even if connections still arrive. */
const maxTurns = 200

/**
 * Closes the listening socket of a server but keeps its open connections.
 *
 * When a socket is closed, the kernel resets the connections that it has accepted but the server has not. Therefore the
 * socket is closed only after a turn of the event loop in which no connection arrived.
 */
export const stopAccepting = (server: Listener): Effect.Effect<void> =>
  Effect.callback((resume) => {
    let turns = 0
    let beganMs = Number.NEGATIVE_INFINITY
    let isQuiet = false
    const onConnection = () => {
      isQuiet = false
    }
    const look = () => {
      turns += 1
      if (turns < maxTurns && !(isQuiet && performance.now() - beganMs < quietMs)) {
        isQuiet = true
        beganMs = performance.now()
        setImmediate(look)
        return
      }
      // Does not call the server's own `close`, because the `close` of an HTTP server also closes idle connections.
      Listener.prototype.close.call(server)
      server.off("connection", onConnection)
      resume(Effect.void)
    }
    server.on("connection", onConnection)
    setImmediate(look)
  })
