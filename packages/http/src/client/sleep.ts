/** The longest delay that a timer supports, in milliseconds. A timer with a longer delay fires immediately. */
const longestTimerMs = 2 ** 31 - 1

/**
 * Resolves after a delay in milliseconds, at most 24 days. Rejects with the signal's reason when the signal is aborted.
 */
export const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason)
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(
      () => {
        signal?.removeEventListener("abort", abort)
        resolve()
      },
      Math.min(ms, longestTimerMs)
    )
    signal?.addEventListener("abort", abort, { once: true })
  })
