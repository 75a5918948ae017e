interface Outage {
  /** The index of a server; null if the hosts themselves may refuse calls. */
  readonly server: number | null
  excuses_until: number
}

/** How long calls may still fail after a server is back: a host waits ten seconds for a response, on a busy machine. */
const recoveryMs = 20_000
/**
 * How long calls may still fail after lost bytes: every old connection is dead, and a host notices only when it uses
 * one.
 */
export const deadConnectionsMs = 30_000

/** What is unavailable, or was until recently. Only this excuses a 503 from a host. */
export class Outages {
  private all: Array<Outage> = []

  /** Runs work that makes a server unavailable. */
  async of<A>(server: number | null, work: () => Promise<A>, moreMs = recoveryMs): Promise<A> {
    const outage: Outage = { server, excuses_until: Number.POSITIVE_INFINITY }
    this.all.push(outage)
    try {
      return await work()
    } finally {
      outage.excuses_until = Date.now() + moreMs
    }
  }

  /** Whether a call that needs these servers may fail now. */
  excuse(servers: ReadonlyArray<number>): boolean {
    this.all = this.all.filter(({ excuses_until }) => excuses_until > Date.now())
    return this.all.some(({ server }) => server === null || servers.includes(server))
  }
}
