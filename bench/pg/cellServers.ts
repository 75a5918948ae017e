import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { PgCells } from "@quotewire/storage-pg"
import { Effect, Redacted } from "effect"
import { PostgresServer } from "../../test/support/PostgresServer.ts"
import { statements } from "../../test/support/TestDatabase.ts"

/** PostgreSQL servers with cells on them. */
export interface CellServers {
  readonly servers: ReadonlyArray<PostgresServer>
  readonly cells: PgCells.AllCells
}

const settings = { max_connections: "1000", shared_buffers: "256MB", checkpoint_timeout: "1h", max_wal_size: "4GB" }

/** Starts servers with `count` cells, spread over them evenly, runs the work, and removes the servers. */
export const using = async <A>(
  servers: number,
  count: number,
  work: (all: CellServers) => Promise<A>,
  durable = true
): Promise<A> => {
  const all = await Promise.all(Array.from({ length: servers }, () => PostgresServer.start({ durable, settings })))
  try {
    for (const server of all) await statements(server.url("postgres"), "create database cells")
    const cellOf = (place: number): PgCells.CellOptions => ({
      name: `cell-${place + 1}`,
      url: Redacted.make(all[place % servers]?.url("cells") ?? ""),
      schema: `cell_${place + 1}`
    })
    const cells: PgCells.AllCells = [cellOf(0), ...Array.from({ length: count - 1 }, (_, place) => cellOf(place + 1))]
    for (const { name } of cells) await Effect.runPromise(PgCells.add(cells, name, 1))
    return await work({ servers: all, cells })
  } finally {
    await Promise.all(all.map((server) => server.remove()))
  }
}

/** The content of a file of cells, for `--cells`. */
export const fileOf = (cells: PgCells.AllCells): string =>
  JSON.stringify(cells.map(({ name, schema, url }) => ({ name, schema, url: Redacted.value(url) })))

/** The CPU time of a process (`own`) and of its children that have ended, in seconds. Linux only. */
const cpuOfProcess = (pid: string): { readonly parent: string; readonly own: number; readonly ended: number } => {
  const [parent = "", ...fields] = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) . /s, "")
    .split(" ")
  const ticks = (from: number) => (Number(fields[from]) + Number(fields[from + 1])) / 100
  return { parent, own: ticks(9), ended: ticks(11) }
}

/** The CPU time of a process, in seconds. */
export const cpuOf = (pid: number): number => cpuOfProcess(String(pid)).own

/** The CPU time of servers with all their sessions, in seconds. */
export const cpuOfServers = (servers: ReadonlyArray<PostgresServer>): number => {
  const masters = servers.map(({ folder }) => readFileSync(join(folder, "data/postmaster.pid"), "utf8").split("\n")[0])
  let sum = 0
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const { ended, own, parent } = cpuOfProcess(pid)
      if (masters.includes(pid)) sum += own + ended
      else if (masters.includes(parent)) sum += own
    } catch {
      // It has ended meanwhile.
    }
  }
  return sum
}

/** Waits. */
export const wait = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
