import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { performance } from "node:perf_hooks"

/** How much callers may leave unread, and for how long. */
export interface Limits {
  /**
   * Time in milliseconds in which a caller must take the next 64 KiB of its answer, or what is left of it. A connection
   * that takes longer is closed. 30,000 by default.
   */
  readonly answer_timeout_ms?: number
  /**
   * Bytes that all callers together may be owed: answers that they have not taken, and requests that wait for them to do
   * so. Above it, the connections that are owed the most are closed. 256 MiB by default.
   */
  readonly max_owed_bytes?: number
}

/** So many requests of one connection are answered at a time. The next one starts when an answer has been taken. */
const most_at_once = 16

/** About what a request costs while it waits: what `node:http` makes of it. */
const waiting_bytes = 4 * 1024

/** A request and its answer, from its arrival until the caller has taken the answer or is gone. */
export interface Turn {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Answers the request. */
  readonly start: (turn: Turn) => void
  /** Runs where the caller hangs up before the answer was sent. */
  onHangUp: (() => void) | null
  /** What the caller is owed. */
  bytes: number
  /** When the caller could last begin to take something, on the clock of `performance`; null before the answer. */
  given_ms: number | null
}

/** The turns of a connection, oldest first, as its caller takes the answers. */
interface Connection {
  readonly socket: Socket
  readonly started: Array<Turn>
  readonly waiting: Array<Turn>
  owed_bytes: number
  isPaused: boolean
  /** Runs when every request that has arrived as a whole has been answered. */
  onAnswered: (() => void) | null
}

/**
 * Bounds what callers are owed who send requests and do not read the answers.
 *
 * A connection with 16 unread answers is not read from, and requests that have arrived on it already wait. One that
 * takes nothing, or next to nothing, is closed.
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
    // HTTP/2 has backpressure for each of its streams, whose socket nobody else may pause.
    if (request.httpVersionMajor !== 1) {
      response.once("close", () => hangUp(turn))
      start(turn)
      return
    }
    const connection = this.connectionOf(request.socket)
    if (connection.started.length < most_at_once) this.begin(connection, turn)
    else this.hold(connection, turn)
  }

  /** Notes that the caller can take something, and is owed so many more bytes. */
  give(turn: Turn, bytes: number): void {
    turn.given_ms = performance.now()
    if (bytes === 0) return
    const connection = this.connections.get(turn.request.socket)
    if (connection !== undefined) this.owe(connection, turn, bytes)
  }

  /** Does something when every request that has arrived on this connection as a whole has been answered. */
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

  /** The caller has taken an answer, and is owed one less. */
  private end(connection: Connection, turn: Turn): void {
    const { socket, started, waiting } = connection
    const index = started.indexOf(turn)
    if (index < 0) return
    started.splice(index, 1)
    this.owe(connection, turn, -turn.bytes)
    hangUp(turn)
    // Only now can the caller take what comes next.
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
    // Node says nothing to answers that stand behind another.
    for (const turn of connection.started.splice(0)) hangUp(turn)
  }

  private owe(connection: Connection, turn: Turn, bytes: number): void {
    turn.bytes += bytes
    connection.owed_bytes += bytes
    this.owed_bytes += bytes
    if (this.owed_bytes > this.max_owed_bytes) this.closeLargest()
  }

  /** Closes connections until a tenth is free, so that the next request does not have to look for more. */
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

/** Whether a caller has had its time to take something. Behind an answer of somebody else's there is nothing to take. */
const isOverdue = ({ given_ms, response }: Turn, latest_ms: number): boolean =>
  given_ms !== null && given_ms < latest_ms && response.socket !== null

const hangUp = ({ onHangUp, response }: Turn): void => {
  if (!response.writableEnded) onHangUp?.()
}
