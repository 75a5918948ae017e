import type { AnswerOf, Client, OperationMethods, WaitOptions } from "./Client.ts"
import { type CheckRules, inRange } from "./InvalidArgument.ts"
import type { Sleep } from "./retryPause.ts"
import { retryPause } from "./retryPause.ts"

type Answer = AnswerOf<"get_quote_request">

const defaultTimeoutMs = 120_000
const dayMs = 86_400_000

/** The longest wait of a single read, in seconds (api.md, Waiting). */
const waitSeconds = 20

/**
 * The pause after a read that returned no change. A host that is shutting down responds immediately, and must not be
 * polled in a tight loop.
 */
const unchangedPauseMs = 500

/** Makes the `wait_for_quotes` method from a function that reads a quote request. */
export const makeWaitForQuotes =
  (get: OperationMethods["get_quote_request"], sleep: Sleep, check: CheckRules): Client["wait_for_quotes"] =>
  async (id, options = {}) => {
    const { read_handle, signal } = options
    const timeoutMs = options.timeout_ms ?? defaultTimeoutMs
    check("wait_for_quotes", [inRange("timeout_ms", timeoutMs, 1, dayMs)])
    signal?.throwIfAborted()
    const timer = new AbortController()
    const stop = signal === undefined ? timer.signal : AbortSignal.any([signal, timer.signal])
    const timedOut = new DOMException(`No response arrived within ${timeoutMs} ms.`, "TimeoutError")
    sleep(timeoutMs, stop).then(
      () => timer.abort(timedOut),
      () => {}
    )
    /** The latest response, with which the wait resolves when the time is up. */
    let newest: Answer | null = null
    /** The error with which the wait rejects if the time is up without a response. */
    let failure: unknown = timedOut
    try {
      for (let failures = 0; ; ) {
        try {
          const wait =
            newest === null
              ? { wait_seconds: 0 }
              : { wait_seconds: waitSeconds, since_version: newest.quote_request.version }
          const previousAnswer: Answer | null = newest
          newest = await get({ id, ...wait }, { signal: stop, ...(read_handle !== undefined && { read_handle }) })
          failures = 0
          const isChanged = previousAnswer?.quote_request.version !== newest.quote_request.version
          if (isChanged && isEnough(newest, options)) return newest
          if (!isChanged) await sleep(unchangedPauseMs, stop)
        } catch (error) {
          const pauseMs = stop.aborted ? null : retryPause(error, failures++)
          if (pauseMs === null) throw error
          failure = error
          await sleep(pauseMs, stop)
        }
      }
    } catch (error) {
      signal?.throwIfAborted()
      if (!timer.signal.aborted) throw error
      if (newest === null) throw failure
      return newest
    } finally {
      timer.abort()
    }
  }

const isEnough = (answer: Answer, { until }: WaitOptions): boolean =>
  answer.quote_request.status !== "in_progress" || until?.(answer) === true
