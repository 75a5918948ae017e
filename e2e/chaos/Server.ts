import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type Direction, Wire } from "../../packages/storage-pg/test/support/Wire.ts"
import { PostgresServer } from "../../test/support/PostgresServer.ts"
import { statements } from "../../test/support/TestDatabase.ts"
import { Disk } from "./Disk.ts"
import { after } from "./Hosts.ts"
import { Lock } from "./Lock.ts"

/** The parties that each reach a server over a separate link. */
export const viewers = ["host-1", "host-2", "consumers", "commands"] as const
export type Viewer = (typeof viewers)[number]

/** How long a server may take to recover, or a copy to catch up, in milliseconds. */
const backWithinMs = 90_000

interface ServerOptions {
  readonly durable: boolean
  readonly settings?: Readonly<Record<string, string>>
}

/** A PostgreSQL server that a service reaches over links that can be cut or frozen. A standby can replace it. */
export class Server {
  /** Held by the fault that affects the server as a whole. */
  readonly lock = new Lock()
  /** Held by the fault that affects its links. */
  readonly links = new Lock()
  private postgres: PostgresServer
  private disk: Disk
  private readonly wires: ReadonlyMap<Viewer, Wire>

  private constructor(postgres: PostgresServer, disk: Disk, wires: ReadonlyMap<Viewer, Wire>) {
    this.postgres = postgres
    this.disk = disk
    this.wires = wires
  }

  static async start({ durable, settings = {} }: ServerOptions): Promise<Server> {
    const disk = Disk.make()
    const postgres = await PostgresServer.start({ durable, settings, folder: disk.home })
    const wires = new Map<Viewer, Wire>()
    for (const viewer of viewers) wires.set(viewer, await Wire.to(postgres.port))
    return new Server(postgres, disk, wires)
  }

  get port(): number {
    return this.postgres.port
  }

  get canFill(): boolean {
    return this.disk.canFill
  }

  /** The direct address of a database. */
  url(database: string): string {
    return this.postgres.url(database)
  }

  /** The address of a database over a viewer's link. */
  urlFor(viewer: Viewer, database: string): string {
    const address = new URL(this.postgres.url(database))
    address.port = `${this.wire(viewer).port}`
    return address.href
  }

  wire(viewer: Viewer): Wire {
    const wire = this.wires.get(viewer)
    if (wire === undefined) throw new Error(`${viewer} has no link`)
    return wire
  }

  /** Freezes a link for some time. Afterwards the delayed bytes arrive, or their connections stay dead. */
  async freeze(viewer: Viewer, direction: Direction, ms: number): Promise<void> {
    const wire = this.wire(viewer)
    wire.freeze(direction)
    await after(ms)
    wire.thaw()
  }

  stop(mode: "fast" | "immediate"): Promise<unknown> {
    return this.postgres.stop(mode)
  }

  startAgain(): Promise<void> {
    return this.postgres.startAgain()
  }

  /** Kills the parent process of the server; its other processes notice and end. */
  killPostmaster(): void {
    process.kill(this.postmaster(), "SIGKILL")
  }

  /** Fills its disk for some time. */
  async fill(ms: number): Promise<void> {
    this.disk.fill()
    await after(ms)
    this.disk.free()
  }

  /** Starts it if it is not running, and resolves when it accepts writes. */
  async recover(): Promise<void> {
    const endsAt = Date.now() + backWithinMs
    while (true) {
      try {
        if (!this.runs()) await this.startAgain()
        await statements(this.url("postgres"), "create temporary table here (x int)")
        return
      } catch (error) {
        if (Date.now() > endsAt) throw new Error("A server does not come back", { cause: error })
        await after(200)
      }
    }
  }

  /** Starts a copy that follows it through a wire. Stops it to make the copy. */
  async copy(wire: Wire): Promise<{ readonly postgres: PostgresServer; readonly disk: Disk }> {
    const disk = Disk.make()
    return { postgres: await this.postgres.startStandby(disk.home, wire.port), disk }
  }

  /** Replaces a stopped server: all links lead to the other one from now on. */
  async replaceBy({ disk, postgres }: { readonly postgres: PostgresServer; readonly disk: Disk }): Promise<void> {
    const old = { postgres: this.postgres, disk: this.disk }
    this.postgres = postgres
    this.disk = disk
    for (const wire of this.wires.values()) wire.lead(postgres.port)
    await old.postgres.remove()
    old.disk.remove()
  }

  async remove(): Promise<void> {
    for (const wire of this.wires.values()) wire.close()
    await this.postgres.remove()
    this.disk.remove()
  }

  private postmaster(): number {
    return Number(readFileSync(join(this.postgres.folder, "data/postmaster.pid"), "utf8").split("\n")[0])
  }

  private runs(): boolean {
    try {
      process.kill(this.postmaster(), 0)
      return true
    } catch {
      return false
    }
  }
}
