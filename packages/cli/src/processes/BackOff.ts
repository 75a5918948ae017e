/*
 * The rules for replacing processes that have ended: how long to wait before the next one, and when to stop trying.
 */

/** A process that served this long, in milliseconds, is not considered a failure, regardless of how it ended. */
const longEnoughMs = 60_000

const shortestWaitMs = 100
const longestWaitMs = 10_000

/** The number of consecutive failures that is considered a crash loop. */
const mostFailures = 10

/** How many consecutive failures still count after a process has served for `servedMs`. */
export const failuresAfter = (failures: number, servedMs: number): number => (servedMs >= longEnoughMs ? 0 : failures)

/**
 * How long to wait before starting the next process, after this many consecutive failures, in milliseconds: 100,
 * doubling with each failure, up to 10,000.
 */
export const waitMs = (failures: number): number =>
  Math.min(longestWaitMs, shortestWaitMs * 2 ** Math.max(0, failures - 1))

/** Whether the workers in every slot have failed so often that starting more is pointless. */
export const isCrashLoop = (failures: ReadonlyArray<number>): boolean =>
  failures.every((count) => count >= mostFailures)
