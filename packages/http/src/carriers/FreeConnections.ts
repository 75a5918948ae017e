/** The connections to one host: how many are in use, and which requests wait for one. */
interface Host {
  busy: number
  /** The `onFree` functions of the waiting requests; the request that has waited longest comes first. */
  readonly waiting: Set<() => void>
}

/** Counts the connections to each host. Requests beyond the limit wait: first come, first served. */
export class FreeConnections {
  private readonly limit: number
  private readonly hosts = new Map<string, Host>()

  constructor(limit: number) {
    this.limit = limit
  }

  /**
   * Waits for a connection, and calls `onFree` when one is free: immediately, or in a later microtask. Call the
   * returned function once, to give the connection back or to stop waiting.
   */
  hold(host: string, onFree: () => void): () => void {
    const state = this.hosts.get(host) ?? { busy: 0, waiting: new Set() }
    this.hosts.set(host, state)
    if (state.busy < this.limit) {
      state.busy += 1
      onFree()
    } else {
      state.waiting.add(onFree)
    }
    return () => {
      if (!state.waiting.delete(onFree)) this.release(host, state)
    }
  }

  private release(host: string, state: Host): void {
    const [next] = state.waiting
    if (next !== undefined) {
      state.waiting.delete(next)
      // Does not call `next` immediately, because the request that has ended must not run the next request.
      queueMicrotask(next)
      return
    }
    state.busy -= 1
    if (state.busy === 0) this.hosts.delete(host)
  }
}
