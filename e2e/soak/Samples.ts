import type { Descriptors } from "./Descriptors.ts"
import * as Counts from "./Descriptors.ts"
import type { Figure } from "./judge.ts"
import type { Memory } from "./Watched.ts"

/**
 * The state of a host and its database at one moment. Memory is in bytes; lags are in milliseconds, null without an
 * event.
 */
export interface Sample {
  readonly seconds: number
  readonly descriptors: Descriptors
  /** Connections to the host, as counted on the callers' side. */
  readonly held_by_callers: number
  readonly memory: Memory
  readonly lags: { readonly feed: number | null; readonly webhook: number | null; readonly consumer: number | null }
  readonly tables: Readonly<Record<string, { readonly rows: number; readonly bytes: number }>>
}

/**
 * The declared limits of a host: `DatabaseOptions`, plus the listening connection, and `NodeWebhookSender.Settings`.
 */
const bounds = { database: 2 + 6 + 1, webhooks: 256 } as const

/** An allowance for connections that close between counting one side and the other. */
const closing = 5

/** The samples in which a host had more connections than it declares or than its callers hold. */
export const connectionsBeyond = (samples: ReadonlyArray<Sample>): ReadonlyArray<string> => {
  const beyond = (kind: keyof typeof bounds) =>
    samples
      .filter(({ descriptors }) => (descriptors[kind] ?? 0) > bounds[kind])
      .map(({ seconds }) => `After ${seconds} s there are more connections than declared: ${kind}`)
  const abandoned = samples
    .filter(({ descriptors, held_by_callers }) => (descriptors.callers ?? 0) > held_by_callers + closing)
    .map(({ seconds }) => `After ${seconds} s the host holds connections that no caller has any more`)
  return [...beyond("database"), ...beyond("webhooks"), ...abandoned]
}

/** The figures that should not grow, with their allowed growth in the second half of a run. */
export const figuresOf = (samples: ReadonlyArray<Sample>): ReadonlyArray<Figure> => {
  const figure = (name: string, of: (sample: Sample) => number | null | undefined, bound: (mean: number) => number) => {
    const points = samples.flatMap((sample) => {
      const value = of(sample)
      return typeof value === "number" ? [{ hours: sample.seconds / 3_600, value }] : []
    })
    const mean = points.reduce((sum, { value }) => sum + value, 0) / Math.max(1, points.length)
    return { name, points, bound: bound(mean) }
  }
  const by = (least: number, part: number) => (mean: number) => Math.max(least, part * mean)
  const lag = (of: keyof Sample["lags"]) => figure(`lag, ${of} (ms)`, ({ lags }) => lags[of], by(100, 0.5))
  const tables = Object.keys(samples[0]?.tables ?? {}).flatMap((table) => [
    figure(`${table}, rows`, (sample) => sample.tables[table]?.rows, by(500, 0.1)),
    figure(`${table}, bytes`, (sample) => sample.tables[table]?.bytes, by(3e6, 0.2))
  ])
  return [
    figure("heap (bytes)", ({ memory }) => memory.heap, by(3e6, 0)),
    figure("pages of the heap (bytes)", ({ memory }) => memory.heap_pages, by(15e6, 0)),
    figure("external memory (bytes)", ({ memory }) => memory.external, by(3e6, 0)),
    figure("RSS (bytes)", ({ memory }) => memory.rss, by(15e6, 0)),
    figure("descriptors", ({ descriptors }) => Counts.count(descriptors), by(5, 0)),
    lag("feed"),
    lag("webhook"),
    lag("consumer"),
    ...tables
  ]
}
