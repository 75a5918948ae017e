import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { statements } from "../../test/support/TestDatabase.ts"
import { type Server, type Viewer, viewers } from "./Server.ts"

/** A database on one of the servers. */
interface Place {
  readonly server: number
  readonly database: string
}

interface Cell {
  readonly name: string
  at: Place
  moves_to: Place | null
}

/** A service's cells: the files that hosts and commands read, and the databases that these files name. */
export class CellPlaces {
  readonly names: ReadonlyArray<string>
  private readonly folder = mkdtempSync(join(tmpdir(), "quotewire-cells-"))
  private readonly servers: ReadonlyArray<Server>
  private readonly cells: ReadonlyArray<Cell>
  private databases = 0

  private constructor(servers: ReadonlyArray<Server>, count: number) {
    this.servers = servers
    this.cells = Array.from({ length: count }, (_, place) => ({
      name: `cell-${place + 1}`,
      at: this.newPlace(place % servers.length),
      moves_to: null
    }))
    this.names = this.cells.map(({ name }) => name)
  }

  /** The cells file for one viewer. */
  file(viewer: Viewer): string {
    return join(this.folder, `${viewer}.json`)
  }

  /** Creates this many empty databases, distributed over the servers, and the file. */
  static async make(servers: ReadonlyArray<Server>, count: number): Promise<CellPlaces> {
    const places = new CellPlaces(servers, count)
    for (const { at } of places.cells) await places.createDatabase(at)
    places.write()
    return places
  }

  /** The servers that calls for a cell need: the cell's own (two while it moves), and the first cell's. */
  serversFor(name: string): ReadonlyArray<number> {
    const needed = this.cells.filter((cell, place) => place === 0 || cell.name === name)
    return needed.flatMap(({ at, moves_to }) => (moves_to === null ? [at.server] : [at.server, moves_to.server]))
  }

  /** Gives a cell a second address, an empty database on a server. */
  async beginMove(name: string, server: number): Promise<void> {
    const cell = this.cell(name)
    cell.moves_to = this.newPlace(server)
    await this.createDatabase(cell.moves_to)
    this.write()
  }

  /**
   * Writes a single address again: the second one if the cell has moved. Returns a function that drops the other,
   * unused database.
   */
  endMove(name: string, outcome: "moved" | "undone"): () => Promise<void> {
    const cell = this.cell(name)
    const { at, moves_to } = cell
    if (moves_to === null) throw new Error(`${name} does not move`)
    if (outcome === "moved") cell.at = moves_to
    cell.moves_to = null
    this.write()
    const { database, server } = outcome === "moved" ? at : moves_to
    return async () => {
      await this.on(server, `drop database ${database} with (force)`)
    }
  }

  /** The server that holds a cell. */
  serverOf(name: string): number {
    return this.cell(name).at.server
  }

  /** The cell that holds a record. */
  async find(id: string): Promise<string> {
    for (const { at, name } of this.cells) {
      const rows = await statements(this.url(at), `select from quotewire.record where id = '${id}'`)
      if (rows.length > 0) return name
    }
    throw new Error(`${id} is in no cell`)
  }

  /** What moves left behind on the servers: slots, subscriptions, publications and databases that no cell uses. */
  async leftBehind(): Promise<ReadonlyArray<string>> {
    const rows: Array<Record<string, unknown>> = []
    for (const server of this.servers.keys()) {
      const used = this.cells.flatMap(({ at }) => (at.server === server ? [`'${at.database}'`] : []))
      const unused = `datname like 'place_%' and not datname = any(array[${used.join()}]::text[])`
      const found = `select slot_name::text as name from pg_replication_slots union all select subname from pg_subscription
        union all select datname from pg_database where ${unused}`
      rows.push(...(await statements(this.url({ server, database: "postgres" }), found)))
    }
    for (const { at } of this.cells)
      rows.push(...(await statements(this.url(at), "select pubname as name from pg_publication")))
    return rows.map(({ name }) => String(name))
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  private cell(name: string): Cell {
    const cell = this.cells.find((one) => one.name === name)
    if (cell === undefined) throw new Error(`${name} is no cell`)
    return cell
  }

  private newPlace(server: number): Place {
    return { server, database: `place_${++this.databases}` }
  }

  private url({ server, database }: Place, viewer: Viewer | null = null): string {
    const on = this.servers[server]
    if (on === undefined) throw new Error(`There is no server ${server}`)
    return viewer === null ? on.url(database) : on.urlFor(viewer, database)
  }

  private async createDatabase({ server, database }: Place): Promise<void> {
    await this.on(server, `create database ${database}`)
  }

  /** Runs a statement once no fault affects the server. */
  private on(server: number, statement: string): Promise<unknown> | undefined {
    return this.servers[server]?.lock.alone(() => statements(this.url({ server, database: "postgres" }), statement))
  }

  private write(): void {
    for (const viewer of viewers) {
      const entries = this.cells.map(({ at, moves_to, name }) => ({
        name,
        url: this.url(at, viewer),
        ...(moves_to !== null && { moves_to: this.url(moves_to, viewer) })
      }))
      writeFileSync(this.file(viewer), JSON.stringify(entries))
      chmodSync(this.file(viewer), 0o600)
    }
  }
}
