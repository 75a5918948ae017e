import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { PostgresServer } from "../../test/support/PostgresServer.ts"
import { statements } from "../../test/support/TestDatabase.ts"

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

/** The cells of a service: the file that hosts and commands read, and the databases that it names. */
export class CellPlaces {
  readonly names: ReadonlyArray<string>
  /** The file of cells. */
  readonly file: string
  private readonly folder = mkdtempSync(join(tmpdir(), "quotewire-cells-"))
  private readonly servers: ReadonlyArray<PostgresServer>
  private readonly cells: ReadonlyArray<Cell>
  private databases = 0

  private constructor(servers: ReadonlyArray<PostgresServer>, count: number) {
    this.servers = servers
    this.file = join(this.folder, "cells.json")
    this.cells = Array.from({ length: count }, (_, place) => ({
      name: `cell-${place + 1}`,
      at: this.newPlace(place % servers.length),
      moves_to: null
    }))
    this.names = this.cells.map(({ name }) => name)
  }

  /** Makes as many empty databases, on the servers in turn, and the file. */
  static async make(servers: ReadonlyArray<PostgresServer>, count: number): Promise<CellPlaces> {
    const places = new CellPlaces(servers, count)
    for (const { at } of places.cells) await places.createDatabase(at)
    places.write()
    return places
  }

  /** The servers that calls for a cell need: its own, and those of the first cell. Two for a cell that moves. */
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

  /** Writes one address again: the second one if the cell has moved. Answers how to drop the other, which nobody needs. */
  endMove(name: string, outcome: "moved" | "undone"): () => Promise<void> {
    const cell = this.cell(name)
    const { at, moves_to } = cell
    if (moves_to === null) throw new Error(`${name} does not move`)
    if (outcome === "moved") cell.at = moves_to
    cell.moves_to = null
    this.write()
    const { database, server } = outcome === "moved" ? at : moves_to
    return async () => {
      await statements(this.url({ server, database: "postgres" }), `drop database ${database} with (force)`)
    }
  }

  /** The server on which a cell is. */
  serverOf(name: string): number {
    return this.cell(name).at.server
  }

  /** The cell in which a record is. */
  async find(id: string): Promise<string> {
    for (const { at, name } of this.cells) {
      const rows = await statements(this.url(at), `select from quotewire.record where id = '${id}'`)
      if (rows.length > 0) return name
    }
    throw new Error(`${id} is in no cell`)
  }

  /** What moves have left on the servers: slots, subscriptions, publications and databases that no cell uses. */
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

  private url({ server, database }: Place): string {
    const on = this.servers[server]
    if (on === undefined) throw new Error(`There is no server ${server}`)
    return on.url(database)
  }

  private async createDatabase({ server, database }: Place): Promise<void> {
    await statements(this.url({ server, database: "postgres" }), `create database ${database}`)
  }

  private write(): void {
    const entries = this.cells.map(({ at, moves_to, name }) => ({
      name,
      url: this.url(at),
      ...(moves_to !== null && { moves_to: this.url(moves_to) })
    }))
    writeFileSync(this.file, JSON.stringify(entries))
    chmodSync(this.file, 0o600)
  }
}
