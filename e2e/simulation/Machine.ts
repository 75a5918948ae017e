import { Clock, Context, Duration, Effect, type Exit, Logger, Random, References, Scheduler } from "effect"
import type { Chance } from "../chaos/Chance.ts"

/*
 * The processes of a simulated operating system, which run step by step on one thread and in virtual time. The seed
 * chooses which ready step runs next, so a run is reproducible, whatever runs in it.
 */

/**
 * A step that is ready: what runs next in a process. Steps without a process are those of the network and of storage.
 */
interface Step {
  readonly of: Process | null
  readonly run: () => void
}

/** A step that becomes ready later. Steps with equal times keep their order. */
interface Timer extends Step {
  readonly at: number
  readonly order: number
}

/** A simulated process: if it is killed, everything in it stops immediately, without finalizers. */
export interface Process {
  readonly name: string
  readonly isAlive: () => boolean
  /** Runs an effect in this process, and calls back with the exit, unless the process dies first. */
  readonly run: <A, E>(effect: Effect.Effect<A, E>, then: (exit: Exit.Exit<A, E>) => void) => void
  /** Ends the process between two of its steps. */
  readonly kill: () => void
  /** Calls back after it has run this many more steps, before anything else runs. */
  readonly afterSteps: (steps: number, then: () => void) => void
  /** Runs none of its steps for a while, as if its machine were suspended. */
  readonly pause: (ms: number) => void
  /** Whether it has ever been paused. */
  readonly wasPaused: () => boolean
  /** Records that one of its steps has run. */
  readonly stepped: () => void
  /** Offsets its wall clock from the true time. */
  readonly setSkew: (ms: number) => void
}

/** Runs processes and the network between them. */
export interface Machine {
  /** The true time, in milliseconds. */
  readonly now: () => number
  readonly start: (name: string) => Process
  /** Runs a step soon: in a process, or outside of any. */
  readonly soon: (of: Process | null, run: () => void) => void
  /** Runs a step after a time; returns a function that cancels it. */
  readonly later: (ms: number, of: Process | null, run: () => void) => () => void
  /** Runs steps up to a time, and advances the time when none is ready. */
  readonly runUntil: (time: number) => void
  /** Lets time pass without running anything, as if all machines were suspended. */
  readonly jump: (ms: number) => void
  /** How many steps have run: orders simultaneous events. */
  readonly steps: () => number
}

/** A machine without processes, at a time. */
export const make = (chance: Chance, startsAt: number): Machine => {
  let now = startsAt
  let order = 0
  const ready: Array<Step> = []
  let steps = 0
  const timers = makeHeap()
  const paused = new Map<Process, number>()

  const soon: Machine["soon"] = (of, run) => {
    ready.push({ of, run })
  }
  const later: Machine["later"] = (ms, of, run) => {
    let isCancelled = false
    timers.push({ at: now + Math.max(0, ms), order: order++, of, run: () => isCancelled || run() })
    return () => {
      isCancelled = true
    }
  }

  const start = (name: string): Process => {
    let isAlive = true
    let skewMs = 0
    let wasPaused = false
    let waiting: { steps: number; readonly then: () => void } | null = null
    const startedAt = now
    const scheduler: Scheduler.Scheduler = {
      executionMode: "async",
      shouldYield: (fiber) => fiber.currentOpCount >= fiber.cache.maxOpsBeforeYield,
      makeDispatcher: () => ({
        scheduleTask: (task) => soon(process, task),
        flush: () => {}
      })
    }
    const wall = () => now + skewMs
    const monotonic = () => BigInt(now - startedAt) * 1_000_000n
    const clock: Clock.Clock = {
      currentTimeMillisUnsafe: wall,
      currentTimeMillis: Effect.sync(wall),
      currentTimeNanosUnsafe: () => BigInt(wall()) * 1_000_000n,
      currentTimeNanos: Effect.sync(() => BigInt(wall()) * 1_000_000n),
      monotonicTimeNanosUnsafe: monotonic,
      monotonicTimeNanos: Effect.sync(monotonic),
      sleep: (duration) =>
        Effect.callback<void>((resume) => {
          const cancel = later(Math.ceil(Duration.toMillis(duration)), process, () => resume(Effect.void))
          return Effect.sync(cancel)
        })
    }
    const random = { nextDoubleUnsafe: chance.next, nextIntUnsafe: () => chance.below(2 ** 31) }
    const context = Context.make(Scheduler.Scheduler, scheduler).pipe(
      Context.add(Clock.Clock, clock),
      Context.add(Random.Random, random),
      Context.add(Logger.CurrentLoggers, new Set()),
      Context.add(References.TracerEnabled, false)
    )
    const process: Process = {
      name,
      isAlive: () => isAlive,
      run: (effect, then) => soon(process, () => Effect.runForkWith(context)(effect).addObserver(then)),
      kill: () => {
        isAlive = false
      },
      afterSteps: (count, then) => {
        waiting = { steps: count, then }
      },
      stepped: () => {
        if (waiting === null || --waiting.steps > 0) return
        const { then } = waiting
        waiting = null
        then()
      },
      pause: (ms) => {
        wasPaused = true
        paused.set(process, now + ms)
        later(ms, null, () => {})
      },
      wasPaused: () => wasPaused,
      setSkew: (ms) => {
        skewMs = ms
      }
    }
    return process
  }

  /** Removes a step that may run now from the ready ones; undefined if there is none. */
  const take = (): Step | undefined => {
    while (ready.length > 0) {
      const place = chance.below(ready.length)
      const step = ready[place]
      const last = ready.pop()
      if (last !== undefined && place < ready.length) ready[place] = last
      if (step === undefined || step.of?.isAlive() === false) continue
      const until = step.of === null ? undefined : paused.get(step.of)
      if (until === undefined || until <= now) return step
      timers.push({ ...step, at: until, order: order++ })
    }
    return undefined
  }

  const runUntil = (time: number): void => {
    while (true) {
      const step = take()
      if (step !== undefined) {
        steps++
        step.run()
        step.of?.stepped()
        continue
      }
      const next = timers.peek()
      if (next === undefined || next.at > time) {
        now = Math.max(now, time)
        return
      }
      now = Math.max(now, next.at)
      for (let due = timers.peek(); due !== undefined && due.at <= now; due = timers.peek()) {
        timers.pop()
        ready.push(due)
      }
    }
  }

  const jump = (ms: number) => {
    now += ms
  }

  return { now: () => now, start, soon, later, runUntil, jump, steps: () => steps }
}

/** Timers by time, earliest first. */
const makeHeap = () => {
  const heap: Array<Timer> = []
  const isBefore = (a: Timer, b: Timer) => a.at < b.at || (a.at === b.at && a.order < b.order)
  return {
    peek: (): Timer | undefined => heap[0],
    push: (timer: Timer) => {
      let at = heap.push(timer) - 1
      while (at > 0) {
        const above = (at - 1) >> 1
        const parent = heap[above]
        if (parent === undefined || !isBefore(timer, parent)) break
        heap[at] = parent
        at = above
      }
      heap[at] = timer
    },
    pop: () => {
      const last = heap.pop()
      if (last === undefined || heap.length === 0) return
      let at = 0
      while (true) {
        let below = 2 * at + 1
        let child = heap[below]
        const right = heap[below + 1]
        if (child !== undefined && right !== undefined && isBefore(right, child)) {
          child = right
          below++
        }
        if (child === undefined || !isBefore(child, last)) break
        heap[at] = child
        at = below
      }
      heap[at] = last
    }
  }
}
