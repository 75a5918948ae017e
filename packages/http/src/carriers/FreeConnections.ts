/** The connections to one host. */
interface Host {
  busy: number
  /** Called when their connection is free. The longest waiting comes first. */
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
   * Takes a connection, and calls `onFree` when it is free: immediately, or in a later microtask. Call the returned
   * function once, to give the connection back or to stop waiting.
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
      // Not immediately, because the request that has ended must not run the next one.
      queueMicrotask(next)
      return
    }
    state.busy -= 1
    if (state.busy === 0) this.hosts.delete(host)
  }
}
