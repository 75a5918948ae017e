interface Outage {
  /** The place of a server; null if the hosts themselves may refuse calls. */
  readonly server: number | null
  excuses_until: number
}

/** So long calls may fail after a server is back: a host has to notice it, and runs on a machine that is busy. */
const recovery_ms = 10_000

/** What is away, or was until a moment ago: a host may answer 503 for that, and for nothing else. */
export class Outages {
  private all: Array<Outage> = []

  /** Does something that takes a server away. */
  async of<A>(server: number | null, work: () => Promise<A>, more_ms = recovery_ms): Promise<A> {
    const outage: Outage = { server, excuses_until: Number.POSITIVE_INFINITY }
    this.all.push(outage)
    try {
      return await work()
    } finally {
      outage.excuses_until = Date.now() + more_ms
    }
  }

  /** Whether a call may fail now that needs these servers. */
  excuse(servers: ReadonlyArray<number>): boolean {
    this.all = this.all.filter(({ excuses_until }) => excuses_until > Date.now())
    return this.all.some(({ server }) => server === null || servers.includes(server))
  }
}
