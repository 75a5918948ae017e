import type { Socket } from "node:net"
import { Client } from "undici"
import type { Dial } from "./Dial.ts"

/** Where a connection must lead. */
export interface Target {
  readonly origin: string
  /** One of the host's addresses, already checked. */
  readonly address: string
  /** Whether the connection must be new instead of reused. */
  readonly fresh: boolean
}

/** A connection to one address of a host, for one POST at a time. */
export interface Connection {
  readonly client: Client
  readonly address: string
  readonly pool: OriginPool
  readonly statusLine: StatusLine
  /** Whether the connection has already carried a response. */
  isUsed: boolean
  isBusy: boolean
  /**
   * Whether the connection was given out while its origin was hanging: the origin's latest POST got no response in
   * time. Restricted connections may use at most half of the total.
   */
  isRestricted: boolean
  socket: Socket | null
}

/** The connections of one origin. */
interface OriginPool {
  readonly origin: string
  busy: number
  /** Idle connections; the longest idle comes first. */
  readonly idle: Array<Connection>
  readonly waiting: Set<Waiter>
}

interface Waiter {
  readonly target: Target
  readonly onConnection: (connection: Connection) => void
}

/** The state of a connection after a POST: reusable, broken, or without a response at the deadline. */
export type ConnectionState = "reusable" | "broken" | "hung"

/** How many connections are kept open, and for how long. */
export interface Bounds {
  readonly per_host: number
  readonly total: number
  /** How long an idle connection is kept, in milliseconds. An endpoint can ask for a shorter time. */
  readonly idle_ms: number
}

/**
 * A bounded pool of keep-alive connections. When all connections are in use, requests wait: first come, first served
 * for one origin, and round-robin across origins.
 *
 * A connection belongs to an origin and to a checked address. If a host name changes its address, connections to the
 * old address are not reused.
 */
export class ConnectionPool {
  private readonly bounds: Bounds
  private readonly dial: Dial
  private readonly pools = new Map<string, OriginPool>()
  /** The pools that have a waiting request and may open another connection. */
  private readonly ready = new Set<OriginPool>()
  private readonly open = new Set<Connection>()
  /** The idle connections of all pools; the longest idle comes first. */
  private readonly idle = new Set<Connection>()
  /**
   * The origins whose latest POST got no response until the deadline. Together they may use half of the connections, so
   * that the other origins can always get a connection.
   */
  private readonly hanging = new Set<string>()
  private restricted = 0
  /** The pools whose requests wait for a connection from the half that hanging origins may use. */
  private readonly waitingRestricted = new Set<OriginPool>()
  private isClosed = false

  constructor(bounds: Bounds, dial: Dial) {
    this.bounds = bounds
    this.dial = dial
  }

  /** The number of open connections, busy or idle. */
  get size(): number {
    return this.open.size
  }

  /** Passes a connection to `onConnection`, now or later. Call the returned function to stop waiting. */
  take(target: Target, onConnection: (connection: Connection) => void): () => void {
    const pool = this.poolOf(target.origin)
    const waiter: Waiter = { target, onConnection }
    pool.waiting.add(waiter)
    this.serve(pool)
    return () => {
      if (pool.waiting.delete(waiter)) this.tidy(pool)
    }
  }

  /** Returns a connection to the pool. Closes it unless it is reusable. */
  release(connection: Connection, state: ConnectionState): void {
    const { pool } = connection
    pool.busy--
    connection.isBusy = false
    if (connection.isRestricted) this.endRestricted()
    this.learn(pool.origin, state)
    if (state === "reusable" && !this.isClosed && !connection.client.destroyed) {
      connection.isUsed = true
      pool.idle.push(connection)
      this.idle.add(connection)
    } else {
      this.drop(connection)
    }
    this.serve(pool)
    this.tidy(pool)
  }

  /** Closes every connection, and so aborts every running POST. */
  close(): void {
    this.isClosed = true
    for (const connection of this.open) this.drop(connection)
  }

  private poolOf(origin: string): OriginPool {
    const existing = this.pools.get(origin)
    if (existing !== undefined) return existing
    const pool: OriginPool = { origin, busy: 0, idle: [], waiting: new Set() }
    this.pools.set(origin, pool)
    return pool
  }

  private endRestricted(): void {
    this.restricted--
    for (const pool of this.waitingRestricted) this.updateReady(pool)
    this.waitingRestricted.clear()
  }

  private learn(origin: string, state: ConnectionState): void {
    this.hanging.delete(origin)
    if (state !== "hung") return
    const [oldest] = this.hanging.size < maxHanging ? [] : this.hanging
    if (oldest !== undefined) this.hanging.delete(oldest)
    this.hanging.add(origin)
  }

