import { Client } from "pg"
import type { Chance } from "./Chance.ts"
import { after } from "./Hosts.ts"
import type { Service } from "./Service.ts"

/** A fault, and what it is called. */
export interface Fault {
  readonly name: string
  readonly strike: (target: Service, chance: Chance) => Promise<void>
}

/** Kills a host as a power cut does, and starts it again a little later. */
export const killHost: Fault = {
  name: "kill -9 of a host",
  strike: async ({ hosts }, chance) => {
    const host = chance.pick(hosts)
    await host.kill()
    await after(chance.below(500))
    await host.start()
  }
}

/** Pauses a host for longer than its leases last: it goes on with what others have taken over. */
export const pauseHost: Fault = {
  name: "pause of a host past its leases",
  strike: ({ hosts }, chance) => chance.pick(hosts).pause(31_000 + chance.below(5_000))
}

/** Ends some of the database's connections, in the middle of whatever they do. */
export const endConnections: Fault = {
  name: "pg_terminate_backend",
  strike: async ({ url }, chance) => {
    const client = new Client(url)
    await client.connect()
    const { rows } = await client.query<{ pid: number }>(
      "select pid from pg_stat_activity where application_name = 'quotewire' order by pid"
    )
    for (const { pid } of rows) if (chance.next() < 0.5) await client.query("select pg_terminate_backend($1)", [pid])
    await client.end()
  }
}

/** Stops the database as a crash does, and starts it again. */
export const restartDatabase: Fault = {
  name: "restart of PostgreSQL in immediate mode",
  strike: async ({ server }, chance) => {
    await server.stop("immediate")
    await after(chance.below(1_000))
    await server.startAgain()
  }
}
