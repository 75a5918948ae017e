import type { Descriptors } from "./Descriptors.ts"
import * as Counts from "./Descriptors.ts"

/** What was seen of a host at one moment. Memory in bytes. */
export interface Sample {
  readonly seconds: number
  readonly descriptors: Descriptors
  /** Connections to the host that its callers hold, by their own side. */
  readonly held_by_callers: number
  readonly heap: number
  readonly rss: number
}

/** What a host declares: `DatabaseOptions`, with the connection that listens, and `NodeWebhookSender.Settings`. */
const bounds = { database: 2 + 6 + 1, webhooks: 256 } as const

/** Connections that are being closed while one side has been counted and the other has not. */
const closing = 5

/** What is wrong with a host that was watched under the same load all the time; nothing where it holds steady. */
export const judge = (samples: ReadonlyArray<Sample>): ReadonlyArray<string> => {
  const warm = samples.slice(Math.floor(samples.length / 3))
  const [first, last] = [warm.slice(0, Math.floor(warm.length / 2)), warm.slice(Math.floor(warm.length / 2))]
  const grown = (what: string, of: (sample: Sample) => number, most: number): ReadonlyArray<string> => {
    const [before, after] = [median(first.map(of)), median(last.map(of))]
    return after - before > most ? [`${what} has grown from ${before} to ${after}`] : []
  }
  const beyond = (kind: keyof typeof bounds) =>
    samples
      .filter(({ descriptors }) => (descriptors[kind] ?? 0) > bounds[kind])
      .map(({ seconds }) => `After ${seconds} s there are more connections than declared: ${kind}`)
  const abandoned = samples
    .filter(({ descriptors, held_by_callers }) => (descriptors.callers ?? 0) > held_by_callers + closing)
    .map(({ seconds }) => `After ${seconds} s the host holds connections that no caller has any more`)
  return [
    ...beyond("database"),
    ...beyond("webhooks"),
    ...abandoned,
    ...grown("The number of descriptors", ({ descriptors }) => Counts.count(descriptors), 5),
    ...grown("The heap", ({ heap }) => heap, 3e6),
    ...grown("RSS", ({ rss }) => rss, 15e6)
  ]
}

const median = (numbers: ReadonlyArray<number>): number => {
  const sorted = numbers.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}
