import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import { isApiError } from "../../src/client/index.ts"
import { signOut } from "./session.ts"
import { isShared } from "./shared.ts"

/** The state of the data that a page loads. */
export interface Loaded<A> {
  /** The latest response; null before the first response. */
  readonly value: A | null
  /** Why the last call failed; null if it succeeded. After a failure, `value` keeps the last response. */
  readonly error: unknown
  /** When the value was read, in milliseconds; null before the first response. */
  readonly at: number | null
  /** Reads the data again. */
  readonly reload: () => void
}

/** Waits until the tab is visible, because hidden tabs make no calls. */
const whenShown = (signal: AbortSignal): Promise<void> =>
  document.visibilityState === "visible"
    ? Promise.resolve()
    : new Promise((resolve) => {
        const done = () => {
          if (document.visibilityState !== "visible" && !signal.aborted) return
          document.removeEventListener("visibilitychange", done)
          resolve()
        }
        document.addEventListener("visibilitychange", done)
        signal.addEventListener("abort", done, { once: true })
      })

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      // Without this, a page that stays open for hours would add thousands of `abort` listeners to the same signal.
      signal.removeEventListener("abort", end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener("abort", end)
  })

const longestPauseMs = 15_000
/**
 * The shortest pause between reads, in milliseconds, even after a long poll: a host that is shutting down responds to
 * long polls immediately.
 */
const shortestPauseMs = 200

/** How to load data, and when to load it again. */
export interface Reading<A> {
  /** Reads the data. `last` is the previous value; a long poll needs its version. */
  readonly read: (signal: AbortSignal, last: A | null) => Promise<A>
  /** How long to wait before the next read, in milliseconds; null to stop reading. A long poll needs no pause. */
  readonly next: (value: A) => number | null
}

/**
 * Loads data, and keeps it up to date while the page is shown.
 *
 * After a temporary failure it retries, with pauses that grow to at most fifteen seconds. It restarts when `key`
 * changes. If the API key is refused, it signs the user out; a partner's page shows the refusal instead.
 */
export const useLive = <A>(key: string, { next, read }: Reading<A>): Loaded<A> => {
  const [state, setState] = useState<Omit<Loaded<A>, "reload">>({ value: null, error: null, at: null })
  const [turn, setTurn] = useState(0)
  const reading = useRef({ next, read })
  reading.current = { next, read }
  const last = useRef<{ readonly key: string; readonly value: A } | null>(null)

  useEffect(() => {
    const ending = new AbortController()
    const { signal } = ending
    if (last.current?.key !== key) {
      last.current = null
      setState({ value: null, error: null, at: null })
    }
    const run = async () => {
      let failures = 0
      // Starts as null, so that the first read returns immediately instead of waiting for a change.
      let known: A | null = null
      while (!signal.aborted) {
        await whenShown(signal)
        try {
          const value = await reading.current.read(signal, known)
          if (signal.aborted) return
          failures = 0
          known = value
          last.current = { key, value }
          setState({ value, error: null, at: Date.now() })
          const wait = reading.current.next(value)
          if (wait === null) return
          await pause(Math.max(shortestPauseMs, wait), signal)
        } catch (error) {
          if (signal.aborted) return
          if (isApiError(error) && error.code === "authentication_failed" && !isShared()) return signOut()
          setState((before) => ({ ...before, error }))
          if (isApiError(error) && error.status < 500 && error.code !== "rate_limited") return
          failures++
          await pause(Math.min(longestPauseMs, 1000 * 2 ** failures), signal)
        }
      }
    }
    run()
    return () => ending.abort()
  }, [key, turn])

  const reload = useCallback(() => setTurn((before) => before + 1), [])
  return { ...state, reload }
}

/** Loads data once, and again when `key` changes or `reload` is called. */
export const useOnce = <A>(key: string, read: (signal: AbortSignal) => Promise<A>): Loaded<A> =>
  useLive(key, { read, next: () => null })

/** The outcome of a user's action. */
export interface Acting {
  readonly busy: boolean
  readonly error: unknown
  readonly run: (action: () => Promise<void>) => void
}

/** Runs one action at a time, and keeps the last action's error. */
export const useAction = (): Acting => {
  const [state, setState] = useState<Omit<Acting, "run">>({ busy: false, error: null })
  // A ref, because state changes only at the next render, and the second click of a double click can come sooner.
  const isBusy = useRef(false)
  const run = useCallback((action: () => Promise<void>) => {
    if (isBusy.current) return
    const end = (error: unknown) => {
      isBusy.current = false
      setState({ busy: false, error })
    }
    isBusy.current = true
    setState({ busy: true, error: null })
    action().then(() => end(null), end)
  }, [])
  return { ...state, run }
}
