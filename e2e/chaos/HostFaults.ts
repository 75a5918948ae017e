import { between, type Fault, pickFree, type Strike } from "./Fault.ts"
import { after } from "./Hosts.ts"

/** Longer than job leases, which last 30 seconds. */
export const pastLeaseMs = [31_000, 34_000] as const
/** Longer than a consumer's lease, which `consumer.ts` sets. */
const pastConsumerLeaseMs = [2_500, 4_500] as const
const jumpMs = 3_600_000

/** Kills a host as a power failure would, and restarts it a little later. */
export const killHost: Strike = ({ hosts }, chance) => {
  const host = pickFree(hosts, ({ lock }) => lock, chance)
  return host.lock.alone(async () => {
    await host.kill()
    await after(chance.below(500))
    await host.revive()
    return "kill -9 of a host"
  })
}

const pauseHost: Strike = ({ hosts, outages }, chance) => {
  const host = pickFree(hosts, ({ lock }) => lock, chance)
  return host.lock.alone(async () => {
    const ms = between(chance, ...pastLeaseMs)
    await outages.of(null, () => host.pause(ms))
    return `SIGSTOP of a host for ${ms} ms`
  })
}

const jumpClock: Strike = async ({ hosts }, chance) => {
  const host = pickFree(hosts, ({ lock }) => lock, chance)
  const byMs = between(chance, -jumpMs, jumpMs)
  return host.lock.alone(async () => {
    host.jump(byMs)
    await after(between(chance, 500, 3_000))
    if (chance.next() < 0.5) return `a host's clock is ${byMs} ms off`
    host.jump(0)
    return `a host's clock was ${byMs} ms off for a while`
  })
}

const harmConsumer =
  (how: "kill" | "pause"): Strike =>
  async ({ consumers }, chance) => {
    if (consumers === null) throw new Error("There is no consumer")
    const consumer = pickFree(consumers.processes, ({ lock }) => lock, chance)
    return consumer.lock.alone(async () => {
      const ms = between(chance, ...pastConsumerLeaseMs)
      await (how === "kill" ? consumer.kill() : consumer.pause(ms))
      return how === "kill" ? "kill -9 of a consumer" : `SIGSTOP of a consumer for ${ms} ms`
    })
  }

/** The faults that strike processes of the service. */
export const hostFaults: ReadonlyArray<Fault> = [
  { name: "host killed", strikes: "process", needs: null, strike: killHost },
  { name: "host paused past its leases", strikes: "process", needs: null, isLong: true, strike: pauseHost },
  { name: "host's clock jumps", strikes: "process", needs: null, strike: jumpClock },
  { name: "consumer killed", strikes: "process", needs: null, strike: harmConsumer("kill") },
  { name: "consumer paused past its lease", strikes: "process", needs: null, strike: harmConsumer("pause") }
]
