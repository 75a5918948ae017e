import { statements } from "../../test/support/TestDatabase.ts"
import type { Chance } from "./Chance.ts"
import { after } from "./Hosts.ts"
import type { Service } from "./Service.ts"

/** A fault: strikes, and answers in a few words what it has done. */
export type Fault = (target: Service, chance: Chance) => Promise<string>

/** Kills a host as a power cut does, and starts it again a little later. */
export const killHost: Fault = async ({ hosts }, chance) => {
  const host = chance.pick(hosts)
  await host.kill()
  await after(chance.below(500))
  await host.start()
  return "kill -9 of a host"
}

/** Pauses a host for longer than its leases last: it goes on with what others have taken over. */
export const pauseHost: Fault = async ({ hosts, outages }, chance) => {
  const host = chance.pick(hosts)
  await outages.of(null, () => host.pause(31_000 + chance.below(5_000)))
  return "pause of a host past its leases"
}

/** Ends some connections of one server, in the middle of whatever they do. */
export const endConnections: Fault = async ({ outages, servers }, chance) => {
  const server = chance.pick(servers)
  const place = servers.indexOf(server)
  await outages.of(place, async () => {
    const url = server.url("postgres")
    const found =
      "select pid from pg_stat_activity where application_name = 'quotewire' or backend_type = 'walsender' order by pid"
    for (const { pid } of await statements(url, found)) {
      if (chance.next() < 0.5) await statements(url, `select pg_terminate_backend(${pid})`)
    }
  })
  return `pg_terminate_backend on server ${place + 1}`
}

/** Stops one server as a crash does, and starts it again. */
export const restartDatabase: Fault = async ({ outages, servers }, chance) => {
  const server = chance.pick(servers)
  const place = servers.indexOf(server)
  await outages.of(place, async () => {
    await server.stop("immediate")
    await after(chance.below(1_000))
    await server.startAgain()
  })
  return `restart of server ${place + 1} in immediate mode`
}
