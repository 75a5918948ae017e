import type { CarrierName } from "../carriers/Carrier.ts"
import { secondMs } from "../wire/Timestamp.ts"

/** The progress of a call that advances a sandbox's clock. Times are in milliseconds. */
export interface Progress {
  /** When the call began, in monotonic time. All times that are passed to this module are monotonic. */
  readonly began_at: number
  /** How far the clock was ahead of real time when it was last read, and how far ahead it must be at the end. */
  readonly clock_offset_ms: number
  readonly clock_target_ms: number
  /** How many jobs the call has run. */
  readonly jobs: number
  /** The carriers that the call is waiting for. */
  readonly carriers: ReadonlyArray<CarrierName>
}

/** The progress of a call that has just begun. */
export const begin = (began_at: number): Progress => ({
  began_at,
  clock_offset_ms: 0,
  clock_target_ms: 0,
  jobs: 0,
  carriers: []
})

const leftSeconds = ({ clock_offset_ms, clock_target_ms }: Progress): number =>
  Math.max(0, Math.ceil((clock_target_ms - clock_offset_ms) / secondMs))

const jobsPerSecond = ({ began_at, jobs }: Progress, nowMs: number): number =>
  Math.round((10 * jobs) / Math.max(1, (nowMs - began_at) / secondMs)) / 10

const numeral = (value: number): string => value.toLocaleString("en-US")

const counted = (jobs: number): string => `${numeral(jobs)} ${jobs === 1 ? "job" : "jobs"}`

const secondsAreLeft = (seconds: number): string =>
  seconds === 1 ? "1 second is left" : `${numeral(seconds)} seconds are left`

/**
 * The progress in sentences: how far the clock still has to go, how fast jobs run, and which carriers the call waits
 * for.
 */
export const sentences = (progress: Progress, nowMs: number): string => {
  const distance = `The clock is still advancing: ${secondsAreLeft(leftSeconds(progress))}.`
  const pace = `This call has run ${counted(progress.jobs)}, ${numeral(jobsPerSecond(progress, nowMs))} per second.`
  const names = progress.carriers.map(({ id, name }) => `${name} (${id})`)
  return [distance, pace, ...(names.length === 0 ? [] : [`It is waiting for answers from ${names.join(", ")}.`])].join(
    " "
  )
}

/** The progress as fields for a log entry. */
export const fields = (progress: Progress, nowMs: number) => ({
  left_seconds: leftSeconds(progress),
  jobs: progress.jobs,
  jobs_per_second: jobsPerSecond(progress, nowMs),
  carrier_ids: progress.carriers.map(({ id }) => id)
})
