import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { performance } from "node:perf_hooks"
import * as NodeMessages from "./NodeMessages.ts"
import * as Slices from "./Slices.ts"

/** Limits how much data callers may leave unread, and for how long. */
export interface Limits {
  /**
   * How long a caller may take to read the next 64 KiB of its response, or the rest of the response if less is left, in
   * milliseconds. A slower caller's connection is closed. 30,000 by default.
   */
  readonly read_timeout_ms?: number
  /**
   * The maximum number of bytes that all callers together may leave unread: responses that callers have not read, and
   * requests that wait behind those responses. Above it, the connections with the most unread bytes are closed. 256 MiB
   * by default.
   */
  readonly max_unread_bytes?: number
}

/**
 * How many requests of one connection are handled at a time. The next request starts when the caller has read a
 * response.
 */
const maxInFlight = 4

/** How many waiting requests start in one turn of the event loop, across all connections. */
const maxStartedInTurn = 4

/** The number of requests with unsent or unread responses at which a connection is closed. */
const maxUnanswered = 32

/** The memory that a waiting request takes in `node:http`, including garbage that is not yet collected, in bytes. */
const waitingBytes = 16 * 1024

/**
 * A request and its response, from arrival until the caller has read the response or disconnected. Handlers extend this
 * class with what they know about the request.
 *
 * This is a class, because once many object literals have survived, V8 allocates all later ones in the old generation,
 * where they keep every finished request in memory until a full collection (docs/decisions/tuning.md).
 */
export class PipelinedRequest {
  /** Called if the caller disconnects before the response is sent. */
  onHangUp: (() => void) | null = null
  /** How many bytes the caller has not read. */
  bytes = 0
  /** Since when the caller can read data, by `performance.now()`; null before the response is sent. */
  offered_ms: number | null = null
  readonly request: IncomingMessage
  readonly response: ServerResponse

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request
    this.response = response
  }
}

/** The requests of a connection, oldest first, in the order in which its caller reads the responses. */
interface Connection<P extends PipelinedRequest> {
  readonly socket: Socket
  readonly started: Array<P>
  readonly waiting: Array<P>
  /** The request that arrived last, even if it already has its response. */
  newest: P
  unread_bytes: number
  isHeld: boolean
  /** Records that the caller has read a response. One function listens to all responses of the connection. */
  readonly onRead: (this: ServerResponse) => void
  /** Called when every fully received request has its response. */
  onAnswered: ((isAnsweredEarly: boolean) => void) | null
}

/**
 * Backpressure for callers that send requests but do not read the responses.
 *
 * Responds to at most four requests of each connection at a time. The first request starts immediately. The requests
 * behind it take turns with requests of other connections, so that callers who pipeline do not delay callers who do
 * not. If more than four requests are open and the server reads in slices, it parses nothing more from their
 * connection. A connection is closed if its caller reads almost nothing, or if 32 requests on it are unanswered.
 */
export class Backpressure<P extends PipelinedRequest> {
  private readonly connections = new Map<Socket, Connection<P>>()
  /** The connections whose next request may start, in the order of their turns. */
  private readonly turns = new Set<Connection<P>>()
  private isTurnSet = false
  private readonly read_timeout_ms: number
  private readonly max_unread_bytes: number
  private unread_bytes = 0
  /** Responds to a request. */
  private readonly start: (pipelined: P) => void

  constructor(
    { read_timeout_ms = 30_000, max_unread_bytes = 256 * 1024 * 1024 }: Limits,
    start: (pipelined: P) => void
  ) {
    this.read_timeout_ms = read_timeout_ms
    this.max_unread_bytes = max_unread_bytes
    this.start = start
  }

  /** How often `sweep` must be called, in milliseconds. */
  get sweep_interval_ms(): number {
    return Math.min(this.read_timeout_ms / 4, 1_000)
  }

  /** Starts a request immediately, or after its caller has read an earlier response. */
  admit(pipelined: P): void {
    const { request } = pipelined
    const { socket } = request
    if (socket.destroyed) return
    // HTTP/2 has its own backpressure for each stream, so the socket that the streams share must not be paused.
    if (request.httpVersionMajor !== 1) {
      pipelined.response.once("close", () => hangUp(pipelined))
      this.start(pipelined)
      return
    }
    if (isSlowToParse(request)) Slices.beware(socket)
    const connection = this.connections.get(socket) ?? this.connect(pipelined)
    const { started, waiting } = connection
    connection.newest = pipelined
    if (started.length + waiting.length + 1 >= maxUnanswered) this.drop(connection)
    else if (started.length === 0) this.begin(connection, pipelined)
    else {
      waiting.push(pipelined)
      if (started.length + waiting.length > maxInFlight) {
        connection.isHeld = true
        Slices.hold(socket)
      }
      this.addUnread(connection, pipelined, waitingBytes)
      this.awaitTurn(connection)
    }
  }

  /** Records that the caller can now read data, and how many bytes were added. */
  offer(pipelined: P, bytes: number): void {
    pipelined.offered_ms = performance.now()
    if (bytes === 0) return
    const connection = this.connections.get(pipelined.request.socket)
    if (connection !== undefined) this.addUnread(connection, pipelined, bytes)
  }

