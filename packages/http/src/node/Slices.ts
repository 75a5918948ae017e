import type { Server } from "node:http"
import type { Server as SecureServer } from "node:https"
import type { Socket } from "node:net"
import { performance } from "node:perf_hooks"

/** Chunks up to this size, in bytes, are parsed immediately. Most requests are smaller. */
const smallBytes = 4 * 1024

/** How many bytes of a larger chunk are parsed in one turn of the event loop. */
const sliceBytes = 2 * 1024

/**
 * The slice size for a connection whose requests had to wait, in bytes. It is smaller, because each waiting request
 * takes memory.
 */
const heldSliceBytes = 1024

/** How many slices are parsed in one turn of the event loop. */
const slicesPerTurn = 32

/** How long the server reads new connections in slices after it has seen a suspicious connection, in milliseconds. */
const waryMs = 60_000

/**
 * Makes a server parse incoming data in slices of 2 KiB, from up to 32 connections in each turn of the event loop.
 * Chunks of up to 4 KiB are parsed immediately. A connection that had too many requests at a time gets smaller slices.
 *
 * By default Node reads up to 64 KiB in one go, and creates all requests in it before any code can close the
 * connection: 61 KB can contain 1,700 requests, which take 5 MB in Node. Here, at most one such chunk waits for each
 * connection. Call this before the server listens.
 *
 * @example
 * const server = createServer(nodeHandler(quotewire))
 * readInSlices(server)
 */
export const readInSlices = (server: Server | SecureServer): void => {
  // A TLS server parses the decrypted connection.
  const connected = "setSecureContext" in server ? "secureConnection" : "connection"
  server.on(connected, (socket: Socket) => void inlets.set(socket, new Inlet(socket)))
}

/**
 * Leaves reading to Node until one connection is suspicious, then reads all the server's connections in slices. Reading
 * in slices takes more CPU time (docs/decisions/tuning.md). Even if many connections send bursts, Node parses only one of
 * their chunks whole before the server switches to slices.
 *
 * Call `beware` for a connection whose request takes long to parse, and `hold` for a connection with too many requests
 * at a time.
 */
export const readInSlicesIfNeeded = (server: Server): void => {
  const watch = new Watch()
  server.on("connection", (socket: Socket) => watch.add(socket))
}

/**
 * Reads all connections of this connection's server in slices from now on, because a request on this connection takes
 * long to parse.
 */
export const beware = (socket: Socket): void => watches.get(socket)?.beware()

/** Stops parsing a connection until it is released. The server must use `readInSlices` or `readInSlicesIfNeeded`. */
export const hold = (socket: Socket): void => {
  beware(socket)
  inlets.get(socket)?.hold()
}

/** Resumes parsing a connection. */
export const release = (socket: Socket): void => inlets.get(socket)?.release()

/** The connections of a server that Node reads whole, without slices. */
class Watch {
  private readonly sockets = new Set<Socket>()
  private wary_until_ms = 0

  add(socket: Socket): void {
    watches.set(socket, this)
    if (performance.now() < this.wary_until_ms) return void inlets.set(socket, new Inlet(socket))
    this.sockets.add(socket)
    socket.once("close", () => this.sockets.delete(socket))
  }

  /** Reads all open connections in slices from now on and, for a while, new connections too. */
  beware(): void {
    this.wary_until_ms = performance.now() + waryMs
    for (const socket of this.sockets) inlets.set(socket, new Inlet(socket))
    this.sockets.clear()
  }
}

/**
 * The data that a connection has received and Node has not parsed yet.
 *
 * An inlet stands between the socket and its stream. Pausing the stream would not be enough, because Node resumes it
 * after each request.
 */
class Inlet {
  private readonly socket: Socket
  private readonly push: Socket["push"]
  /** The waiting chunks. Null marks the end of the data. */
  private readonly waiting: Array<Uint8Array | null> = []
  private isHeld = false
  private isScheduled = false
  private small_bytes = smallBytes
  private slice_bytes = sliceBytes

  constructor(socket: Socket) {
    this.socket = socket
    this.push = socket.push.bind(socket)
    const read = socket._read.bind(socket)
    // Node's parser bypasses the stream until other code has listened for `data`.
    socket.on("data", ignore).off("data", ignore)
    socket.push = (chunk: Uint8Array | null) => this.take(chunk)
    socket._read = (bytes) => {
      if (this.waiting.length === 0) read(bytes)
    }
  }

  hold(): void {
    this.isHeld = true
    this.small_bytes = heldSliceBytes
    this.slice_bytes = heldSliceBytes
  }

  release(): void {
    this.isHeld = false
    this.schedule()
  }

  /**
   * Takes a chunk that was read from the socket. If it returns false, the socket is not read again until the stream
   * asks for data.
   */
  private take(chunk: Uint8Array | null): boolean {
    const isFirst = this.waiting.length === 0 && !this.isHeld
    if (isFirst && (chunk === null || chunk.length <= this.small_bytes)) return this.push(chunk)
    this.waiting.push(chunk)
    this.schedule()
    return false
  }

  /** Passes the next slice on to be parsed. */
  passOn(): void {
    this.isScheduled = false
    const { socket, waiting } = this
    const [first] = waiting
    if (first === undefined || this.isHeld || socket.destroyed) return
    if (first !== null && first.length > this.slice_bytes) waiting[0] = first.subarray(this.slice_bytes)
    else waiting.shift()
    this.push(first?.subarray(0, this.slice_bytes) ?? null)
    this.schedule()
  }

  private schedule(): void {
    if (this.isScheduled || this.isHeld || this.waiting.length === 0) return
    this.isScheduled = true
    ready.push(this)
    if (!isTurning) setImmediate(turn)
    isTurning = true
  }
}

/** The inlets that have a slice to pass on, of all servers, in the order of their turns. */
const ready: Array<Inlet> = []
let isTurning = false

const turn = (): void => {
  try {
    for (let remaining = slicesPerTurn; remaining > 0; remaining--) ready.shift()?.passOn()
  } finally {
    isTurning = ready.length > 0
    if (isTurning) setImmediate(turn)
  }
}

const inlets = new WeakMap<Socket, Inlet>()
const watches = new WeakMap<Socket, Watch>()

const ignore = (): void => {}
