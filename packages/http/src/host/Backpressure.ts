import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { performance } from "node:perf_hooks"

/** How much callers may leave unread, and for how long. */
export interface Limits {
  /**
   * How long a caller may take to read the next 64 KiB of its answer, or the rest of it, in milliseconds. A slower
   * connection is closed. 30,000 by default.
   */
  readonly answer_timeout_ms?: number
  /**
   * How many bytes all callers together may leave unread: answers that they have not taken, and requests that wait for
   * that. Above it, the connections with the most unread bytes are closed. 256 MiB by default.
   */
  readonly max_owed_bytes?: number
}

/** How many requests of one connection are answered at a time. The next starts when an answer was taken. */
const most_at_once = 16

/** The approximate size of a waiting request in `node:http`. */
const waiting_bytes = 4 * 1024

/** A request and its answer, from its arrival until the caller has taken the answer or disconnected. */
export interface Turn {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Answers the request. */
  readonly start: (turn: Turn) => void
  /** Called if the caller disconnects before the answer was sent. */
  onHangUp: (() => void) | null
  /** How many bytes the caller has not taken. */
  bytes: number
  /** Since when the caller can take something, on the clock of `performance`; null before the answer. */
  given_ms: number | null
}

/** The turns of a connection, oldest first, in the order in which its caller takes the answers. */
interface Connection {
  readonly socket: Socket
  readonly started: Array<Turn>
  readonly waiting: Array<Turn>
  owed_bytes: number
  isPaused: boolean
  /** Called when every request that has fully arrived was answered. */
  onAnswered: (() => void) | null
}

/**
 * Backpressure for callers that send requests and do not read the answers.
 *
 * A connection with 16 unread answers is not read, and requests that have arrived on it wait. A connection whose caller
 * takes nothing, or almost nothing, is closed.
 */
export class Backpressure {
  private readonly connections = new Map<Socket, Connection>()
  private readonly answer_timeout_ms: number
  private readonly max_owed_bytes: number
  private owed_bytes = 0

  constructor({ answer_timeout_ms = 30_000, max_owed_bytes = 256 * 1024 * 1024 }: Limits) {
    this.answer_timeout_ms = answer_timeout_ms
    this.max_owed_bytes = max_owed_bytes
  }

  /** How often to sweep, in milliseconds. */
  get sweep_interval_ms(): number {
    return Math.min(this.answer_timeout_ms / 4, 1_000)
  }

  /** Starts a request at once, or when its connection has taken an answer. */
  admit(request: IncomingMessage, response: ServerResponse, start: (turn: Turn) => void): void {
    if (request.socket.destroyed) return
    const turn: Turn = { request, response, start, onHangUp: null, bytes: 0, given_ms: null }
    // HTTP/2 has its own backpressure for each stream, and its socket must not be paused.
    if (request.httpVersionMajor !== 1) {
      response.once("close", () => hangUp(turn))
      start(turn)
      return
    }
    const connection = this.connectionOf(request.socket)
    if (connection.started.length < most_at_once) this.begin(connection, turn)
    else this.hold(connection, turn)
  }

  /** Records that the caller can take something, and how many more bytes. */
  give(turn: Turn, bytes: number): void {
    turn.given_ms = performance.now()
    if (bytes === 0) return
    const connection = this.connections.get(turn.request.socket)
    if (connection !== undefined) this.owe(connection, turn, bytes)
  }

  /** Runs an action when every request that has fully arrived on this connection was answered. */
  whenAnswered(socket: Socket, act: () => void): void {
    const connection = this.connections.get(socket)
    if (connection === undefined || !owesAnswer(connection)) act()
    else connection.onAnswered = act
  }

  /** Closes the connections whose callers take nothing. */
  sweep(): void {
    const latest_ms = performance.now() - this.answer_timeout_ms
    for (const { socket, started } of this.connections.values()) {
      const [first] = started
      if (first !== undefined && isOverdue(first, latest_ms)) socket.destroy()
    }
  }

  private connectionOf(socket: Socket): Connection {
    const known = this.connections.get(socket)
    if (known !== undefined) return known
    const connection: Connection = {
      socket,
      started: [],
      waiting: [],
      owed_bytes: 0,
      isPaused: false,
      onAnswered: null
    }
    this.connections.set(socket, connection)
    // Node resumes a connection after each answer.
    socket.on("resume", () => {
      if (connection.isPaused) socket.pause()
    })
    socket.once("close", () => this.close(connection))
    return connection
  }

  private begin(connection: Connection, turn: Turn): void {
    connection.started.push(turn)
    turn.response.once("close", () => this.end(connection, turn))
    turn.start(turn)
  }

  private hold(connection: Connection, turn: Turn): void {
    connection.waiting.push(turn)
    connection.isPaused = true
    connection.socket.pause()
    this.owe(connection, turn, waiting_bytes)
  }

  /** Records that the caller has taken an answer. */
  private end(connection: Connection, turn: Turn): void {
    const { socket, started, waiting } = connection
    const index = started.indexOf(turn)
    if (index < 0) return
    started.splice(index, 1)
    this.owe(connection, turn, -turn.bytes)
    hangUp(turn)
    // Only now can the caller take the next answer.
    const [first] = started
    if (first !== undefined && first.given_ms !== null) first.given_ms = performance.now()
    const next = waiting.shift()
    if (next !== undefined) {
      this.owe(connection, next, -waiting_bytes)
      this.begin(connection, next)
    } else if (connection.isPaused) {
      connection.isPaused = false
      socket.resume()
    }
    if (connection.onAnswered !== null && !owesAnswer(connection)) {
      connection.onAnswered()
      connection.onAnswered = null
    }
  }

  private close(connection: Connection): void {
    this.connections.delete(connection.socket)
    this.owed_bytes -= connection.owed_bytes
    connection.waiting.length = 0
    // Node does not close answers that are queued behind another one.
    for (const turn of connection.started.splice(0)) hangUp(turn)
  }

  private owe(connection: Connection, turn: Turn, bytes: number): void {
    turn.bytes += bytes
    connection.owed_bytes += bytes
    this.owed_bytes += bytes
    if (this.owed_bytes > this.max_owed_bytes) this.closeLargest()
  }

  /** Closes connections until a tenth of the limit is free, so that the next request need not search again. */
  private closeLargest(): void {
    const largest = Array.from(this.connections.values()).sort((a, b) => b.owed_bytes - a.owed_bytes)
    for (const connection of largest) {
      if (this.owed_bytes <= this.max_owed_bytes * 0.9) return
      this.close(connection)
      connection.socket.destroy()
    }
  }
}

const owesAnswer = ({ started, waiting }: Connection): boolean =>
  waiting.length > 0 || started.some(({ request, response }) => request.complete && !response.writableFinished)

/** Whether a caller's time is over. Behind another answer there is nothing to take yet. */
const isOverdue = ({ given_ms, response }: Turn, latest_ms: number): boolean =>
  given_ms !== null && given_ms < latest_ms && response.socket !== null

const hangUp = ({ onHangUp, response }: Turn): void => {
  if (!response.writableEnded) onHangUp?.()
}
