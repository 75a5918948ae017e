/** The cost of some work. */
export interface Timing {
  readonly seconds: number
  /** The CPU time of this process with all its threads, in microseconds. */
  readonly cpu_us: number
}

/** Measures some work in this process, after a full garbage collection. */
export const timed = async (run: () => Promise<unknown>): Promise<Timing> => {
  globalThis.gc?.()
  const cpu = process.cpuUsage()
  const began = performance.now()
  await run()
  const seconds = (performance.now() - began) / 1e3
  const { user, system } = process.cpuUsage(cpu)
  return { seconds, cpu_us: user + system }
}

/** Repeats an action this many times. At most `atOnce` repetitions run concurrently. */
export const sideBySide = async (times: number, atOnce: number, operation: () => Promise<void>): Promise<void> => {
  let remaining = times
  const lane = async () => {
    while (remaining-- > 0) await operation()
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
}
