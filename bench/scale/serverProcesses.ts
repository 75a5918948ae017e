import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { PostgresServer } from "../../test/support/PostgresServer.ts"

/*
 * Reads the CPU time and memory of a PostgreSQL server on this machine (Linux only).
 */

const parentOf = (pid: string): string => /^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? ""

/** The process ids of the server: the postmaster and its children. A process that has ended meanwhile is left out. */
const processesOf = (server: PostgresServer): ReadonlyArray<string> => {
  const postmaster = readFileSync(join(server.folder, "data/postmaster.pid"), "utf8").split("\n")[0] ?? ""
  const children = readdirSync("/proc").filter(
    (pid) => /^\d+$/.test(pid) && orElse("", () => parentOf(pid)) === postmaster
  )
  return [postmaster, ...children]
}

const orElse = <A>(other: A, read: () => A): A => {
  try {
    return read()
  } catch {
    return other
  }
}

/** CPU time of all processes of the server that still run, in microseconds. */
export const cpuOf = (server: PostgresServer): number =>
  processesOf(server)
    .map((pid) => orElse(0, () => Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e3))
    .reduce((sum, one) => sum + one, 0)

/** Memory of all processes of the server in bytes; what they share is counted once. */
export const memoryOf = (server: PostgresServer): number =>
  processesOf(server)
    .map((pid) => orElse(0, () => proportionalSize(pid)))
    .reduce((sum, one) => sum + one, 0)

const proportionalSize = (pid: string): number =>
  1_024 * Number(/^Pss:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0)
