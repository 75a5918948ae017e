/** How late events have arrived since the last call of `take`, in milliseconds. */
export interface Lags {
  readonly add: (late_ms: number) => void
  /** The median since the last call; null if none arrived. */
  readonly take: () => number | null
}

/** Makes empty lags, which keep the latest 10,000 values. */
export const make = (): Lags => {
  let all: Array<number> = []
  return {
    add: (lateMs) => {
      all.push(lateMs)
      if (all.length > 10_000) all = all.slice(-5_000)
    },
    take: () => {
      const sorted = all.toSorted((one, other) => one - other)
      all = []
      return sorted[Math.floor(sorted.length / 2)] ?? null
    }
  }
}
