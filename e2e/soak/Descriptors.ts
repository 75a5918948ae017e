import { readdirSync, readFileSync, readlinkSync } from "node:fs"

/** The number of descriptors that a process holds, by type. */
export type Descriptors = Readonly<Record<string, number>>

/** The ports that identify sockets: `server` is the host's own. */
export interface Ports {
  readonly server: number
  readonly database: number
  readonly receiver: number
}

interface Socket {
  readonly local: number
  readonly remote: number
}

/** Every TCP socket of this machine, by its inode. */
const sockets = (pid: number): ReadonlyMap<string, Socket> => {
  const found = new Map<string, Socket>()
  for (const table of ["tcp", "tcp6"]) {
    for (const line of readFileSync(`/proc/${pid}/net/${table}`, "utf8").split("\n").slice(1)) {
      const [, local = "", remote = "", , , , , , , inode] = line.trim().split(/\s+/)
      if (inode !== undefined) found.set(inode, { local: portOf(local), remote: portOf(remote) })
    }
  }
  return found
}

const portOf = (address: string): number => Number.parseInt(address.split(":")[1] ?? "0", 16)

const kindOf = ({ local, remote }: Socket, ports: Ports): string => {
  if (remote === 0) return "listening"
  if (local === ports.server) return "callers"
  if (remote === ports.database) return "database"
  return remote === ports.receiver ? "webhooks" : `port ${remote}`
}

/** Counts the descriptors of a process. Linux only. */
export const of = (pid: number, ports: Ports): Descriptors => {
  const known = sockets(pid)
  const counts: Record<string, number> = {}
  for (const descriptor of readdirSync(`/proc/${pid}/fd`)) {
    const target = linkOf(`/proc/${pid}/fd/${descriptor}`)
    if (target === null) continue
    const socket = known.get(/^socket:\[(\d+)\]$/.exec(target)?.[1] ?? "")
    const kind = socket === undefined ? target.replace(/:?\[\d*\]$/, "") : kindOf(socket, ports)
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  return counts
}

/** The descriptor may be closed by now. */
const linkOf = (path: string): string | null => {
  try {
    return readlinkSync(path)
  } catch {
    return null
  }
}

/** The number of descriptors of a process, of any type. */
export const countOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

/** The total number of descriptors. */
export const count = (descriptors: Descriptors): number =>
  Object.values(descriptors).reduce((sum, number) => sum + number, 0)

/** The number of this machine's sockets connected to one of its ports, whichever process has them. */
export const connectedTo = (port: number): number =>
  [...sockets(process.pid).values()].filter(({ remote }) => remote === port).length
