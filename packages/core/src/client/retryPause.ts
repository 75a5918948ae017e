const first_ms = 500
const longest_ms = 8_000

/**
 * How long to wait before a failed call is repeated, in milliseconds; null if the error does not allow a repeat.
 *
 * By the `retry_action` of the error: `retry` and `wait` allow one, after `retry_after_seconds` if it has them. Pauses double
 * from half a second to eight. `failures` counts the failures in a row before this one.
 */
export const retryPause = (error: unknown, failures: number): number | null => {
  if (typeof error !== "object" || error === null || !("retry_action" in error)) return null
  if (error.retry_action !== "retry" && error.retry_action !== "wait") return null
  const seconds = "retry_after_seconds" in error ? error.retry_after_seconds : null
  const asked_ms = typeof seconds === "number" ? seconds * 1_000 : 0
  return Math.max(asked_ms, Math.min(first_ms * 2 ** failures, longest_ms))
}
