import { randomBytes } from "node:crypto"
import { createServer } from "node:net"
import { fileURLToPath } from "node:url"
import { CellPlaces } from "./CellPlaces.ts"
import * as Commands from "./Commands.ts"
import * as Consumers from "./Consumers.ts"
import * as Hosts from "./Hosts.ts"
import { Outages } from "./Outages.ts"
import { Server, type Viewer } from "./Server.ts"
import { Standby } from "./Standby.ts"

const carriersConfig = fileURLToPath(new URL("carriers.config.ts", import.meta.url))

/** Several hosts and the PostgreSQL servers that they share, each a separate process as in production. */
export interface Service {
  /** One server; two if the service has several cells. */
  readonly servers: readonly [Server, ...ReadonlyArray<Server>]
  readonly hosts: readonly [Hosts.Host, ...ReadonlyArray<Hosts.Host>]
  /** Null for a service on one database without cells. */
  readonly cells: CellPlaces | null
  /** The synchronous standby of the first server; null if it has none. */
  readonly standby: Standby | null
  /** A consumer in two processes; null without one. */
  readonly consumers: Consumers.OpenConsumers | null
  readonly outages: Outages
  /** Starts a command of the service. */
  readonly command: Commands.Start
  /** Creates an organization, and returns the server key of its sandbox. */
  readonly newKey: (organization: string) => Promise<string>
  /** Stops everything and removes the data. */
  readonly close: () => Promise<void>
}

interface Options {
  readonly hosts: 1 | 2
  readonly durable: boolean
  /** The number of cells; by default one database without cells. */
  readonly cells?: number
  /** Whether the first server has a synchronous standby; false by default. */
  readonly standby?: boolean
  /** The address of the tests' own carriers, in addition to the fictional ones; none by default. */
  readonly carriers_url?: string
  /** Whether a consumer runs in two processes; false by default. */
  readonly consumers?: boolean
}

/** Starts one PostgreSQL server, or two for several cells, and all hosts at the same time. */
export const open = async (options: Options): Promise<Service> => {
  const { cells: count = 1 } = options
  const closing: Array<() => unknown> = []
  const close = async () => {
    for (const end of closing.splice(0).toReversed()) await end()
  }
  try {
    const servers = await startServers(options)
    closing.push(...servers.map((server) => () => server.remove()))
    const standby = options.standby === true ? await Standby.of(servers[0]) : null
    closing.push(() => standby?.remove())
    const cells = count === 1 ? null : await CellPlaces.make(servers, count)
    closing.push(() => cells?.remove())
    const envOf = environment(options, servers[0], cells)
    const first = Hosts.make(await freePort(), envOf("host-1"))
    const hosts = [first, ...(options.hosts === 2 ? [Hosts.make(await freePort(), envOf("host-2"))] : [])] as const
    closing.push(...hosts.map((host) => () => host.kill()))
    const command = Commands.startIn(envOf("commands"))
    for (const name of cells?.names ?? []) await Commands.answer(command, "cells", "add", name)
    await Promise.all(hosts.map((host) => host.start()))
    const consumers = options.consumers === true ? await Consumers.open(envOf("consumers")) : null
    closing.push(() => consumers?.close())
    const newKey = (organization: string) => makeKey(command, organization)
    return { servers, hosts, cells, standby, consumers, outages: new Outages(), command, newKey, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** The settings of hosts and commands, each of which reaches the servers over separate links. */
const environment = ({ carriers_url }: Options, server: Server, cells: CellPlaces | null) => {
  const shared = {
    QUOTEWIRE_SEAL_KEYS: randomBytes(32).toString("base64"),
    QUOTEWIRE_WEBHOOK_ALLOW: "127.0.0.0/8",
    ...(carriers_url !== undefined && { QUOTEWIRE_CONFIG: carriersConfig, CHAOS_CARRIERS_URL: carriers_url })
  }
  return (viewer: Viewer): Readonly<Record<string, string>> =>
    cells === null
      ? { ...shared, QUOTEWIRE_DATABASE_URL: server.urlFor(viewer, "postgres") }
      : { ...shared, QUOTEWIRE_CELLS: cells.file(viewer) }
}

/**
 * A server that does not wait for the disk still loses nothing if its processes are killed, because the kernel has the
 * data.
 */
const undurable = { synchronous_commit: "on", full_page_writes: "off", fsync: "off" }
const small = { max_wal_size: "128MB", min_wal_size: "32MB", max_connections: "100" }
/** Servers notice within seconds that the other one is unavailable or back. */
const impatient = { wal_receiver_timeout: "3s", wal_sender_timeout: "3s", wal_retrieve_retry_interval: "200ms" }
const logical = { wal_level: "logical", max_replication_slots: "20", max_wal_senders: "20" }

const startServers = async ({ cells = 1, durable, standby = false }: Options) => {
  const lasting = durable ? {} : undurable
  if (cells > 1) {
    const settings = { ...lasting, ...small, ...impatient, ...logical }
    return [await Server.start({ durable, settings }), await Server.start({ durable, settings })] as const
  }
  const settings = standby ? { ...lasting, ...small, ...impatient } : lasting
  return [await Server.start({ durable, settings })] as const
}

const makeKey = async (command: Commands.Start, organization: string): Promise<string> => {
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
