import { type Ids, isApiError } from "@quotewire/core"
import type { Client } from "@quotewire/core/client"
import { Duration, Option, Predicate } from "effect"
import type * as MemoryStorage from "../MemoryStorage.ts"
import type * as StillClock from "./StillClock.ts"

/** Options of `advanceUntil`. */
export interface AdvanceUntilOptions {
  /** How far the clock moves in each step; "1 second" by default. */
  readonly step?: Duration.Input
  /** How far the clock moves in total before the promise rejects; "1 day" by default. */
  readonly at_most?: Duration.Input
}

/** The service whose clock is advanced. */
export interface Advanced {
  readonly storage: MemoryStorage.Copyable
  readonly still: StillClock.StillClock
  /** Resolves when the service can be called. */
  readonly ready: Promise<void>
  /** Whether cassettes answer for the carriers, so that no carrier needs real time. */
  readonly isRecorded: boolean
}

/** Moves a workspace's clock by this many seconds. */
export type Advance = (seconds: number) => Promise<void>

/** Advances the clocks of one service. */
export interface Advances {
  /** Waits until all due work is done. */
  readonly settled: () => Promise<void>
  /** How far the clock has moved, in milliseconds; null while it moves or jobs are running. */
  readonly standsAt: () => number | null
  /** Creates the function that advances a workspace's clock through one of the workspace's clients. */
  readonly of: (workspace_id: Ids.WorkspaceId, client: Advancer) => Advance
}

type Advancer = Pick<Client, "advance_time">

/** Creates the functions that advance a service's clocks. */
export const make = ({ isRecorded, ready, still, storage }: Advanced): Advances => {
  let running = 0
  const isIdle = () => storage.isIdle(still.now)
  const settled = async () => {
    await ready
    while (!isIdle()) await turn()
  }
  // If carriers take long, the service refuses the advance with the retry action `wait`. A retry then continues it.
  const advanceTime = async (client: Advancer, seconds: number) => {
    const idempotency_key = `advance-${++advances}`
    const stop = isRecorded ? passPauses(isIdle, still) : () => {}
    try {
      while (!(await hasAdvanced(client.advance_time({ seconds }, { idempotency_key })))) {}
    } finally {
      stop()
    }
  }
  // Your own carriers answer in real time. So each step first waits until all due work is done.
  const advanceBy = async (workspaceId: Ids.WorkspaceId, client: Advancer, seconds: number) => {
    for (let remaining = seconds; remaining > 0; ) {
      await settled()
      const dueAt = storage.nextDueAt(workspaceId)
      const dueIn = dueAt === null ? remaining : Math.ceil((dueAt - still.now) / 1_000)
      const step = Math.min(remaining, Math.max(1, dueIn), longestStep)
      const passedBefore = still.passed()
      await advanceTime(client, step)
      // Before `pass` ends the carriers' timeouts, let carriers that were asked answer, and let waiting code see what
      // has happened.
      await settled()
      await turn()
      still.pass(Math.max(0, step * 1_000 - (still.passed() - passedBefore)))
      remaining -= step
    }
    await settled()
  }
  return {
    settled,
    standsAt: () => (running === 0 && isIdle() ? still.passed() : null),
    of: (workspaceId, client) => async (seconds) => {
      running += 1
      try {
        await advanceBy(workspaceId, client, seconds)
      } finally {
        running -= 1
      }
    }
  }
}

/** Whether an advance has reached its target. False if it must be retried to continue. */
const hasAdvanced = async (advancing: Promise<unknown>): Promise<boolean> => {
  try {
    await advancing
    return true
  } catch (error) {
    if (isApiError(error, "conflict") && error.retry_action === "wait") return false
    throw error
  }
}

/** Ends the pauses of an advance while nothing is running, because recorded carriers need no real time. */
const passPauses = (isIdle: () => boolean, { pass }: StillClock.StillClock): (() => void) => {
  const timer = setInterval(() => {
    if (isIdle()) pass(passPausesMs)
  })
  return () => clearInterval(timer)
}

/** How much time passes in one step, in milliseconds. No pause of an advance is longer. */
const passPausesMs = 1_000

/**
 * Counts the advances of this process. Each gets an idempotency key of its own, because a repeated key would not
 * advance the clock again.
 */
let advances = 0

/** The longest advance in one call, in seconds. */
const longestStep = 31_536_000

/** The furthest that one advance moves a clock, in seconds: a hundred years. */
const maxSeconds = 100 * longestStep

/** Converts a duration to whole seconds. If it is not whole seconds, throws a `RangeError` that names the option. */
export const secondsOf = (name: string, duration: Duration.Input): number => {
  const seconds = Option.match(Duration.fromInput(duration), { onNone: () => Number.NaN, onSome: Duration.toSeconds })
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= maxSeconds) return seconds
  throw new RangeError(
    `${name} must be a whole number of seconds, from one second to a hundred years, such as "90 seconds".`
  )
}

/** Advances the clock in steps until the work ends, and returns the work's result. */
export const advanceUntil = async <A>(
  advance: Advance,
  pending: Promise<A>,
  { at_most = "1 day", step = "1 second" }: AdvanceUntilOptions = {}
): Promise<A> => {
  if (!Predicate.isPromiseLike(pending)) {
    throw new TypeError("The work must be a promise: call your async function, and pass the promise that it returns.")
  }
  let ended = false
  const end = () => {
    ended = true
  }
  pending.then(end, end)
  const seconds = secondsOf("step", step)
  const steps = Math.ceil(secondsOf("at_most", at_most) / seconds)
  for (let taken = 0; taken < steps; taken++) {
    // Lets work that does not need the clock end before the clock moves.
    await turn()
    if (ended) return pending
    await advance(seconds)
  }
  await turn()
  if (ended) return pending
  throw new Error(
    `The work has not ended, although the clock has moved by ${Duration.format(Duration.fromInputUnsafe(at_most))}. Check whether the work waits for something that does not depend on the clock.`
  )
}

/** Waits for the next turn of the event loop. By then, everything that can continue without waiting has done so. */
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))