  /** Gives connections to waiting requests after a pool has changed. */
  private serve(changed: OriginPool): void {
    this.updateReady(changed)
    for (const pool of this.ready) {
      if (this.isClosed || this.open.size - this.idle.size >= this.bounds.total) return
      const isRestricted = this.hanging.has(pool.origin)
      this.ready.delete(pool)
      if (isRestricted && this.restricted >= this.bounds.total / 2) {
        this.waitingRestricted.add(pool)
        continue
      }
      const [waiter] = pool.waiting
      if (waiter === undefined) continue
      pool.waiting.delete(waiter)
      pool.busy++
      const connection = this.find(pool, waiter.target) ?? this.make(pool, waiter.target)
      connection.isBusy = true
      connection.isRestricted = isRestricted
      if (isRestricted) this.restricted++
      // If the pool has more waiting requests, it moves to the end of the queue.
      this.updateReady(pool)
      waiter.onConnection(connection)
    }
  }

  private updateReady(pool: OriginPool): void {
    if (pool.waiting.size > 0 && pool.busy < this.bounds.per_host) this.ready.add(pool)
  }

  /** Finds the most recently used idle connection, because it is the most likely to be alive. */
  private find(pool: OriginPool, target: Target): Connection | null {
    const at = target.fresh ? -1 : pool.idle.findLastIndex(({ address }) => address === target.address)
    const [connection] = at === -1 ? [] : pool.idle.splice(at, 1)
    if (connection === undefined) return null
    this.idle.delete(connection)
    return connection
  }

  private make(pool: OriginPool, { origin, address }: Target): Connection {
    const [oldest] = pool.idle
    if (oldest !== undefined && pool.busy + pool.idle.length > this.bounds.per_host) this.drop(oldest)
    const [longest] = this.idle
    if (longest !== undefined && this.open.size >= this.bounds.total) this.drop(longest)
    const statusLine = new StatusLine()
    const opened = (socket: Socket) => {
      connection.socket = socket
    }
    const client = new Client(origin, {
      connect: this.dial(address, opened, (socket) => statusLine.listen(socket)),
      allowH2: false,
      pipelining: 1,
      maxHeaderSize: maxHeaderBytes,
      keepAliveTimeout: this.bounds.idle_ms,
      keepAliveMaxTimeout: this.bounds.idle_ms,
      // Turns off undici's timeouts, because each POST has its own deadline.
      headersTimeout: 0,
      bodyTimeout: 0
    })
    const connection: Connection = {
      client,
      address,
      pool,
      statusLine,
      isUsed: false,
      isBusy: false,
      isRestricted: false,
      socket: null
    }
    client.on("disconnect", () => {
      if (!connection.isBusy) this.drop(connection)
    })
    this.open.add(connection)
    return connection
  }

  private drop(connection: Connection): void {
    const { client, pool, socket } = connection
    if (!this.open.delete(connection)) return
    this.idle.delete(connection)
    const at = pool.idle.indexOf(connection)
    if (at !== -1) pool.idle.splice(at, 1)
    void client.destroy()
    // While the client is still connecting, it does not know its socket, so destroy the socket here.
    socket?.destroy()
    this.tidy(pool)
  }

  private tidy(pool: OriginPool): void {
    if (pool.busy === 0 && pool.idle.length === 0 && pool.waiting.size === 0) this.pools.delete(pool.origin)
  }
}

/** The maximum number of hanging origins to track. */
const maxHanging = 10_000

/** The maximum size of a response's headers, in bytes. Larger headers break the connection. */
const maxHeaderBytes = 16 * 1_024

/** The maximum number of bytes that are read for one response, including bytes outside headers and body. */
const maxWireBytes = 256 * 1_024

/** How many characters are needed to read a response's status: `HTTP/1.1 200` and the character after it. */
const beginning = 13

/**
 * Reads the status of a response from its raw bytes.
 *
 * undici reports no status if it cannot use the response, for example because of an unrequested upgrade, or headers
 * that are too large or malformed. The endpoint's owner still expects to find the received status in the log.
 */
export class StatusLine {
  private text = ""
  private received_bytes = 0
  private onFlood: () => void = () => {}

  /** Starts reading the bytes of a connected socket. */
  listen(socket: Socket): void {
    const read = socket.read.bind(socket)
    socket.read = (size) => {
      const chunk = read(size)
      if (Buffer.isBuffer(chunk)) this.hear(chunk)
      return chunk
    }
  }

  /** Forgets the previous response. Calls `onFlood` if the next response is too long. */
  begin(onFlood: () => void): void {
    this.text = ""
    this.received_bytes = 0
    this.onFlood = onFlood
  }

  private hear(chunk: Buffer): void {
    if (this.text.length < beginning) this.text += chunk.toString("latin1", 0, beginning - this.text.length)
    this.received_bytes += chunk.length
    // Runs after undici's parser, so that the parser's own error about these bytes comes first.
    if (this.received_bytes > maxWireBytes) setImmediate(this.onFlood)
  }

  /** Whether any byte of a response has arrived. */
  get hasBegun(): boolean {
    return this.text !== ""
  }

  /** The status of the response; null if none has arrived, or if it is interim (1xx other than 101). */
  get status(): number | null {
    const status = Number(/^HTTP\/1\.[01] ([1-5][0-9]{2})[ \r\n]/.exec(this.text)?.[1] ?? Number.NaN)
    return status === 101 || status >= 200 ? status : null
  }
}
