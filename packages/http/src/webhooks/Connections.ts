import type { Socket } from "node:net"
import { Client } from "undici"
import type { Dial } from "./Dial.ts"

/** The target of a connection. */
export interface Target {
  readonly origin: string
  /** A checked address of the host. */
  readonly address: string
  /** Whether the connection must be new. */
  readonly fresh: boolean
}

/** A connection to one address of a host, for one POST at a time. */
export interface Connection {
  readonly client: Client
  readonly address: string
  readonly pool: OriginPool
  readonly statusLine: StatusLine
  /** Whether it has already carried an answer. */
  isUsed: boolean
  isBusy: boolean
  /**
   * Whether its origin was hanging when the connection was given out. Restricted connections share half of the total.
   */
  isRestricted: boolean
  socket: Socket | null
}

/** The connections of one origin. */
interface OriginPool {
  readonly origin: string
  busy: number
  /** Idle connections, the longest idle first. */
  readonly idle: Array<Connection>
  readonly waiting: Set<Waiter>
}

interface Waiter {
  readonly target: Target
  readonly use: (connection: Connection) => void
}

/** The state in which a POST leaves its connection: reusable, broken, or waiting for an answer until the deadline. */
export type ConnectionState = "reusable" | "broken" | "hung"

/** How many connections are kept open, and for how long. */
export interface Bounds {
  readonly per_host: number
  readonly total: number
  /** How long an idle connection is kept, in milliseconds, unless the endpoint asks for less time. */
  readonly idle_ms: number
}

/**
 * A bounded pool of keep-alive connections. When all are in use, requests wait: first come, first served within a host,
 * and round-robin across hosts.
 *
 * A connection belongs to an origin and to a checked address. If a name moves to a different address, its old
 * connections are not reused.
 */
export class Connections {
  private readonly bounds: Bounds
  private readonly dial: Dial
  private readonly pools = new Map<string, OriginPool>()
  /** Pools that have a waiting request and room for another connection. */
  private readonly ready = new Set<OriginPool>()
  private readonly open = new Set<Connection>()
  /** The longest idle first. */
  private readonly idle = new Set<Connection>()
  /**
   * Origins whose latest POST hung. Together they may use half of the connections, so that other origins can always get
   * one.
   */
  private readonly hanging = new Set<string>()
  private restricted = 0
  /** Pools with requests that wait for a connection from the half for hanging origins. */
  private readonly waitingRestricted = new Set<OriginPool>()
  private isClosed = false

  constructor(bounds: Bounds, dial: Dial) {
    this.bounds = bounds
    this.dial = dial
  }

  /** The number of connections, busy and idle. */
  get size(): number {
    return this.open.size
  }

  /** Gives out a connection, now or later. The returned function cancels the request. */
  take(target: Target, use: (connection: Connection) => void): () => void {
    const pool = this.poolOf(target.origin)
    const waiter: Waiter = { target, use }
    pool.waiting.add(waiter)
    this.serve(pool)
    return () => {
      if (pool.waiting.delete(waiter)) this.tidy(pool)
    }
  }

  /** Returns a connection to the pool. One that is not reusable is closed. */
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

  /** Closes every connection and aborts its request. */
  close(): void {
    this.isClosed = true
    for (const connection of this.open) this.drop(connection)
  }

  private poolOf(origin: string): OriginPool {
    const known = this.pools.get(origin)
    if (known !== undefined) return known
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

  /** Serves waiting requests after a change to a pool. */
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
      // If the pool has more requests, it goes to the end of the queue.
      this.updateReady(pool)
      waiter.use(connection)
    }
  }

  private updateReady(pool: OriginPool): void {
    if (pool.waiting.size > 0 && pool.busy < this.bounds.per_host) this.ready.add(pool)
  }

  /** The most recently used idle connection, because it is the most likely to be alive. */
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
      // The POST has its own deadline.
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
    // A client that is still connecting does not know its socket yet.
    socket?.destroy()
    this.tidy(pool)
  }

  private tidy(pool: OriginPool): void {
    if (pool.busy === 0 && pool.idle.length === 0 && pool.waiting.size === 0) this.pools.delete(pool.origin)
  }
}

/** The largest number of hanging origins to track. */
const maxHanging = 10_000

/** The largest size of an answer's headers, in bytes. Larger ones break the connection. */
const maxHeaderBytes = 16 * 1_024

/** The maximum number of bytes that are read for one answer, including those outside headers and body. */
const maxWireBytes = 256 * 1_024

/** How many characters are needed to read the status of an answer: `HTTP/1.1 200` and one more. */
const beginning = 13

/**
 * Reads the status of an answer from the raw bytes.
 *
 * undici reports no status if it cannot use the answer: an unrequested upgrade, or headers that are too large or
 * malformed. But the status was received, and the endpoint's owner looks for it in the log.
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

  /** Forgets the previous answer. Calls `onFlood` if the next one is too long. */
  begin(onFlood: () => void): void {
    this.text = ""
    this.received_bytes = 0
    this.onFlood = onFlood
  }

  private hear(chunk: Buffer): void {
    if (this.text.length < beginning) this.text += chunk.toString("latin1", 0, beginning - this.text.length)
    this.received_bytes += chunk.length
    // Deferred until the parser has run, so that its own error about these bytes comes first.
    if (this.received_bytes > maxWireBytes) setImmediate(this.onFlood)
  }

  /** Whether any byte of an answer has arrived. */
  get hasBegun(): boolean {
    return this.text !== ""
  }

  /** The status at the beginning of the answer; null if there is none, or if it is an interim status. */
  get status(): number | null {
    const status = Number(/^HTTP\/1\.[01] ([1-5][0-9]{2})[ \r\n]/.exec(this.text)?.[1] ?? Number.NaN)
    return status === 101 || status >= 200 ? status : null
  }
}
