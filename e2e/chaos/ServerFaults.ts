import { Client } from "pg"
import { statements } from "../../test/support/TestDatabase.ts"
import type { Chance } from "./Chance.ts"
import { between, briefly, type Fault, pickFree, type Strike } from "./Fault.ts"
import { pastLeaseMs } from "./HostFaults.ts"
import { after } from "./Hosts.ts"
import type { Server } from "./Server.ts"
import type { Service } from "./Service.ts"

/** Applies a fault to a server that no other fault affects, and then makes sure that the server recovers. */
export const toServer = (
  { outages, servers }: Service,
  server: Server,
  work: (server: Server) => Promise<string>
): Promise<string> => {
  const place = servers.indexOf(server)
  return server.lock.alone(() =>
    outages.of(place, async () => {
      const what = await work(server)
      await server.recover()
      return `server ${place + 1}: ${what}`
    })
  )
}

const onServer =
  (work: (server: Server, chance: Chance) => Promise<string>): Strike =>
  (service, chance) =>
    toServer(
      service,
      pickFree(service.servers, ({ lock }) => lock, chance),
      (server) => work(server, chance)
    )

/** A random half of the server processes that serve hosts. */
const someBackends = async (server: Server, chance: Chance): Promise<ReadonlyArray<number>> => {
  const found =
    "select pid from pg_stat_activity where application_name like 'quotewire%' or backend_type = 'walsender' order by pid"
  const rows = await statements(server.url("postgres"), found)
  return rows.flatMap(({ pid }) => (chance.next() < 0.5 ? [Number(pid)] : []))
}

/** The process may have ended already. */
const signal = (pid: number, name: "SIGSTOP" | "SIGCONT"): void => {
  try {
    process.kill(pid, name)
  } catch {
    return
  }
}

const pauseBackends =
  (msOf: (chance: Chance) => number): Strike =>
  (service, chance) =>
    onServer(async (server) => {
      const pids = await someBackends(server, chance)
      const ms = msOf(chance)
      for (const pid of pids) signal(pid, "SIGSTOP")
      await after(ms)
      for (const pid of pids) signal(pid, "SIGCONT")
      return `SIGSTOP of ${pids.length} backends for ${ms} ms`
    })(service, chance)

const endConnections = onServer(async (server, chance) => {
  const pids = await someBackends(server, chance)
  for (const pid of pids) await statements(server.url("postgres"), `select pg_terminate_backend(${pid})`)
  return `pg_terminate_backend of ${pids.length} backends`
})

const killPostmaster = onServer(async (server, chance) => {
  server.killPostmaster()
  await after(chance.below(1_000))
  return "kill -9 of the postmaster"
})

/** Stops a server as a crash would, and restarts it. */
export const crash = async (server: Server, chance: Chance): Promise<string> => {
  await server.stop("immediate")
  await after(chance.below(1_000))
  return "immediate stop"
}

const fillDisk = onServer(async (server, chance) => {
  if (!server.canFill) return "its disk cannot be filled here"
  const ms = briefly(chance, 500, 6_000)
  await server.fill(ms)
  return `full disk for ${ms} ms`
})

/** Takes every connection, including those that hosts lose and try to open again. */
const exhaustConnections = onServer(async (server, chance) => {
  const taken: Array<Client> = []
  const takeAll = async () => {
    while (true) {
      const client = new Client(server.url("postgres"))
      client.on("error", () => undefined)
      try {
        await client.connect()
      } catch {
        return
      }
      taken.push(client)
    }
  }
  try {
    await takeAll()
    const end = "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'quotewire%'"
    await taken[0]?.query(end)
    await takeAll()
    await after(briefly(chance, 500, 6_000))
  } finally {
    for (const client of taken) await client.end().catch(() => undefined)
  }
  return `${taken.length} connections taken by others`
})

const toStandby =
  (work: (standby: NonNullable<Service["standby"]>, chance: Chance) => Promise<string>): Strike =>
  (service, chance) => {
    const { servers, standby } = service
    if (standby === null) throw new Error("There is no standby")
    return toServer(service, servers[0], () => work(standby, chance))
  }

const stallStandby = toStandby(async (standby, chance) => {
  const ms = briefly(chance, 500, 8_000)
  await standby.stall(ms)
  return `standby stalled for ${ms} ms`
})

const promoteStandby = toStandby(async (standby, chance) => {
  const ms = briefly(chance, 300, 4_000)
  await standby.promote(ms)
  return `standby promoted after it had stalled for ${ms} ms`
})

/** The faults that strike a PostgreSQL server. */
export const serverFaults: ReadonlyArray<Fault> = [
  {
    name: "backends paused",
    strikes: "server",
    needs: null,
    strike: pauseBackends((chance) => briefly(chance, 500, 8_000))
  },
  {
    name: "backends paused past the leases",
    strikes: "server",
    needs: null,
    isLong: true,
    strike: pauseBackends((chance) => between(chance, ...pastLeaseMs))
  },
  { name: "connections ended", strikes: "server", needs: null, strike: endConnections },
  { name: "connections exhausted", strikes: "server", needs: null, strike: exhaustConnections },
  { name: "postmaster killed", strikes: "server", needs: null, strike: killPostmaster },
  { name: "server stopped at once", strikes: "server", needs: null, strike: onServer(crash) },
  { name: "disk full", strikes: "server", needs: null, strike: fillDisk },
  { name: "standby stalled", strikes: "server", needs: "standby", strike: stallStandby },
  { name: "standby promoted", strikes: "server", needs: "standby", strike: promoteStandby }
]
