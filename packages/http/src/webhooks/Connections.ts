import type { Socket } from "node:net"
import { Client } from "undici"
import type { Dial } from "./Dial.ts"
import { StatusLine } from "./StatusLine.ts"

/** The destination of a connection. */
export interface Place {
  readonly origin: string
  /** An address of the host that was checked. */
  readonly address: string
  /** Whether the connection must be new. */
  readonly fresh: boolean
}

/** A connection to one address of a host, for one POST at a time. */
export interface Connection {
  readonly client: Client
  readonly address: string
  readonly peer: Peer
  readonly statusLine: StatusLine
  /** Whether it has carried an answer. */
  isUsed: boolean
  isBusy: boolean
  /** Whether it was given out while its origin was known to hang. */
  isTrial: boolean
  socket: Socket | null
}

/** The connections of one origin. */
interface Peer {
  readonly origin: string
  busy: number
  /** Idle connections, longest idle first. */
  readonly idle: Array<Connection>
  readonly waiting: Set<Waiter>
}

interface Waiter {
  readonly place: Place
  readonly use: (connection: Connection) => void
}

/** The state in which a POST leaves its connection: reusable, broken, or waiting for an answer until the deadline. */
export type Left = "sound" | "broken" | "hung"

/** The limits of connections. */
export interface Bounds {
  readonly per_host: number
  readonly total: number
  /** How long an idle connection is kept, in milliseconds, unless the endpoint asks for less. */
  readonly idle_ms: number
}

/**
 * A bounded pool of keep-alive connections. When all are in use, requests wait: first come first served within a host, and
 * host by host.
 *
 * A connection belongs to an origin and to a checked address. If a name moves to another address, its old ones are not used.
 */
export class Connections {
  private readonly bounds: Bounds
  private readonly dial: Dial
  private readonly peers = new Map<string, Peer>()
  /** Peers that have a waiting request and room for another connection. */
  private readonly ready = new Set<Peer>()
  private readonly open = new Set<Connection>()
  /** Longest idle first. */
  private readonly idle = new Set<Connection>()
  /** Origins whose newest POST has hung. They share half of the connections, so that others always find one. */
  private readonly hanging = new Set<string>()
  private trials = 0
  /** Peers that wait for a connection of that half. */
  private readonly held = new Set<Peer>()
  private isClosed = false

  constructor(bounds: Bounds, dial: Dial) {
    this.bounds = bounds
    this.dial = dial
  }

  /** How many connections there are, busy and idle. */
  get size(): number {
    return this.open.size
  }

  /** Gives out a connection, now or later. The returned function cancels the request. */
  take(place: Place, use: (connection: Connection) => void): () => void {
    const peer = this.peerOf(place.origin)
    const waiter: Waiter = { place, use }
    peer.waiting.add(waiter)
    this.serve(peer)
    return () => {
      if (peer.waiting.delete(waiter)) this.tidy(peer)
    }
  }

  /** Returns a connection to the pool. One that is not sound is closed. */
  giveBack(connection: Connection, left: Left): void {
    const { peer } = connection
    peer.busy--
    connection.isBusy = false
    if (connection.isTrial) this.endTrial()
    this.learn(peer.origin, left)
    if (left === "sound" && !this.isClosed && !connection.client.destroyed) {
      connection.isUsed = true
      peer.idle.push(connection)
      this.idle.add(connection)
    } else {
      this.drop(connection)
    }
    this.serve(peer)
    this.tidy(peer)
  }

  /** Closes every connection, and aborts what runs on it. */
  close(): void {
    this.isClosed = true
    for (const connection of this.open) this.drop(connection)
  }

  private peerOf(origin: string): Peer {
    const known = this.peers.get(origin)
    if (known !== undefined) return known
    const peer: Peer = { origin, busy: 0, idle: [], waiting: new Set() }
    this.peers.set(origin, peer)
    return peer
  }

  private endTrial(): void {
    this.trials--
    for (const peer of this.held) this.note(peer)
    this.held.clear()
  }

  private learn(origin: string, left: Left): void {
    this.hanging.delete(origin)
    if (left !== "hung") return
    const [oldest] = this.hanging.size < max_hanging ? [] : this.hanging
    if (oldest !== undefined) this.hanging.delete(oldest)
    this.hanging.add(origin)
  }

  /** Serves waiting requests after something has changed for a peer. */
  private serve(changed: Peer): void {
    this.note(changed)
    for (const peer of this.ready) {
      if (this.isClosed || this.open.size - this.idle.size >= this.bounds.total) return
      const isTrial = this.hanging.has(peer.origin)
      this.ready.delete(peer)
      if (isTrial && this.trials >= this.bounds.total / 2) {
        this.held.add(peer)
        continue
      }
      const [waiter] = peer.waiting
      if (waiter === undefined) continue
      peer.waiting.delete(waiter)
      peer.busy++
      const connection = this.find(peer, waiter.place) ?? this.make(peer, waiter.place)
      connection.isBusy = true
      connection.isTrial = isTrial
      if (isTrial) this.trials++
      // If the peer has more requests, it goes to the end of the round.
      this.note(peer)
      waiter.use(connection)
    }
  }

  private note(peer: Peer): void {
    if (peer.waiting.size > 0 && peer.busy < this.bounds.per_host) this.ready.add(peer)
  }

  /** The idle connection that was used last, because it is the most likely to be alive. */
  private find(peer: Peer, place: Place): Connection | null {
    const at = place.fresh ? -1 : peer.idle.findLastIndex(({ address }) => address === place.address)
    const [connection] = at === -1 ? [] : peer.idle.splice(at, 1)
    if (connection === undefined) return null
    this.idle.delete(connection)
    return connection
  }

  private make(peer: Peer, { origin, address }: Place): Connection {
    const [oldest] = peer.idle
    if (oldest !== undefined && peer.busy + peer.idle.length > this.bounds.per_host) this.drop(oldest)
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
      maxHeaderSize: max_header_bytes,
      keepAliveTimeout: this.bounds.idle_ms,
      keepAliveMaxTimeout: this.bounds.idle_ms,
      // The POST has its own deadline.
      headersTimeout: 0,
      bodyTimeout: 0
    })
    const connection: Connection = {
      client,
      address,
      peer,
      statusLine,
      isUsed: false,
      isBusy: false,
      isTrial: false,
      socket: null
    }
    client.on("disconnect", () => {
      if (!connection.isBusy) this.drop(connection)
    })
    this.open.add(connection)
    return connection
  }

  private drop(connection: Connection): void {
    const { client, peer, socket } = connection
    if (!this.open.delete(connection)) return
    this.idle.delete(connection)
    const at = peer.idle.indexOf(connection)
    if (at !== -1) peer.idle.splice(at, 1)
    void client.destroy()
    // A client that is still connecting does not know its socket.
    socket?.destroy()
    this.tidy(peer)
  }

  private tidy(peer: Peer): void {
    if (peer.busy === 0 && peer.idle.length === 0 && peer.waiting.size === 0) this.peers.delete(peer.origin)
  }
}

/** How many hanging origins are remembered. */
const max_hanging = 10_000

/** The largest headers of an answer. Larger ones break the connection. */
const max_header_bytes = 16 * 1_024
