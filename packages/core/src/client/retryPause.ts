/* How a client waits: between attempts, for new events and for quotes. */

/** Waits for a number of milliseconds. Rejects with the signal's reason if the signal aborts. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>

const firstMs = 500
const longestMs = 8_000

/**
 * How long to wait before retrying a failed call, in milliseconds; null if the call must not be retried.
 *
 * The error's `retry_action` decides: `retry` and `wait` allow a retry. The pause doubles with each failure, from half
 * a second to eight seconds, and is at least `retry_after_seconds`. `failures` is the number of consecutive failures
 * before this failure.
 */
export const retryPause = (error: unknown, failures: number): number | null => {
  if (typeof error !== "object" || error === null || !("retry_action" in error)) return null
  if (error.retry_action !== "retry" && error.retry_action !== "wait") return null
  const seconds = "retry_after_seconds" in error ? error.retry_after_seconds : null
  const askedMs = typeof seconds === "number" ? seconds * 1_000 : 0
  return Math.max(askedMs, Math.min(firstMs * 2 ** failures, longestMs))
}
