/*
 * The rules of replacing processes that have ended: how long to wait, and when to give up.
 */

/** A process that has served this long does not count as a failure, whatever ended it. */
const long_enough_ms = 60_000

const shortest_wait_ms = 100
const longest_wait_ms = 10_000

/** This many failures in a row are a crash loop. */
const most_failures = 10

/** How many failures in a row still count after a process has served for a time. */
export const failuresAfter = (failures: number, served_ms: number): number =>
  served_ms >= long_enough_ms ? 0 : failures

/** How long to wait before the next process, after this many failures in a row: 100 ms, then twice as long each time, at most 10 s. */
export const wait_ms = (failures: number): number =>
  Math.min(longest_wait_ms, shortest_wait_ms * 2 ** Math.max(0, failures - 1))

/** Whether every place has failed so often in a row that new processes do not help. */
export const isCrashLoop = (failures: ReadonlyArray<number>): boolean =>
  failures.every((count) => count >= most_failures)
