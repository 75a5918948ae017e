import type { Direction } from "../../packages/storage-pg/test/support/Wire.ts"
import { briefly, type Fault, pickFree, type Strike } from "./Fault.ts"
import { after } from "./Hosts.ts"
import { deadConnectionsMs } from "./Outages.ts"
import type { Server, Viewer } from "./Server.ts"
import type { Service } from "./Service.ts"

/** The viewers whose links fail: one viewer, or two at the same time. */
const struck: readonly [ReadonlyArray<Viewer>, ...ReadonlyArray<ReadonlyArray<Viewer>>] = [
  ["host-1"],
  ["host-2"],
  ["host-1", "host-2"],
  ["host-1", "consumers"],
  ["commands", "host-2"]
]

/** Applies a fault to some viewers' links to one server. */
const toLinks = (
  { outages, servers }: Service,
  work: (server: Server) => Promise<string>,
  server: Server,
  recoveryMs?: number
) => server.links.alone(() => outages.of(servers.indexOf(server), () => work(server), recoveryMs))

const freeze =
  (direction: Direction): Strike =>
  (service, chance) => {
    const viewers = chance.pick(struck)
    const ms = briefly(chance, 500, 8_000)
    return toLinks(
      service,
      async (server) => {
        await Promise.all(viewers.map((viewer) => server.freeze(viewer, direction, ms)))
        return `links of ${viewers.join(" and ")} frozen for ${ms} ms (${direction})`
      },
      pickFree(service.servers, ({ links }) => links, chance)
    )
  }

const silence: Strike = (service, chance) => {
  const viewers = chance.pick(struck)
  const ms = briefly(chance, 500, 8_000)
  return toLinks(
    service,
    async (server) => {
      const wires = viewers.map((viewer) => server.wire(viewer))
      for (const wire of wires) wire.silence()
      await after(ms)
      for (const wire of wires) wire.restore()
      return `links of ${viewers.join(" and ")} lose all bytes for ${ms} ms`
    },
    pickFree(service.servers, ({ links }) => links, chance),
    deadConnectionsMs
  )
}

const cut: Strike = (service, chance) => {
  const viewers = chance.pick(struck)
  const ms = chance.below(3_000)
  return toLinks(
    service,
    async (server) => {
      const wires = viewers.map((viewer) => server.wire(viewer))
      for (const wire of wires) wire.refuse()
      await after(ms)
      for (const wire of wires) wire.restore()
      return `links of ${viewers.join(" and ")} cut for ${ms} ms`
    },
    pickFree(service.servers, ({ links }) => links, chance)
  )
}

/** The faults that strike the links between the service and its servers. */
export const linkFaults: ReadonlyArray<Fault> = [
  { name: "link frozen, both ways", strikes: "link", needs: null, strike: freeze("both") },
  { name: "link frozen, toward the server", strikes: "link", needs: null, strike: freeze("to") },
  { name: "link frozen, toward the host", strikes: "link", needs: null, strike: freeze("from") },
  { name: "link loses all bytes", strikes: "link", needs: null, strike: silence },
  { name: "link cut", strikes: "link", needs: null, strike: cut }
]
