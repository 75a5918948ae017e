import { Context, Effect, Latch, Layer, type Scope } from "effect"
import type { WorkspaceId } from "../wire/Ids.ts"
import type { Change, Hint } from "./Change.ts"
import type { Kinds } from "./Kind.ts"
import { Storage } from "./Storage.ts"

/*
 * Hints say that something has changed, so that waiting code need not poll often. This module distributes hints for
 * every storage backend, and lets jobs and calls wait for hints. A hint is never a guarantee.
 */

/** A storage backend's listeners. Every storage backend implements `watch` with this class. */
export class Hints {
  private readonly listeners = new Set<(hint: Hint) => void>()

  /** Calls the listener with every hint until the scope closes. */
  readonly watch = (listener: (hint: Hint) => void): Effect.Effect<void, never, Scope.Scope> =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => {
          // The wrapper makes each registration distinct: a listener that is registered twice is called twice, and can
          // be removed once.
          const wrapped = (hint: Hint) => listener(hint)
          this.listeners.add(wrapped)
          return wrapped
        }),
        (wrapped) => Effect.sync(() => this.listeners.delete(wrapped))
      )
    )

  /** Calls all listeners. Logs what a listener throws instead of failing, because the change is already stored. */
  readonly notify = (hints: ReadonlyArray<Hint>): Effect.Effect<void> =>
    Effect.suspend(() => {
      const thrown: Array<unknown> = []
      for (const hint of hints) {
        // Iterates over a copy, because a listener may add or remove listeners.
        for (const listener of [...this.listeners]) {
          try {
            listener(hint)
          } catch (error) {
            thrown.push(error)
          }
        }
      }
      return thrown.length === 0 ? Effect.void : Effect.logError("A storage listener failed", ...thrown)
    })
}

/** The hints to send after a change was committed. */
export const hintsOf = (change: Change, kinds: Kinds): ReadonlyArray<Hint> => {
  const changed = new Set<string>()
  for (const { kind, id, parent } of change.writes) {
    const { wakes } = kinds.byName(kind)
    if (wakes === "itself") changed.add(id)
    if (wakes === "parent" && parent !== null) changed.add(parent)
  }
  const hints: Array<Hint> = [...changed].map((id) => ({ about: "record", id }))
  if (change.events.length > 0) hints.push({ about: "events", workspace_id: change.workspace_id })
  if (change.jobs.length > 0 || change.finishes.length > 0 || change.clock_offset_ms !== null) {
    hints.push({ about: "jobs", workspace_id: change.workspace_id })
  }
  return hints
}

/** Lets code wait until it is woken. A wake-up that nobody waits for is kept for the next wait. */
export interface Signal {
  readonly wake: () => void
  /** Waits for the next wake-up, but at most this many milliseconds. Returns whether the signal was woken. */
  readonly next: (at_most_ms: number) => Effect.Effect<boolean>
}

/** Makes a signal that has not been woken yet. */
export const makeSignal = (): Signal => {
  const woken = Latch.makeUnsafe()
  return {
    wake: () => void woken.openUnsafe(),
    next: (atMostMs) =>
      Effect.map(Effect.timeoutOption(woken.await, atMostMs), (awaited) => {
        if (awaited._tag === "None") return false
        woken.closeUnsafe()
        return true
      })
  }
}

/** The maximum number of waiting calls in one process. Calls beyond this number return without waiting. */
export const maxWaiting = 20_000

/** Hints can be lost, so waiting calls look again at least this often. */
export const pollMs = 5_000

/**
 * Why a wait ended. `changed`: read again, because a hint arrived or may have been lost. `time_over`: the time is up.
 * `stopping`: the process is shutting down. `crowded`: the call did not wait, because too many calls already do.
 */
export type WakeReason = "changed" | "time_over" | "stopping" | "crowded"

/** What to wait for: a change to this record, or the erasure of its whole workspace. */
export interface PollSubject {
  readonly workspace_id: WorkspaceId
  readonly id: string
}

/**
 * Waits for the next hint, but at most this many milliseconds. Returns immediately if a hint has arrived since the
 * previous wait.
 */
export type WaitForHint = (at_most_ms: number) => Effect.Effect<WakeReason>

/** Lets calls wait until a record changes, without holding a database connection. */
export class LongPolls extends Context.Service<
  LongPolls,
  {
    /**
     * Runs a body that alternates between reading and waiting. The body misses no hint, because hints are collected
     * from before its first read until it ends.
     */
    readonly listen: <A, E, R>(
      subject: PollSubject,
      body: (next: WaitForHint) => Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E, R>
    /** Ends all current and all later waits immediately, because the process is shutting down. */
    readonly stop: Effect.Effect<void>
    /** How many calls are listening. */
    readonly count: Effect.Effect<number>
  }
>()("@quotewire/core/LongPolls") {
  static readonly layer: Layer.Layer<LongPolls, never, Storage> = Layer.effect(
    LongPolls,
    Effect.gen(function* () {
      const storage = yield* Storage
      // The keys are record IDs and workspace IDs. Their prefixes differ, so they cannot collide.
      const listeners = new Map<string, Set<Signal>>()
      let count = 0
      let isStopping = false

      const wake = (id: string) => {
        for (const listener of listeners.get(id) ?? []) listener.wake()
      }
      const wakeAll = () => {
        const allListeners = new Set([...listeners.values()].flatMap((group) => [...group]))
        for (const listener of allListeners) listener.wake()
      }
      yield* storage.watch((hint) => {
        if (hint.about === "everything") wakeAll()
        if (hint.about === "workspace") wake(hint.workspace_id)
        if (hint.about === "record") wake(hint.id)
      })

      const join = ({ workspace_id, id }: PollSubject): Signal => {
        const listener = makeSignal()
        for (const name of [workspace_id, id]) listeners.set(name, (listeners.get(name) ?? new Set()).add(listener))
        count++
        return listener
      }
      const leave = ({ workspace_id, id }: PollSubject, listener: Signal): void => {
        for (const name of [workspace_id, id]) {
          const remaining = listeners.get(name)
          remaining?.delete(listener)
          if (remaining?.size === 0) listeners.delete(name)
        }
        count--
      }

      const listen = <A, E, R>(subject: PollSubject, body: (next: WaitForHint) => Effect.Effect<A, E, R>) =>
        Effect.acquireUseRelease(
          Effect.sync(() => {
            // At the limit, new callers do not wait, but callers that are already waiting continue.
            const isCrowded = count >= maxWaiting
            return { isCrowded, listener: join(subject) }
          }),
          ({ isCrowded, listener }) =>
            body((atMostMs) =>
              Effect.suspend(() => {
                if (isStopping) return Effect.succeed<WakeReason>("stopping")
                if (isCrowded) return Effect.succeed<WakeReason>("crowded")
                const looksAgain = atMostMs > pollMs
                return Effect.map(
                  listener.next(Math.min(atMostMs, pollMs)),
                  (isWoken): WakeReason => (isStopping ? "stopping" : isWoken || looksAgain ? "changed" : "time_over")
                )
              })
            ),
          ({ listener }) => Effect.sync(() => leave(subject, listener))
        )

      return LongPolls.of({
        listen,
        stop: Effect.sync(() => {
          isStopping = true
          wakeAll()
        }),
        count: Effect.sync(() => count)
      })
    })
  )
}