  /**
   * Runs an action as soon as every fully received request on this connection has its response. The action's argument
   * says whether the latest request was answered before it had fully arrived.
   */
  whenAnswered(socket: Socket, callback: (isAnsweredEarly: boolean) => void): void {
    const connection = this.connections.get(socket)
    if (connection === undefined) callback(false)
    else if (owesAnswer(connection)) connection.onAnswered = callback
    else callback(NodeMessages.isAnsweredEarly(connection.newest.response))
  }

  /** Closes the connections whose callers do not read. */
  sweep(): void {
    const latestMs = performance.now() - this.read_timeout_ms
    for (const { socket, started } of this.connections.values()) {
      const [first] = started
      if (first !== undefined && isOverdue(first, latestMs)) socket.destroy()
    }
  }

  private connect(request: P): Connection<P> {
    const { socket } = request.request
    const end = (response: ServerResponse) => this.end(connection, response)
    const connection: Connection<P> = {
      socket,
      started: [],
      waiting: [],
      newest: request,
      unread_bytes: 0,
      isHeld: false,
      onRead() {
        end(this)
      },
      onAnswered: null
    }
    this.connections.set(socket, connection)
    socket.once("close", () => this.close(connection))
    return connection
  }

  private begin(connection: Connection<P>, pipelined: P): void {
    connection.started.push(pipelined)
    pipelined.response.on("close", connection.onRead)
    this.start(pipelined)
  }

  /** Records that the caller has read a response or disconnected. */
  private end(connection: Connection<P>, response: ServerResponse): void {
    const { started, waiting } = connection
    const index = started.findIndex((request) => request.response === response)
    const [pipelined] = index < 0 ? [] : started.splice(index, 1)
    if (pipelined === undefined) return
    this.addUnread(connection, pipelined, -pipelined.bytes)
    hangUp(pipelined)
    // The read timeout of the next response starts only now.
    const [first] = started
    if (first !== undefined && first.offered_ms !== null) first.offered_ms = performance.now()
    if (waiting.length > 0) this.awaitTurn(connection)
    else this.release(connection)
    if (connection.onAnswered !== null && !owesAnswer(connection)) {
      connection.onAnswered(NodeMessages.isAnsweredEarly(connection.newest.response))
      connection.onAnswered = null
    }
  }

  /** Queues a connection for its turn if one of its requests may start. */
  private awaitTurn(connection: Connection<P>): void {
    if (connection.waiting.length === 0 || connection.started.length >= maxInFlight) return
    this.turns.add(connection)
    this.setTurn()
  }

  /** Starts one request on each connection whose turn it is, and leaves the others for later turns. */
  private readonly takeTurns = (): void => {
    this.isTurnSet = false
    let started = 0
    for (const connection of this.turns) {
      if (started === maxStartedInTurn) break
      const next = connection.waiting.shift()
      this.turns.delete(connection)
      if (next === undefined) continue
      started += 1
      this.addUnread(connection, next, -waitingBytes)
      this.begin(connection, next)
      // The rest of the request's body can arrive only if parsing continues.
      if (!next.request.complete) this.release(connection)
      this.awaitTurn(connection)
    }
    if (this.turns.size > 0) this.setTurn()
  }

  /** Resumes parsing a connection that was held. */
  private release(connection: Connection<P>): void {
    if (!connection.isHeld) return
    connection.isHeld = false
    Slices.release(connection.socket)
  }

  private setTurn(): void {
    if (this.isTurnSet) return
    this.isTurnSet = true
    setImmediate(this.takeTurns)
  }

  private close(connection: Connection<P>): void {
    this.connections.delete(connection.socket)
    this.turns.delete(connection)
    this.unread_bytes -= connection.unread_bytes
    connection.waiting.length = 0
    // Node does not emit `close` for responses that are queued behind an earlier one.
    for (const pipelined of connection.started.splice(0)) hangUp(pipelined)
  }

  private addUnread(connection: Connection<P>, pipelined: P, bytes: number): void {
    pipelined.bytes += bytes
    connection.unread_bytes += bytes
    this.unread_bytes += bytes
    if (this.unread_bytes > this.max_unread_bytes) this.closeLargest()
  }

  /**
   * Closes connections until a tenth of the limit is free, so that the next request does not immediately exceed the
   * limit again.
   */
  private closeLargest(): void {
    const largest = Array.from(this.connections.values()).sort((a, b) => b.unread_bytes - a.unread_bytes)
    for (const connection of largest) {
      if (this.unread_bytes <= this.max_unread_bytes * 0.9) return
      this.drop(connection)
    }
  }

  private drop(connection: Connection<P>): void {
    this.close(connection)
    connection.socket.destroy()
  }
}

/** Requests with more header fields than this take long to parse. Browsers send about twenty. */
const usualHeaders = 100

/** Whether a request has a chunked body or many headers, which take long to parse. */
const isSlowToParse = ({ headers, rawHeaders }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || rawHeaders.length > 2 * usualHeaders

const owesAnswer = ({ started, waiting }: Connection<PipelinedRequest>): boolean =>
  waiting.length > 0 || started.some(({ request, response }) => request.complete && !response.writableFinished)

/** Whether a caller has taken too long to read. The time limit is suspended while an earlier response is unread. */
const isOverdue = ({ offered_ms, response }: PipelinedRequest, latestMs: number): boolean =>
  offered_ms !== null && offered_ms < latestMs && response.socket !== null

const hangUp = ({ onHangUp, response }: PipelinedRequest): void => {
  if (!response.writableEnded) onHangUp?.()
}
