import { type Clock, Duration, Effect } from "effect"

/*
 * Time for tests over real sockets: it stands still while anything is in progress, and jumps to the next timer when
 * nothing is. So hours pass in milliseconds, and no timeout fires because a machine is slow.
 */

/** A timer that has not fired. */
interface Timer {
  readonly due: number
  readonly ring: () => void
}

/** Sets a timer. It can be stopped, and made to fire immediately. */
type SetTimer = (millis: number, ring: () => void) => { readonly ring: () => void; readonly stop: () => void }

/** The clock of this time, in milliseconds. */
const clockOf = (now: () => number, setTimer: SetTimer): Clock.Clock => {
  const nanos = () => BigInt(Math.round(now() * 1e6))
  return {
    currentTimeMillisUnsafe: now,
    currentTimeMillis: Effect.sync(now),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration) =>
      Effect.callback((resume) => {
        const timer = setTimer(Duration.toMillis(duration), () => resume(Effect.void))
        return Effect.sync(timer.stop)
      })
  }
}

/** How many turns of the event loop without work count as idle. */
const idleTurns = 20
/** After this many timers, a test is waiting for something that never happens. */
const maxTimers = 5_000

/** Makes time that starts at a date. */
export const make = (begin: string) => {
  let now = Date.parse(begin)
  let underWay = 0
  const timers = new Set<Timer>()

  const setTimer: SetTimer = (millis, ring) => {
    const timer: Timer = {
      due: now + millis,
      ring: () => {
        timers.delete(timer)
        ring()
      }
    }
    timers.add(timer)
    return { ring: timer.ring, stop: () => void timers.delete(timer) }
  }

  /** Marks something as in progress, which stops time until the returned function is called. */
  const begun = () => {
    underWay += 1
    return () => {
      underWay -= 1
    }
  }

  const idle = async () => {
    for (let turns = 0; turns < idleTurns; turns = underWay > 0 ? 0 : turns + 1) await new Promise(setImmediate)
  }

  const next = () => {
    const first = [...timers].toSorted((a, b) => a.due - b.due)[0]
    if (first === undefined || first.due === Number.POSITIVE_INFINITY) return
    now = Math.max(now, first.due)
    first.ring()
  }

  return {
    clock: clockOf(() => now, setTimer),
    begun,
    /** Waits outside of Effect. With a signal, waits until this time or the signal. */
    wait: (millis: number, signal?: AbortSignal) => {
      const waited = new Promise<void>((ring) => {
        const timer = setTimer(millis, ring)
        signal?.addEventListener("abort", timer.ring, { once: true })
      })
      if (signal === undefined) return waited
      underWay -= 1
      return waited.finally(() => {
        underWay += 1
      })
    },
    /** Lets time pass, timer by timer, until a condition holds. */
    until: async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
      for (let count = 0; !(await isSo()); count++) {
        if (count > maxTimers) throw new Error("It never comes to this.")
        await idle()
        if (!(await isSo())) next()
      }
    }
  }
}
