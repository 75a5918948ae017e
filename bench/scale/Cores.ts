/** The cores of a machine, with one queue for all of them. */
export class Cores {
  readonly #free_at: Float64Array
  busy_us = 0

  constructor(count: number) {
    this.#free_at = new Float64Array(count)
  }

  /** Queues some work, and returns the time at which it is done. */
  use(now: number, work_us: number): number {
    const free = this.#free_at
    let next = 0
    for (let core = 1; core < free.length; core++) if ((free[core] ?? 0) < (free[next] ?? 0)) next = core
    const done = Math.max(now, free[next] ?? 0) + work_us
    free[next] = done
    this.busy_us += work_us
    return done
  }
}
