import { randomBytes } from "node:crypto"
import { createServer } from "node:net"
import { PostgresServer } from "../../test/support/PostgresServer.ts"
import { CellPlaces } from "./CellPlaces.ts"
import * as Commands from "./Commands.ts"
import * as Hosts from "./Hosts.ts"
import { Outages } from "./Outages.ts"

/** Some hosts and the PostgreSQL that they share, as they run in production: each a process of its own. */
export interface Service {
  /** One server; two if the service has several cells. */
  readonly servers: readonly [PostgresServer, ...ReadonlyArray<PostgresServer>]
  readonly hosts: readonly [Hosts.Host, ...ReadonlyArray<Hosts.Host>]
  /** Null for a service on one database, which is no cell. */
  readonly cells: CellPlaces | null
  readonly outages: Outages
  /** Starts a command of the service. */
  readonly command: Commands.Start
  /** Makes an organization, and answers the server key of its sandbox. */
  readonly newKey: (organization: string) => Promise<string>
  /** Ends everything, and removes the data. */
  readonly close: () => Promise<void>
}

interface Options {
  readonly hosts: 1 | 2
  readonly durable: boolean
  /** How many cells; one database that is no cell unless told. */
  readonly cells?: number
}

/** Starts one PostgreSQL, or two for several cells, and all at once as many hosts. */
export const open = async ({ cells: count = 1, durable, hosts: several }: Options): Promise<Service> => {
  const servers = await startServers(count, durable)
  const cells = count === 1 ? null : await CellPlaces.make(servers, count)
  const env = {
    ...(cells === null ? { QUOTEWIRE_DATABASE_URL: servers[0].url("postgres") } : { QUOTEWIRE_CELLS: cells.file }),
    QUOTEWIRE_SEAL_KEYS: randomBytes(32).toString("base64"),
    QUOTEWIRE_WEBHOOK_ALLOW: "127.0.0.0/8"
  }
  const first = Hosts.make(await freePort(), env)
  const hosts = [first, ...(several === 2 ? [Hosts.make(await freePort(), env)] : [])] as const
  const command = Commands.startIn(env)
  const close = async () => {
    for (const host of hosts) await host.kill()
    for (const server of servers) await server.remove()
    cells?.remove()
  }
  try {
    for (const name of cells?.names ?? []) await Commands.answer(command, "cells", "add", name)
    await Promise.all(hosts.map((host) => host.start()))
  } catch (error) {
    await close()
    throw error
  }
  const outages = new Outages()
  return { servers, hosts, cells, outages, command, newKey: (organization) => newKey(command, organization), close }
}

const startServers = async (cells: number, durable: boolean) => {
  if (cells === 1) return [await PostgresServer.start({ durable })] as const
  const settings = { wal_level: "logical", max_replication_slots: "20", max_wal_senders: "20" }
  return [await PostgresServer.start({ durable, settings }), await PostgresServer.start({ durable, settings })] as const
}

const newKey = async (command: Commands.Start, organization: string): Promise<string> => {
  const { organization_id } = await Commands.answer(command, "organizations", "create", organization)
  const scope = ["--organization", organization_id, "--environment", "sandbox", "--kind", "server"]
  return (await Commands.answer(command, "keys", "create", ...scope)).key
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })
