import { Cores } from "./Cores.ts"
import * as F from "./Fleet.ts"

/** A quote request. */
export interface Request {
  readonly began_at: number
  answers: number
}

/** A change that waits to be stored: a start, the choice of carriers, or the answer of one. */
export interface Waiting {
  readonly request: Request
  readonly step: "start" | "choice" | "answer"
}

/** A job that is due. */
export interface Due {
  readonly at: number
  readonly request: Request
  readonly step: "choice" | "ask"
}

/** A job that a host has claimed. */
export interface Claimed extends Due {
  readonly pair: Pair
}

/** What one host does with one cell. */
export interface Pair {
  readonly host: Host
  readonly cell: Cell
  readonly waiting: Array<Waiting>
  isWriting: boolean
  announced_at: number
  isAnnouncing: boolean
  /** Whether the host has heard that the cell may have work. */
  isHinted: boolean
  asked_at: number
  /** What the host has to add to shared counts. */
  counts: number
}

export interface Cell {
  readonly server: Cores
  readonly due: Array<Due>
  readonly pairs: Array<Pair>
}

export interface Host {
  readonly cores: Cores
  readonly pairs: Array<Pair>
  isClaiming: boolean
  /** The pair that the next round of claims begins with. */
  first: number
}

/** The servers, cells and hosts of a fleet, idle. */
export interface World {
  readonly servers: ReadonlyArray<Cores>
  readonly hosts: ReadonlyArray<Host>
}

/** Builds a fleet. `random` spreads the times at which hosts ask idle cells for work. */
export const make = (fleet: F.Fleet, random: () => number): World => {
  const servers = Array.from({ length: fleet.servers }, () => new Cores(fleet.cores_per_server))
  const cells = servers.flatMap((server, index): ReadonlyArray<Cell> => {
    const count = Math.floor((fleet.cells + fleet.servers - 1 - index) / fleet.servers)
    return Array.from({ length: count }, () => ({ server, due: [], pairs: [] }))
  })
  const groups = fleet.cells / fleet.cells_per_host
  const hosts = Array.from({ length: fleet.hosts }, (_, index): Host => {
    const host: Host = { cores: new Cores(1), pairs: [], isClaiming: false, first: 0 }
    const from = (index % groups) * fleet.cells_per_host
    for (const cell of cells.slice(from, from + fleet.cells_per_host)) {
      const pair: Pair = {
        host,
        cell,
        waiting: [],
        isWriting: false,
        announced_at: -F.announce_every_us,
        isAnnouncing: false,
        isHinted: false,
        asked_at: -random() * F.look_again_us,
        counts: 0
      }
      host.pairs.push(pair)
      cell.pairs.push(pair)
    }
    return host
  })
  return { servers, hosts }
}
